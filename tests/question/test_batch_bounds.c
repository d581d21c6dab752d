/* assay batch on bounded hosts: the largest batch that it finds is the largest that there is, and what is predicted;
 * those around it are replayed here on the host, all others on meta. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/json.h"
#include "tests/question/trial_scene.h"
#include "tests/support/command_run.h"

enum { SCANNED_ABOVE = 48, AROUND = 2 };

static const struct batch_case {
    const char *model, *mode, *seq; /* seq "": of images */
    enum mode mode_value;
    int64_t seq_value;
    const char *start;
    int64_t memory_bytes;
} CASES[] = {
    {"tiny-gpt2", "train", "8", MODE_TRAIN, 8, "128", 13 * 1048576},
    {"tiny-gpt2", "train", "32", MODE_TRAIN, 32, "3", 27 * 1048576},
    {"tiny-bert", "infer", "16", MODE_INFER, 16, "500", 9 * 1048576},
    /* Not monotone: from 34 on some do not run that are smaller than some that do. */
    {"tiny-resnet", "train", "", MODE_TRAIN, 0, "32", 24 * 1048576},
};

enum { CASE_COUNT = sizeof CASES / sizeof CASES[0] };

static struct json *batch_document(const struct batch_case *row)
{
    char memory[32];
    snprintf(memory, sizeof memory, "%lldB", (long long)row->memory_bytes);
    const char *words[] = {program_path(), "batch",     row->model, "--mode", row->mode,
                           "--start",      row->start,  "--memory", memory,   "--json",
                           "--program",    "lean-loop", NULL,       NULL,     NULL};
    if (row->seq[0] != '\0') {
        words[12] = "--seq";
        words[13] = row->seq;
    }
    struct command_result result = command_run(words, NULL);
    struct json *document = NULL;
    if (result.exit_code != 0 ||
        json_parse_text("batch", text_string(&result.output), result.output.length, &document, NULL) != STATUS_OK) {
        fail_msg("%d: %s", result.exit_code, text_string(&result.error));
    }
    command_result_release(&result);
    return document;
}

/* The largest batch from this one on that runs, so far as is looked. */
static int64_t maximum_scanned(const struct trial_scene *scene, int64_t from, int64_t memory_bytes)
{
    int64_t found = 0;
    for (int64_t batch = from; batch <= from + SCANNED_ABOVE; batch++) {
        found = trial_scene_runs(scene, FIELD_BATCH, batch, "meta", memory_bytes) ? batch : found;
    }
    return found;
}

/* Every try says what trial_scene, which knows nothing of children, says of that batch. */
static void tries_check(const struct json *tries, const struct trial_scene *scene, int64_t memory_bytes)
{
    assert_true(json_count(tries) > 4);
    for (size_t i = 0; i < json_count(tries); i++) {
        const struct json *try_ = json_at(tries, i), *cause = json_get(try_, "cause");
        int64_t batch = json_integer_or(json_get(try_, "batch"), 0);
        bool runs = trial_scene_runs(scene, FIELD_BATCH, batch, "meta", memory_bytes);
        assert_string_equal(json_string_or(json_get(try_, "outcome"), ""), runs ? "ok" : "oom");
        assert_int_equal(json_kind(cause), runs ? JSON_KIND_NULL : JSON_KIND_OBJECT);
        if (!runs) {
            assert_string_equal(json_string_or(json_get(cause, "source"), ""), "segment");
            assert_true(json_integer_or(json_get(cause, "wanted_bytes"), 0) > 0);
            assert_true(json_integer_or(json_get(cause, "held_bytes"), 0) <= memory_bytes);
            assert_true(json_boolean_or(json_get(json_get(cause, "accelerate"), "reduces"), false));
        } else {
            assert_true(json_integer_or(json_get(try_, "reserved_bytes_peak"), 0) <= memory_bytes);
        }
    }
}

static void what_is_found_is_the_true_maximum(void **state)
{
    (void)state;
    for (int i = 0; i < CASE_COUNT; i++) {
        struct workload workload = workload_default(CASES[i].mode_value);
        struct trial_scene scene;
        workload.seq = CASES[i].seq_value;
        trial_scene_open(&scene, CASES[i].model, &workload, "host");
        struct json *document = batch_document(&CASES[i]);
        int64_t found = json_integer_or(json_get(document, "found"), -1);
        if (found != maximum_scanned(&scene, found, CASES[i].memory_bytes)) {
            fail_msg("%s with %lld bytes: %lld is not the maximum", CASES[i].model, (long long)CASES[i].memory_bytes,
                     (long long)found);
        }
        assert_true(found > 1);
        assert_int_equal(json_integer_or(json_get(json_get(document, "predicted"), "limit"), -1), found);
        for (int64_t batch = found; batch <= found + AROUND; batch++) {
            assert_int_equal(trial_scene_runs(&scene, FIELD_BATCH, batch, "host", CASES[i].memory_bytes),
                             batch == found);
        }
        tries_check(json_get(document, "tries"), &scene, CASES[i].memory_bytes);
        json_release(document);
        trial_scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_found_is_the_true_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
