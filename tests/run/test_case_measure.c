/* The measuring runner on the devices that every machine has: meta, host, a host that is too small, a device that is
 * not there; and the suites that come with the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/report/report.h"
#include "tests/run/run_scene.h"

/* 11 tensors of tiny-gpt2 and their blocks are the same wherever the tape is replayed. */
static void meta_and_host_agree_on_every_byte_they_share(void **state)
{
    struct scene *scene = *state;
    static const char *const shared[] = {"requested_bytes_peak", "allocated_bytes_peak", "reserved_bytes_peak", NULL};
    cases_set(scene, "  - {model: tiny-gpt2, mode: load, for: host,\n"
                     "     tolerances: {replay: {requested_bytes_peak: 0, allocated_bytes_peak: 0}}}\n");
    assert_int_equal(measure(scene, "meta"), RUN_PASS);
    assert_int_equal(measure(scene, "host"), RUN_PASS);
    const struct json *meta = scene->records.runs[scene->records.run_count - 2].cases[0];
    const struct json *host = case_at(scene, 0);
    assert_string_equal(text_at(json_get(meta, "device"), "kind"), "meta");
    assert_string_equal(text_at(json_get(host, "device"), "kind"), "host");
    assert_string_equal(text_at(meta, "basis"), "replayed"); /* no memory was there to be measured */
    assert_string_equal(text_at(host, "basis"), "measured");
    assert_string_equal(text_at(meta, "sequence_hash"), text_at(host, "sequence_hash"));
    for (int i = 0; shared[i] != NULL; i++) {
        assert_true(integer_at(host, shared[i]) > 0);
        assert_int_equal(integer_at(meta, shared[i]), integer_at(host, shared[i]));
    }
    const struct json *load = json_get(json_get(meta, "stages"), "load");
    assert_int_equal(json_kind(json_get(load, "process_bytes")),
                     JSON_KIND_NULL); /* nothing was mapped: unknown, not 0 */
    assert_int_equal(json_kind(json_get(load, "seconds")), JSON_KIND_NULL);
    load = json_get(json_get(host, "stages"), "load");
    assert_true(integer_at(load, "process_bytes") > integer_at(load, "reserved_bytes"));
}

static void figures_are_equal(const struct json *first, const struct json *other)
{
    static const char *const levels[] = {"requested_bytes",      "requested_bytes_peak", "allocated_bytes",
                                         "allocated_bytes_peak", "reserved_bytes",       "reserved_bytes_peak"};
    const struct json *stages = json_get(first, "stages");
    assert_string_equal(text_at(first, "sequence_hash"), text_at(other, "sequence_hash"));
    assert_int_equal(json_count(stages), json_count(json_get(other, "stages")));
    for (const char *stage = NULL; (stage = json_key_after(stages, stage)) != NULL;) {
        for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
            int64_t bytes = integer_at(json_get(stages, stage), levels[i]);
            assert_true(bytes > 0);
            assert_int_equal(bytes, integer_at(json_get(json_get(other, "stages"), stage), levels[i]));
        }
    }
}

/* What the allocator hands out is decided by the tape alone, not by the process. The report says so. */
static void ten_fresh_processes_do_not_differ(void **state)
{
    struct scene *scene = *state;
    struct report *report = NULL;
    struct text text = {0};
    cases_set(scene, "  - {model: tiny-gpt2, mode: train, batch: 2, seq: 16, repeat: 10}\n");
    assert_int_equal(measure(scene, "host"), RUN_PASS);
    assert_int_equal(scene->records.runs[scene->records.run_count - 1].case_count, 10);
    for (int i = 1; i < 10; i++) {
        assert_int_equal(integer_at(case_at(scene, i), "attempt"), i + 1);
        figures_are_equal(case_at(scene, 0), case_at(scene, i));
    }
    assert_int_equal(report_open(scene->folder, &report, NULL), STATUS_OK);
    assert_int_equal(report_render(report, REPORT_MARKDOWN, NULL, &text, NULL), STATUS_OK);
    assert_non_null(strstr(text_string(&text), "10 attempts: requested 0 B, allocated 0 B, reserved 0 B"));
    assert_non_null(strstr(text_string(&text), "one sequence of allocations"));
    text_release(&text);
    report_release(report);
}

/* requested + rounding + remainder = allocated, and + cached = reserved. */
static void causes_add_up_to_the_levels(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: bert-base-cased, mode: load}\n");
    assert_int_equal(measure(scene, "meta"), RUN_PASS);
    const struct json *line = case_at(scene, 0);
    const struct json *load = json_get(json_get(line, "stages"), "load");
    const struct json *causes = json_get(json_get(line, "causes"), "load");
    assert_int_equal(integer_at(load, "requested_bytes"), 433249280);
    assert_int_equal(integer_at(load, "allocated_bytes"), 433773568);
    assert_int_equal(integer_at(causes, "rounding_bytes") + integer_at(causes, "unsplit_remainder_bytes"), 524288);
    assert_int_equal(integer_at(causes, "unsplit_remainder_count"), 1);
    assert_int_equal(integer_at(load, "allocated_bytes") + integer_at(causes, "cached_bytes"),
                     integer_at(load, "reserved_bytes"));
    assert_int_equal(integer_at(json_get(json_get(line, "estimates"), "accelerate"), "total_bytes"), 433249280);
}

