/* Our predictions against what PyTorch occupied on GPUs, from the lines that are committed under results/reference; and
 * the check itself, with lines of our own making: those that truth.py wrote where there was no GPU, with our figures in
 * the place of null, and then disturbed. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "harness/record/record.h"
#include "tests/models/shadow_lines.h"
#include "tests/models/truth_check.h"
#include "tests/support/command_run.h"
#include "tests/support/device_use.h"
#include "tests/support/modelled.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

static const char rehearsal_path[] = "peers/pytorch/rehearsal-torch-2.11.0-transformers-5.17.0.jsonl";
static const char bert[] = "tiny-bert/train/float32/b2/s32/adam-fused";

enum { LINES_MAXIMUM = 64 };

/* A folder of truth that is being made. */
struct scene {
    char folder[64];
    struct json *lines[LINES_MAXIMUM];
    int line_count, measured_count;
};

/* What the lines of a running set-up are put into; shadow_lines_each takes no context. */
static struct scene *filling;

static void figure_set(const struct json *stage, const char *key, int64_t bytes)
{
    assert_true(json_set((struct json *)stage, key, json_integer_new(bytes)));
}

/* Our own figures of a case, as if PyTorch had had them. */
static void figures_fill(const struct json *line)
{
    struct modelled modelled = {0};
    const struct json *identity = json_get(line, "identity");
    struct workload workload = shadow_workload(identity);
    modelled_require(&modelled, shadow_text(identity, "model"), &workload, "sm_90");
    struct tape_view view = tape_view(modelled.tape);
    struct replay_result result = replay_on(&view, "meta");
    for (int i = STAGE_LOAD; i < STAGE_COUNT; i++) {
        const struct replay_stage *stage = &result.stages[i];
        const struct json *row = json_get(json_get(line, "stages"), stage_name((enum stage)i));
        assert_int_equal(row != NULL, stage->present); /* truth.py has the very stages that a record has */
        if (row != NULL) {
            figure_set(row, "requested_bytes_peak", stage->requested_bytes_peak);
            figure_set(row, "allocated_bytes_peak", stage->allocated_bytes_peak);
            figure_set(row, "reserved_bytes_peak", stage->reserved_bytes_peak);
        }
    }
    modelled_close(&modelled);
}

static bool line_keep(const struct json *line)
{
    struct json *kept = json_share((struct json *)line);
    struct json *device = json_get(line, "device");
    if (device != NULL) {
        assert_true(json_set(device, "capability", json_string_new("9.0")));
    }
    if (strcmp(shadow_text(line, "status"), "ok") == 0) {
        figures_fill(line);
        filling->measured_count++;
    }
    assert_true(filling->line_count < LINES_MAXIMUM);
    filling->lines[filling->line_count++] = kept;
    return true;
}

static int scene_open(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-truth-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    filling = scene;
    shadow_lines_each(rehearsal_path, line_keep);
    assert_true(scene->measured_count >= 15);
    *state = scene;
    return 0;
}

static int scene_close(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(scratch_folder_remove(scene->folder), 0);
    for (int i = 0; i < scene->line_count; i++) {
        json_release(scene->lines[i]);
    }
    free(scene);
    return 0;
}

/* Replaces a file of the folder. */
static void file_write(const struct scene *scene, const char *name, const char *content)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scene->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void lines_write(const struct scene *scene, const char *after)
{
    struct text text = {0};
    for (int i = 0; i < scene->line_count; i++) {
        assert_int_equal(json_write(scene->lines[i], 0, &text, NULL), STATUS_OK);
        text_append(&text, "\n");
    }
    text_append(&text, after);
    file_write(scene, "truth.jsonl", text_string(&text));
    text_release(&text);
}

static struct json *case_line(const struct scene *scene, const char *id)
{
    for (int i = 0; i < scene->line_count; i++) {
        if (strcmp(shadow_text(scene->lines[i], "id"), id) == 0) {
            return scene->lines[i];
        }
    }
    fail_msg("the rehearsal has no %s", id);
    return NULL;
}

/* Multiplies a figure of one case, or of all where id is NULL, in one stage. */
static void figure_scale(const struct scene *scene, const char *id, const char *stage, const char *key, double factor)
{
    for (int i = 0; i < scene->line_count; i++) {
        const struct json *row = json_get(json_get(scene->lines[i], "stages"), stage);
        int64_t bytes = json_integer_or(json_get(row, key), -1);
        if (bytes > 0 && (id == NULL || strcmp(shadow_text(scene->lines[i], "id"), id) == 0)) {
            figure_set(row, key, (int64_t)((double)bytes * factor));
        }
    }
}

