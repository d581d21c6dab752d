/* Cases that load a checkpoint: it is made, loaded and taken away; every place holds what was predicted; what was read
 * is told beside a plain read; what cannot be made is told. And the suites that come with the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "tests/run/run_scene.h"

#define EXACT_BYTES "tolerances: {replay: {requested_bytes_peak: 0, allocated_bytes_peak: 0, reserved_bytes_peak: 0}}"

/* Temporary folders of the scene's own, so that what is left of them is seen. */
static int quiet_open(void **state)
{
    int code = scene_open(state);
    const struct scene *scene = *state;
    setenv("TMPDIR", scene->folder, 1);
    return code;
}

static int quiet_close(void **state)
{
    unsetenv("TMPDIR");
    return scene_close(state);
}

static int folders_left(const struct scene *scene)
{
    DIR *opened = opendir(scene->folder);
    int count = 0;
    assert_non_null(opened);
    for (const struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened)) {
        count += strncmp(entry->d_name, "assay-", 6) == 0;
    }
    closedir(opened);
    return count;
}

static int64_t placed_bytes(const struct json *line)
{
    const struct json *places = json_get(line, "places");
    int64_t bytes = 0;
    for (size_t i = 0; i < json_count(places); i++) {
        bytes += integer_at(json_at(places, i), "placed_bytes");
    }
    return bytes;
}

static const struct json *transfer_of(const struct json *line, const char *from, const char *to)
{
    const struct json *transfers = json_get(line, "transfers");
    for (size_t i = 0; i < json_count(transfers); i++) {
        const struct json *transfer = json_at(transfers, i);
        if (strcmp(text_at(transfer, "from"), from) == 0 && strcmp(text_at(transfer, "to"), to) == 0) {
            return transfer;
        }
    }
    fail_msg("%s has no transfer from %s to %s", text_at(line, "id"), from, to);
    return NULL;
}

/* One file or shards, one device or several, the disk among them. tiny-mixtral has experts that are stored one by one;
 * a checkpoint has no inverse frequencies, which the tape makes. */
static const char loads[] = "  - {model: [tiny-llama, tiny-mixtral], mode: load, precision: [float32, bfloat16], "
                            "checkpoint: [single, 20KB], " EXACT_BYTES "}\n"
                            "  - {model: tiny-llama, mode: load, checkpoint: 20KB, place: [cpu-offload, "
                            "\"disk-offload,offload-buffers\"], " EXACT_BYTES "}\n"
                            "  - {model: distilgpt2, mode: load, head: lm, precision: bfloat16, checkpoint: 20MB, "
                            "place: \"0=130MB,cpu=40MB\", " EXACT_BYTES "}\n";

enum { LOADS = 11, LOADS_ON_DISK = 9 }; /* of the last two a part is on the disk, or all */

static void what_is_loaded_is_what_was_predicted(void **state)
{
    struct scene *scene = *state;
    static const char *const goals[LOADS] = {"0", "0", "0", "0", "0", "0", "0", "0", "cpu", "disk", "all"};
    cases_set(scene, loads);
    if (measure(scene, "host") != RUN_PASS) {
        fail_msg("%s", scene->result.reason);
    }
    assert_int_equal(scene->result.total, LOADS);
    for (int i = 0; i < LOADS; i++) {
        const struct json *line = case_at(scene, i), *read = transfer_of(line, "file", goals[i]);
        const struct json *verdict = verdict_at(line, "replay", "reserved_bytes_peak");
        int64_t placed = placed_bytes(line);
        assert_string_equal(text_at(read, "plain"), "sequential read");
        assert_true(integer_at(read, "plain_bytes") > integer_at(read, "bytes")); /* headers */
        assert_true(integer_at(read, "bytes") <= placed);                         /* not all buffers are stored */
        assert_true(integer_at(read, "bytes") > placed - placed / 8);
        assert_int_equal(json_count(json_get(line, "transfers")), i >= LOADS_ON_DISK ? 2 : 1);
        if (i >= LOADS_ON_DISK) {
            assert_true(integer_at(transfer_of(line, "cpu", "disk"), "bytes") > 0);
        }
        assert_non_null(verdict);
        assert_true(json_boolean_or(json_get(verdict, "pass"), false));
    }
    assert_int_equal(folders_left(scene), 0);
}

/* On meta nothing is written or read, and the figures are the same. */
static void meta_counts_what_the_host_holds(void **state)
{
    struct scene *scene = *state;
    static const char *const devices[] = {"host", "meta"};
    int64_t peaks[2][3] = {{0}};
    for (int i = 0; i < 2; i++) {
        cases_set(scene, strstr(loads, "  - {model: distilgpt2"));
        assert_int_equal(measure(scene, devices[i]), RUN_PASS);
        const struct json *places = json_get(case_at(scene, 0), "places");
        assert_int_equal(json_count(places), 3);
        for (size_t k = 0; k < 3; k++) {
            const struct json *load = json_get(json_get(json_at(places, k), "stages"), "load");
            peaks[i][k] = integer_at(load, "reserved_bytes_peak");
            assert_true(peaks[i][k] > 0);
        }
        assert_int_equal(json_count(json_get(case_at(scene, 0), "transfers")), i == 0 ? 2 : 0);
    }
    assert_memory_equal(peaks[0], peaks[1], sizeof peaks[0]);
}

static void what_cannot_be_made_is_told(void **state)
{
    struct scene *scene = *state;
    struct workload workload = workload_default(MODE_LOAD);
    workload.checkpoint = "single";
    workload.precision = PRECISION_INT8;
    assert_int_equal(workload_check(&workload, &scene->error), STATUS_INVALID);
    assert_non_null(strstr(scene->error.text, "checkpoint: no new model is stored in int8"));
    cases_set(scene, "  - {model: timm/resnet18.a1_in1k, mode: load, head: lm, checkpoint: 1MB}\n");
    assert_int_equal(measure(scene, "host"), RUN_INCONCLUSIVE);
    assert_non_null(strstr(text_at(case_at(scene, 0), "reason"), "checkpoint 1MB: timm reads one file"));
    assert_int_equal(folders_left(scene), 0);
}

static void suite_measure(struct scene *scene, const char *path)
{
    suite_release(&scene->suite);
    if (suite_read(path, "models/catalogue", &scene->suite, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    if (measure(scene, "meta") != RUN_PASS) {
        fail_msg("%s: %s", path, scene->result.reason);
    }
}

/* Every case is predicted to run where it is meant to. */
static void the_suites_are_predicted_to_run(void **state)
{
    suite_measure(*state, "suites/checkpoint.yaml");
    suite_measure(*state, "suites/checkpoint-gpu.yaml");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, quiet_open, quiet_close)
    const struct CMUnitTest tests[] = {
        TEST(what_is_loaded_is_what_was_predicted),
        TEST(meta_counts_what_the_host_holds),
        TEST(what_cannot_be_made_is_told),
        TEST(the_suites_are_predicted_to_run),
    };
    return cmocka_run_group_tests_name("checkpoint_cases", tests, NULL, NULL);
}
