/* Cases of models that lie in several places: what their lines say of each place is what assay place says and what
 * their verdicts are about; what goes wrong in one place is told of that place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/run/run_scene.h"
#include "tests/support/command_run.h"

#define MODEL       "timm/resnet18.a1_in1k"
#define EXACT_BYTES "tolerances: {replay: {requested_bytes_peak: 0, allocated_bytes_peak: 0, reserved_bytes_peak: 0}}"

static const char *const levels[] = {"requested_bytes",      "requested_bytes_peak", "allocated_bytes",
                                     "allocated_bytes_peak", "reserved_bytes",       "reserved_bytes_peak"};

static const struct json *place_of(const struct json *line, const char *name)
{
    const struct json *places = json_get(line, "places");
    for (size_t i = 0; i < json_count(places); i++) {
        if (strcmp(text_at(json_at(places, i), "place"), name) == 0) {
            return json_at(places, i);
        }
    }
    fail_msg("%s has no place %s", text_at(line, "id"), name);
    return NULL;
}

static void figures_equal(const struct json *one, const struct json *other)
{
    assert_int_equal(json_kind(one), JSON_KIND_OBJECT);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        assert_int_equal(integer_at(one, levels[i]), integer_at(other, levels[i]));
    }
}

/* -- the same bytes as assay place */

struct place_words {
    const char *budgets, *strategy, *mode;
};

static struct json *place_document(const struct place_words *said)
{
    const char *words[] = {program_path(), "place",  MODEL,          "--precision", "float32",      "--run",
                           "host",         "--for",  "sm_90",        "--mode",      said->mode,     "--head",
                           "lm",           "--json", "--max-memory", said->budgets, said->strategy, NULL};
    struct json *document = NULL;
    struct command_result result = command_run(words, NULL);
    struct status error = {0};
    if (json_parse_text("stdout", text_string(&result.output), result.output.length, &document, &error) != STATUS_OK) {
        fail_msg("%s: %s", error.text, text_string(&result.error));
    }
    command_result_release(&result);
    return document;
}

static void line_says_what_the_command_says(const struct json *line, const struct place_words *said)
{
    struct json *document = place_document(said);
    const struct json *done = json_get(document, "execution"), *devices = json_get(done, "devices");
    const struct json *map = json_get(document, "device_map"), *ours = json_get(json_get(line, "placement"), "map");
    assert_int_equal(json_count(devices), json_count(json_get(line, "places")));
    for (size_t i = 0; i < json_count(devices); i++) {
        const struct json *device = json_at(devices, i), *place = json_at(json_get(line, "places"), i);
        const struct json *measured = json_get(device, "measured");
        assert_int_equal(integer_at(place, "placed_bytes"), integer_at(device, "placed_bytes"));
        assert_int_equal(integer_at(place, "budget_bytes"), integer_at(device, "budget_bytes"));
        assert_string_equal(text_at(place, "spec"), text_at(device, "spec"));
        assert_int_equal(json_count(json_get(place, "stages")), json_count(measured));
        for (const char *stage = NULL; (stage = json_key_after(measured, stage)) != NULL;) {
            figures_equal(json_get(measured, stage), json_get(json_get(place, "stages"), stage));
        }
    }
    assert_int_equal(json_count(ours), json_count(map));
    assert_int_equal(json_count(json_get(line, "transfers")), json_count(json_get(done, "measured_copies")));
    for (size_t i = 0; i < json_count(json_get(line, "transfers")); i++) {
        const struct json *transfer = json_at(json_get(line, "transfers"), i);
        const struct json *copy = json_at(json_get(done, "measured_copies"), i);
        assert_int_equal(integer_at(transfer, "bytes"), integer_at(copy, "bytes"));
        assert_int_equal(integer_at(transfer, "count"), integer_at(copy, "count"));
        assert_true(json_real_or(json_get(transfer, "seconds"), 0.0) > 0.0);
    }
    const struct json *kept = json_at(json_get(done, "kept_free"), 0);
    if (kept != NULL) {
        assert_int_equal(integer_at(place_of(line, "0"), "kept_bytes"), integer_at(kept, "kept_bytes"));
        assert_int_equal(integer_at(place_of(line, "0"), "needed_bytes"), integer_at(kept, "needed_bytes"));
    }
    json_release(document);
}