/* Judges the folder: so many faults, and all of these words in them. */
static void judged(const struct scene *scene, int fault_count, const char *const *words)
{
    struct truth_outcome outcome = truth_folder_check(scene->folder);
    const char *faults = text_string(&outcome.faults);
    if (outcome.fault_count != fault_count) {
        fail_msg("%d faults, not %d:\n%s", outcome.fault_count, fault_count, faults);
    }
    for (; words != NULL && *words != NULL; words++) {
        if (strstr(faults, *words) == NULL) {
            fail_msg("no '%s' in:\n%s", *words, faults);
        }
    }
    truth_outcome_release(&outcome);
}

#define WORDS(...)                                                                                                     \
    (const char *const[])                                                                                              \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

static void committed_truth_is_as_predicted(void **state)
{
    (void)state;
    glob_t folders = {0};
    if (glob("results/reference/*/pytorch-*", GLOB_ONLYDIR, NULL, &folders) == GLOB_NOMATCH) {
        print_message(
            "skipped: no results of PyTorch on a GPU are committed (results/reference/DEVICE/pytorch-VERSION)\n");
        skip();
    }
    for (size_t i = 0; i < folders.gl_pathc; i++) {
        struct truth_outcome outcome = truth_folder_check(folders.gl_pathv[i]);
        print_message("%s: %d cases, %d traces\n%s", folders.gl_pathv[i], outcome.case_count, outcome.trace_count,
                      text_string(&outcome.notes));
        if (outcome.fault_count > 0) {
            fputs(text_string(&outcome.faults), stderr); /* cmocka cuts what it prints */
            fail_msg("%s: %d faults", folders.gl_pathv[i], outcome.fault_count);
        }
        truth_outcome_release(&outcome);
    }
    globfree(&folders);
}

static void figures_like_ours_pass(void **state)
{
    const struct scene *scene = *state;
    lines_write(scene, "");
    struct truth_outcome outcome = truth_folder_check(scene->folder);
    assert_string_equal(text_string(&outcome.faults), "");
    assert_int_equal(outcome.case_count, scene->measured_count);
    assert_non_null(strstr(text_string(&outcome.notes), "the kernels of Liger need a GPU")); /* said, not dropped */
    truth_outcome_release(&outcome);
}

static void three_percent_of_one_case_are_named(void **state)
{
    const struct scene *scene = *state;
    figure_scale(scene, bert, "backward", "allocated_bytes_peak", 1.03);
    lines_write(scene, "");
    judged(scene, 1, WORDS(bert, "backward allocated peak", "-2.9", "alive at our peak", "cuBLAS workspace, backward"));
}

static void a_shift_of_the_median_fails(void **state)
{
    const struct scene *scene = *state;
    figure_scale(scene, NULL, "forward", "allocated_bytes_peak", 1.01); /* no single case is beyond 2 % */
    lines_write(scene, "");
    judged(scene, 1, WORDS("forward allocated peak: the median of"));
    figure_scale(scene, NULL, "forward", "allocated_bytes_peak", 1 / 1.01);
    figure_scale(scene, NULL, "step", "reserved_bytes_peak", 1.03);
    lines_write(scene, "");
    judged(scene, 1, WORDS("step reserved peak: the median of"));
}

static void exceptions_excuse_what_is_and_nothing_else(void **state)
{
    const struct scene *scene = *state;
    char line[256];
    snprintf(line, sizeof line, "# known\n\n%s backward the softmax gradient lives longer\n", bert);
    figure_scale(scene, bert, "backward", "allocated_bytes_peak", 1.03);
    lines_write(scene, "");
    file_write(scene, "exceptions.txt", line);
    judged(scene, 0, NULL);
    figure_scale(scene, bert, "backward", "allocated_bytes_peak", 1 / 1.03);
    lines_write(scene, "");
    judged(scene, 1, WORDS("exceptions.txt", bert, "no longer needed"));
    file_write(scene, "exceptions.txt", "tiny-bert backward\n");
    judged(scene, 1, WORDS("exceptions.txt:1: no exception"));
}