/* Real runs: at every stage the items sum to what the kernel counted, and the row says whether to believe it. */
static void items_sum_to_what_the_kernel_counts(void **state)
{
    struct scene *scene = *state;
    static const char *const stages[] = {"load", "forward", "backward", "step"};
    cases_set(scene, "  - {model: [tiny-gpt2, tiny-resnet], mode: train, batch: 2, seq: 16}\n");
    assert_int_equal(measure(scene, "host"), RUN_PASS);
    for (int i = 0; i < 2; i++) {
        const struct json *line = case_at(scene, i), *context = json_get(line, "context");
        assert_int_equal(json_kind(json_get(json_get(line, "validity"), "valid")), JSON_KIND_BOOLEAN);
        assert_int_equal(json_kind(json_get(context, "baseline_bytes")), JSON_KIND_NULL);
        for (int s = 0; s < 4; s++) {
            const struct json *stage = json_get(json_get(line, "stages"), stages[s]);
            const struct json *items = json_get(stage, "process_items");
            assert_int_equal(json_kind(json_get(stage, "device_items")), JSON_KIND_NULL);
            assert_int_equal(integer_at(items, "context_bytes") + integer_at(items, "library_bytes"),
                             integer_at(context, "process_bytes"));
            assert_int_equal(integer_at(items, "workspace_bytes") + integer_at(items, "segment_bytes"),
                             integer_at(stage, "reserved_bytes"));
            assert_true(integer_at(items, "library_bytes") > 0); /* OpenBLAS */
            assert_int_equal(integer_at(context, "process_bytes") + integer_at(stage, "reserved_bytes") +
                                 integer_at(items, "remainder_bytes"),
                             integer_at(stage, "process_bytes"));
        }
    }
}

static void a_host_that_is_too_small_is_a_row_with_what_was_wanted(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: bert-base-cased, mode: load, device: 'host:mem=100MiB'}\n"
                     "  - {model: tiny-bert, mode: load, device: 'host:mem=100MiB'}\n");
    assert_int_equal(measure(scene, "auto"), RUN_INCONCLUSIVE);
    const struct json *line = case_at(scene, 0), *oom = json_get(line, "oom");
    assert_string_equal(text_at(line, "status"), "oom");
    assert_string_equal(text_at(oom, "stage"), "load");
    assert_true(integer_at(oom, "wanted_bytes") > 0);
    assert_true(integer_at(oom, "held_bytes") <= 100 * 1024 * 1024);
    assert_true(json_count(json_get(line, "estimates")) >= 3); /* what was predicted is known all the same */
    assert_string_equal(text_at(case_at(scene, 1), "status"), "ok");
}

static void a_device_that_is_not_there_is_skipped_with_its_reason(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-bert, mode: load}\n");
    assert_int_equal(measure(scene, "cuda:63"), RUN_SKIPPED); /* no machine has 64 */
    const struct json *line = case_at(scene, 0);
    assert_string_equal(text_at(line, "status"), "skip");
    assert_true(strlen(text_at(line, "reason")) > 10);
    assert_int_equal(json_kind(json_get(line, "device")), JSON_KIND_NULL);
    assert_true(integer_at(json_get(json_get(line, "estimates"), "replay"), "allocated_bytes_peak") > 0);
}

static void the_selftest_fails_and_the_other_suites_are_well_formed(void **state)
{
    struct scene *scene = *state;
    static const char *const paths[] = {"suites/quick.yaml",
                                        "suites/safety.yaml",
                                        "suites/load.yaml",
                                        "suites/quantize.yaml",
                                        "suites/inference-overhead.yaml",
                                        "suites/adam.yaml",
                                        "suites/lora.yaml",
                                        "suites/generate.yaml",
                                        "suites/pytorch.yaml",
                                        "suites/selftest.yaml"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        suite_release(&scene->suite);
        if (suite_read(paths[i], "models/catalogue", &scene->suite, &scene->error) != STATUS_OK) {
            fail_msg("%s", scene->error.text);
        }
        enum run_outcome wanted = strstr(paths[i], "selftest") != NULL ? RUN_FAIL : RUN_PASS;
        assert_int_equal(measure(scene, "meta"), wanted);
    }
    assert_int_equal(scene->result.counts[CASE_STATUS_OK], 1);
    assert_int_equal(scene->result.counts[CASE_STATUS_FAIL], 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(meta_and_host_agree_on_every_byte_they_share),
        TEST(ten_fresh_processes_do_not_differ),
        TEST(causes_add_up_to_the_levels),
        TEST(items_sum_to_what_the_kernel_counts),
        TEST(a_host_that_is_too_small_is_a_row_with_what_was_wanted),
        TEST(a_device_that_is_not_there_is_skipped_with_its_reason),
        TEST(the_selftest_fails_and_the_other_suites_are_well_formed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