static void a_case_has_the_bytes_of_assay_place(void **state)
{
    static const struct place_words said[] = {
        {"0=150MB,1=150MB,cpu=1GB", "--balanced", "infer"}, {"0=120MB,cpu=60MB", "--sequential", "infer"},
        {"0=100MB,cpu=60MB", "--exact", "infer"},           {"0=90MB,1=80MB,cpu=60MB", "--exact", "infer"},
        {"0=150MB,1=150MB,cpu=1GB", "--balanced", "load"},
    };
    struct scene *scene = *state;
    cases_set(scene, "  - {model: " MODEL ", mode: infer, for: sm_90, " EXACT_BYTES ",\n"
                     "     place: [\"0=150MB,1=150MB,cpu=1GB\", \"sequential:0=120MB,cpu=60MB\",\n"
                     "             \"exact:0=100MB,cpu=60MB\", \"exact:0=90MB,1=80MB,cpu=60MB\"]}\n"
                     "  - {model: " MODEL ", mode: load, head: lm, for: sm_90, place: \"0=150MB,1=150MB,cpu=1GB\"}\n");
    assert_int_equal(measure(scene, "host"), RUN_PASS);
    for (int i = 0; i < 5; i++) {
        line_says_what_the_command_says(case_at(scene, i), &said[i]);
    }
    /* A map of our own is no prediction of accelerate's, which would not have run. */
    const struct json *exact = case_at(scene, 2);
    assert_false(json_boolean_or(json_get(json_get(exact, "placement"), "accelerate_runs"), true));
    assert_true(json_boolean_or(json_get(json_get(case_at(scene, 3), "placement"), "accelerate_runs"), false));
    assert_null(json_get(json_get(exact, "estimates"), "accelerate"));
    assert_non_null(json_get(json_get(case_at(scene, 0), "estimates"), "accelerate"));
}

/* -- every place is judged */

static void every_place_has_its_verdicts(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-llama, mode: [load, infer], " EXACT_BYTES ",\n"
                     "     place: [cpu-offload, disk-offload, \"disk-offload,offload-buffers\"]}\n");
    assert_int_equal(measure(scene, "host"), RUN_PASS);
    for (int i = 0; i < 6; i++) {
        const struct json *line = case_at(scene, i), *verdicts = json_get(line, "verdicts");
        const char *stage = i < 3 ? "load" : "forward";
        int by_place[3] = {0};
        for (size_t k = 0; k < json_count(verdicts); k++) {
            const char *name = text_at(json_at(verdicts, k), "place");
            by_place[strcmp(name, "0") == 0 ? 0 : strcmp(name, "cpu") == 0 ? 1 : 2]++;
            assert_true(json_boolean_or(json_get(json_at(verdicts, k), "pass"), false));
        }
        bool has_disk = i % 3 > 0;
        assert_int_equal(by_place[0], 3);
        assert_int_equal(by_place[1], 3);
        assert_int_equal(by_place[2], has_disk ? 3 : 0);
        assert_int_equal(json_count(json_get(line, "places")), has_disk ? 3 : 2);
        /* The members of the line are those of GPU 0. */
        figures_equal(json_get(json_get(line, "stages"), stage),
                      json_get(json_get(place_of(line, "0"), "stages"), stage));
    }
    assert_int_equal(integer_at(place_of(case_at(scene, 0), "cpu"), "placed_bytes"),
                     integer_at(place_of(case_at(scene, 1), "disk"), "placed_bytes"));
    assert_int_equal(integer_at(place_of(case_at(scene, 1), "cpu"), "placed_bytes"), 0);
}