static void what_was_equal_stays_equal(void **state)
{
    const struct scene *scene = *state;
    char lines[128];
    snprintf(lines, sizeof lines, "requested %d\nallocated %d\nreserved %d\n", scene->measured_count,
             scene->measured_count, scene->measured_count);
    file_write(scene, "equal.txt", lines);
    lines_write(scene, "");
    judged(scene, 0, NULL);
    figure_scale(scene, bert, "backward", "allocated_bytes_peak", 1.0001); /* far less than the 2 % of a fault */
    lines_write(scene, "");
    judged(scene, 1, WORDS("equal.txt:2", "the allocated peak is PyTorch's in"));
    file_write(scene, "equal.txt", "allocated 0\nactive 3\n");
    judged(scene, 2, WORDS("equal.txt:1", "equal.txt:2: no figure"));
}

/* The counts that the check holds are those that README tells. */
static void the_readme_says_how_many_are_equal(void **state)
{
    (void)state;
    int requested = 0, allocated = 0, reserved = 0;
    char said[96];
    char *held = whole_file_read("results/reference/nvidia-h100-80gb-hbm3/pytorch-2.11.0/equal.txt");
    char *readme = whole_file_read("README.md");
    assert_int_equal(sscanf(held, "requested %d allocated %d reserved %d", &requested, &allocated, &reserved), 3);
    snprintf(said, sizeof said, "equal to the byte in %d, %d and %d cases", requested, allocated, reserved);
    if (strstr(readme, said) == NULL) {
        fail_msg("README.md does not say '%s'", said);
    }
    free(readme);
    free(held);
}

static void a_case_that_nobody_knows_is_no_silence(void **state)
{
    const struct scene *scene = *state;
    struct json *identity = json_get(case_line(scene, bert), "identity");
    char line[256];
    snprintf(line, sizeof line, "%s * no such model\n", bert);
    assert_true(json_set(identity, "model", json_string_new("a-model-of-tomorrow")));
    lines_write(scene, "");
    judged(scene, 1, WORDS(bert, "cannot be predicted"));
    file_write(scene, "exceptions.txt", line);
    judged(scene, 0, NULL);
    assert_true(json_set(identity, "model", json_string_new("tiny-bert")));
    assert_true(json_set(identity, "precision", json_string_new("float4")));
    file_write(scene, "exceptions.txt", "");
    lines_write(scene, "");
    judged(scene, 1, WORDS(bert, "float4"));
}

static void what_was_not_measured_is_noted(void **state)
{
    static const char *const statuses[] = {"oom", "timeout", "error", "crash"};
    const struct scene *scene = *state;
    struct json *line = case_line(scene, bert);
    const struct json *stage = json_get(json_get(line, "stages"), "backward");
    assert_true(json_set((struct json *)stage, "allocated_bytes_peak", json_null_new()));
    lines_write(scene, "");
    judged(scene, 0, NULL);
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        assert_true(json_set(line, "status", json_string_new(statuses[i])));
        lines_write(scene, "");
        struct truth_outcome outcome = truth_folder_check(scene->folder);
        assert_int_equal(outcome.fault_count, 0);
        assert_int_equal(outcome.case_count, scene->measured_count - 1);
        assert_non_null(strstr(text_string(&outcome.notes), statuses[i]));
        truth_outcome_release(&outcome);
    }
}

static void a_cut_line_is_forgiven_at_the_end_alone(void **state)
{
    const struct scene *scene = *state;
    lines_write(scene, "{\"type\":\"case\",\"id\":\"tiny-b");
    judged(scene, 0, NULL);
    lines_write(scene, "{\"type\":\"case\",\"id\":\"tiny-b\n{\"type\":\"end\",\"cases\":1}\n");
    judged(scene, 1, WORDS("truth.jsonl:", "not JSON"));
}

static void a_folder_without_figures_fails(void **state)
{
    const struct scene *scene = *state;
    judged(scene, 1, WORDS("nothing was compared"));
    for (int i = 0; i < scene->line_count; i++) {
        struct json *device = json_get(scene->lines[i], "device");
        assert_true(device == NULL || json_set(device, "capability", json_null_new()));
    }
    lines_write(scene, "");
    judged(scene, 1, WORDS("nothing was compared"));
}

static void a_stage_that_is_not_predicted_fails(void **state)
{
    const struct scene *scene = *state;
    struct json *stages = json_get(case_line(scene, bert), "stages");
    assert_true(json_set(stages, "generate", json_share(json_get(stages, "forward"))));
    lines_write(scene, "");
    judged(scene, 1, WORDS(bert, "a stage generate"));
}

static void traces_are_replayed_to_the_byte(void **state)
{
    static const char trace[] =
        "{\"events\": [[\"segment\", 0, 2097152], [\"malloc\", 0, 700], [\"counters\", {\"stage\": "
        "\"load\", \"requested_bytes\": 700, \"allocated_bytes\": %d, \"reserved_bytes\": 2097152}]]}";
    const struct scene *scene = *state;
    char text[256], traces[128];
    snprintf(traces, sizeof traces, "%s/traces", scene->folder);
    assert_int_equal(mkdir(traces, 0700), 0);
    snprintf(text, sizeof text, trace, 1024);
    file_write(scene, "traces/loading.json", text);
    judged(scene, 0, NULL);
    snprintf(text, sizeof text, trace, 1025);
    file_write(scene, "traces/loading.json", text);
    judged(scene, 1, WORDS("loading.json: event 3"));
    file_write(scene, "traces/loading.json", "{\"events\": [[\"malloc\", 0, 700]]}");
    judged(scene, 2, WORDS("nothing of PyTorch's to compare with"));
}

/* The records that truth_records.py makes of the folder's lines; skips where there is no Python. */
static struct record_file records_of(const struct scene *scene)
{
    char truth[512], records[512];
    struct record_file file = {0};
    struct status error = {0};
    snprintf(truth, sizeof truth, "%s/truth.jsonl", scene->folder);
    snprintf(records, sizeof records, "%s/records.jsonl", scene->folder);
    command_needed("python3");
    const char *const words[] = {"python3", "peers/pytorch/truth_records.py", truth, "--out", scene->folder, NULL};
    struct command_result result = command_run(words, NULL);
    if (result.exit_code != 0) {
        fail_msg("%s", text_string(&result.error));
    }
    command_result_release(&result);
    if (record_file_read(records, &file, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return file;
}

static void lines_become_records_that_we_read(void **state)
{
    const struct scene *scene = *state;
    assert_true(json_set(case_line(scene, bert), "status", json_string_new("oom")));
    lines_write(scene, "");
    struct record_file file = records_of(scene);
    int at = 0, case_count = 0;
    assert_int_equal(file.run_count, 4);
    for (int run = 0; run < file.run_count; run++) {
        for (int i = 0; i < file.runs[run].case_count; i++, case_count++) {
            const struct json *record = file.runs[run].cases[i];
            const struct json *line = case_line(scene, shadow_text(record, "id"));
            const struct json *stages = json_get(record, "stages");
            for (const char *stage = NULL; (stage = json_key_after(stages, stage)) != NULL; at++) {
                const struct json *row = json_get(stages, stage), *told = json_get(json_get(line, "stages"), stage);
                assert_int_equal(json_integer_or(json_get(row, "reserved_bytes_peak"), -1),
                                 json_integer_or(json_get(told, "reserved_bytes_peak"), -2));
                assert_int_equal(json_kind(json_get(row, "device_bytes")), JSON_KIND_NULL); /* nobody read it */
            }
            assert_string_equal(shadow_text(json_get(record, "device"), "target"), "sm_90");
            assert_string_equal(shadow_text(record, "status"), shadow_text(line, "status"));
            assert_true(json_count(json_get(record, "identity")) == json_count(json_get(line, "identity")));
        }
        assert_non_null(file.runs[run].end);
    }
    assert_int_equal(at > 2 * scene->measured_count, true);
    assert_true(case_count > scene->measured_count); /* those that were skipped too */
    record_file_release(&file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(committed_truth_is_as_predicted),
        cmocka_unit_test(the_readme_says_how_many_are_equal),
        TEST(figures_like_ours_pass),
        TEST(three_percent_of_one_case_are_named),
        TEST(a_shift_of_the_median_fails),
        TEST(exceptions_excuse_what_is_and_nothing_else),
        TEST(what_was_equal_stays_equal),
        TEST(a_case_that_nobody_knows_is_no_silence),
        TEST(what_was_not_measured_is_noted),
        TEST(a_cut_line_is_forgiven_at_the_end_alone),
        TEST(a_folder_without_figures_fails),
        TEST(a_stage_that_is_not_predicted_fails),
        TEST(traces_are_replayed_to_the_byte),
        TEST(lines_become_records_that_we_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