/* Each transfer of an offloaded model with what stands beside it. */
static void transfers_have_a_plain_counterpart(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: " MODEL ", mode: [infer, load], place: disk-offload, for: host}\n");
    assert_int_equal(measure(scene, "host"), RUN_PASS);
    static const char *const plain[][3] = {
        {"cpu", "0", "copy"}, {"cpu", "disk", NULL}, {"disk", "cpu", "sequential read"}};
    const struct json *copies = json_get(case_at(scene, 0), "transfers");
    assert_int_equal(json_count(copies), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct json *copy = json_at(copies, i);
        assert_string_equal(text_at(copy, "from"), plain[i][0]);
        assert_string_equal(text_at(copy, "to"), plain[i][1]);
        assert_string_equal(text_at(copy, "plain"), plain[i][2] != NULL ? plain[i][2] : "(null)");
        assert_true((json_real_or(json_get(copy, "plain_seconds"), 0.0) > 0.0) == (plain[i][2] != NULL));
        assert_true(integer_at(copy, "plain_bytes") <= integer_at(copy, "bytes"));
    }
    assert_int_equal(integer_at(json_at(copies, 0), "plain_bytes"), integer_at(json_at(copies, 0), "bytes"));
    /* 37 KiB of buffers came to the GPU, which says nothing about a bus. */
    const struct json *small = json_at(json_get(case_at(scene, 1), "transfers"), 0);
    assert_true(integer_at(small, "bytes") < 1 << 20);
    assert_int_equal(json_kind(json_get(small, "plain")), JSON_KIND_NULL);
}

/* Sends what a child that measures sends, but that place 1 has one block more in its load. */
static void tampered_run(void *context, const struct case_job *job, int file)
{
    FILE *sent = tmpfile();
    char *line = NULL;
    size_t room = 0;
    (void)context;
    case_runner_measure.run(NULL, job, fileno(sent));
    rewind(sent);
    for (ssize_t length; (length = getline(&line, &room, sent)) > 0;) {
        struct json *object = NULL;
        json_parse_text("child", line, (size_t)length, &object, NULL);
        struct json *load = json_get(json_get(json_at(json_get(object, "places"), 1), "stages"), "load");
        if (load != NULL) {
            json_set(load, "allocated_bytes_peak", json_integer_new(integer_at(load, "allocated_bytes_peak") + 512));
        }
        case_send(file, object, NULL);
        json_release(object);
    }
    free(line);
    fclose(sent);
}

static struct run_options measuring_options(const struct scene *scene)
{
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "host";
    options.catalogue_dir = "models/catalogue";
    return options;
}

static void a_block_more_in_the_second_place_fails_the_case(void **state)
{
    struct scene *scene = *state;
    struct case_runner runner = case_runner_measure;
    cases_set(scene, "  - {model: " MODEL ", mode: load, place: \"0=150MB,1=150MB,cpu=1GB\", " EXACT_BYTES "}\n");
    struct run_options options = measuring_options(scene);
    runner.run = tampered_run;
    options.runner = &runner;
    assert_int_equal(run_with(scene, &options), RUN_FAIL);
    const struct json *line = case_at(scene, 0), *verdicts = json_get(line, "verdicts");
    int failed = 0;
    assert_string_equal(text_at(line, "status"), "fail");
    assert_non_null(strstr(text_at(line, "reason"), "on place 1: -0.00 % (-512 B), tolerance 0 B"));
    for (size_t i = 0; i < json_count(verdicts); i++) {
        const struct json *verdict = json_at(verdicts, i);
        if (!json_boolean_or(json_get(verdict, "pass"), true)) {
            failed++;
            assert_string_equal(text_at(verdict, "place"), "1");
            assert_string_equal(text_at(verdict, "quantity"), "allocated_bytes_peak");
            assert_int_equal(json_integer_or(json_get(verdict, "signed_error_bytes"), 0), -512);
        }
    }
    assert_int_equal(failed, 1);
}

/* -- what goes wrong */

static void memory_that_runs_out_is_told_of_its_place(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: " MODEL ", mode: infer, for: sm_90, place: \"0=100MB,1=70MB,cpu=1GB\"}\n");
    assert_int_equal(measure(scene, "host"), RUN_INCONCLUSIVE);
    const struct json *line = case_at(scene, 0), *oom = json_get(line, "oom");
    assert_string_equal(text_at(line, "status"), "oom");
    assert_string_equal(text_at(oom, "place"), "1");
    assert_string_equal(text_at(oom, "stage"), "forward");
    assert_int_equal(integer_at(oom, "wanted_bytes"), 32 << 20); /* the workspace of cuBLAS */
    assert_true(integer_at(oom, "held_bytes") <= 70000000);
    assert_memory_equal(text_at(line, "reason"), "on 1: stage forward: ", 21);
    /* What was predicted, and the load that ended, are there all the same. */
    const struct json *replay = json_get(json_get(line, "estimates"), "replay");
    assert_string_equal(text_at(replay, "fits"), "no");
    assert_memory_equal(text_at(replay, "note"), "it does not fit on 1: ", 22);
    assert_non_null(json_get(json_get(place_of(line, "1"), "stages"), "load"));
    assert_null(json_get(json_get(place_of(line, "1"), "stages"), "forward"));
    assert_null(json_get(json_get(line, "stages"), "forward"));
}

static void what_accelerate_raises_is_told_in_its_words(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-gpt2, mode: load, place: [\"0=1GB,disk=1GB\", \"exact:0=1GB,disk=1GB\"]}\n"
                     "  - {model: tiny-gpt2, mode: infer, precision: int8, place: \"0=1GB,cpu=1GB\"}\n");
    assert_int_equal(measure(scene, "host"), RUN_INCONCLUSIVE);
    const struct json *raised = case_at(scene, 0), *exact = case_at(scene, 1), *unbuilt = case_at(scene, 2);
    assert_string_equal(text_at(raised, "status"), "error");
    assert_non_null(strstr(text_at(json_get(raised, "placement"), "raised"), "RuntimeError"));
    assert_string_equal(text_at(json_get(raised, "placement"), "raised"), text_at(raised, "reason"));
    assert_int_equal(json_kind(json_get(json_get(raised, "placement"), "map")), JSON_KIND_NULL);
    assert_string_equal(text_at(exact, "status"), "ok"); /* ours has a map where accelerate has none */
    assert_non_null(strstr(text_at(json_get(exact, "placement"), "raised"), "RuntimeError"));
    assert_false(json_boolean_or(json_get(json_get(exact, "placement"), "accelerate_runs"), true));
    assert_string_equal(text_at(unbuilt, "status"), "error");
    assert_non_null(strstr(text_at(unbuilt, "reason"), "this map cannot run"));
    assert_int_equal(json_kind(json_get(json_get(unbuilt, "placement"), "raised")), JSON_KIND_NULL);
}

static void a_gpu_that_is_not_here_skips_the_case(void **state)
{
    struct scene *scene = *state;
    setenv("ASSAY_PLUGIN_DIR", "/nowhere", 1);
    cases_set(scene, "  - {model: tiny-llama, mode: load, place: cpu-offload}\n");
    assert_int_equal(measure(scene, "cuda"), RUN_SKIPPED);
    unsetenv("ASSAY_PLUGIN_DIR");
    const struct json *line = case_at(scene, 0), *cpu = place_of(line, "cpu");
    assert_memory_equal(text_at(line, "reason"), "device 0: cuda: ", 16);
    assert_int_equal(json_kind(json_get(line, "device")), JSON_KIND_NULL);
    assert_int_equal(json_kind(json_get(cpu, "stages")), JSON_KIND_NULL);
    assert_true(integer_at(json_get(json_get(cpu, "estimates"), "replay"), "requested_bytes_peak") > 0);
}

static void a_gpu_of_another_number_is_no_device_of_a_placed_case(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-llama, mode: load, place: cpu-offload}\n");
    assert_int_equal(measure(scene, "cuda:3"), RUN_INCONCLUSIVE);
    assert_string_equal(text_at(case_at(scene, 0), "reason"),
                        "a case with place has its GPUs by their numbers there; write --device cuda, not cuda:3");
}

/* -- the rest of a run */

static void memory_of_the_suite_bounds_each_gpu(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-llama, mode: infer, for: sm_90, memory: 30MiB,\n"
                     "     place: [cpu-offload, \"0=1GB,cpu=1GB\"]}\n");
    assert_int_equal(measure(scene, "host"), RUN_INCONCLUSIVE);
    for (int i = 0; i < 2; i++) {
        const struct json *line = case_at(scene, i);
        assert_string_equal(text_at(line, "status"), "oom");
        assert_int_equal(integer_at(place_of(line, "0"), "budget_bytes"), 30 * 1024 * 1024);
        assert_non_null(strstr(text_at(line, "reason"), "the memory of 0"));
    }
}

static void attempts_side_by_side_have_the_same_bytes(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-llama, mode: infer, place: disk-offload, repeat: 4, " EXACT_BYTES "}\n");
    struct run_options options = measuring_options(scene);
    options.jobs = 2;
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    for (int i = 1; i < 4; i++) {
        assert_string_equal(text_at(case_at(scene, 0), "sequence_hash"), text_at(case_at(scene, i), "sequence_hash"));
        figures_equal(json_get(json_get(place_of(case_at(scene, 0), "disk"), "stages"), "forward"),
                      json_get(json_get(place_of(case_at(scene, i), "disk"), "stages"), "forward"));
    }
}

static void meta_counts_what_the_host_holds(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-llama, mode: infer, for: host,\n"
                     "     place: [disk-offload, \"sequential:0=12MB,1=1GB,cpu=1GB\"]}\n");
    assert_int_equal(measure(scene, "meta"), RUN_PASS);
    assert_int_equal(measure(scene, "host"), RUN_PASS);
    for (int i = 0; i < 2; i++) {
        const struct json *meta = scene->records.runs[scene->records.run_count - 2].cases[i];
        const struct json *host = case_at(scene, i), *copies = json_get(meta, "transfers");
        assert_string_equal(text_at(meta, "basis"), "replayed");
        for (size_t k = 0; k < json_count(json_get(host, "places")); k++) {
            const struct json *one = json_at(json_get(meta, "places"), k);
            const struct json *other = json_at(json_get(host, "places"), k);
            figures_equal(json_get(json_get(one, "stages"), "forward"), json_get(json_get(other, "stages"), "forward"));
        }
        assert_int_equal(json_count(copies), json_count(json_get(host, "transfers")));
        for (size_t k = 0; k < json_count(copies); k++) {
            assert_int_equal(json_kind(json_get(json_at(copies, k), "seconds")), JSON_KIND_NULL);
        }
    }
}

static void a_proof_is_left_open_with_a_note(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-llama, mode: load, place: cpu-offload}\n");
    struct run_options options = measuring_options(scene);
    options.proof = RUN_PROOF_REPLAY;
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
    const struct json *proof = json_get(case_at(scene, 0), "proof");
    assert_string_equal(text_at(case_at(scene, 0), "status"), "ok");
    assert_int_equal(json_kind(json_get(proof, "pass")), JSON_KIND_NULL);
    assert_string_equal(text_at(proof, "note"), "the least memory is not looked for if a model lies in several places");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_case_has_the_bytes_of_assay_place),       TEST(every_place_has_its_verdicts),
        TEST(transfers_have_a_plain_counterpart),        TEST(a_block_more_in_the_second_place_fails_the_case),
        TEST(memory_that_runs_out_is_told_of_its_place), TEST(what_accelerate_raises_is_told_in_its_words),
        TEST(a_gpu_that_is_not_here_skips_the_case),     TEST(a_gpu_of_another_number_is_no_device_of_a_placed_case),
        TEST(memory_of_the_suite_bounds_each_gpu),       TEST(attempts_side_by_side_have_the_same_bytes),
        TEST(meta_counts_what_the_host_holds),           TEST(a_proof_is_left_open_with_a_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
