/* Out of memory on the host: at every stage with what was wanted, held and free, and when the device is opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/run/out_of_memory_rows.h"

static const char *host_bound(int64_t bytes)
{
    static char spec[48];
    snprintf(spec, sizeof spec, "host:mem=%" PRId64 "B", bytes);
    return spec;
}

static void every_stage_says_what_was_wanted_held_and_free(void **state)
{
    out_of_memory_rows_check(*state, host_bound);
}

/* In the child alone: what it may map is bounded to what it has and 64 MiB more, so that the kernel itself refuses. */
static void limited_run(void *context, const struct case_job *job, int file)
{
    struct rlimit limit = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    FILE *status = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;
    (void)context;
    if (status != NULL && fscanf(status, "%lu", &pages) == 1) {
        limit.rlim_cur = pages * 4096 + 64 * 1024 * 1024;
        setrlimit(RLIMIT_AS, &limit);
    }
    case_runner_measure.run(case_runner_measure.context, job, file);
}

/* OpenBLAS needs more than that before anything is placed. */
static void an_opening_that_is_refused_is_out_of_memory_in_context(void **state)
{
    struct scene *scene = *state;
    const struct case_runner runner = {.run = limited_run};
    cases_set(scene,
              "  - {model: tiny-bert, mode: load, device: host}\n  - {model: tiny-gpt2, mode: load, device: meta}\n");
    struct run_options options = options_of(scene);
    options.runner = &runner;
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
    const struct json *line = case_at(scene, 0), *oom = json_get(line, "oom");
    if (strcmp(text_at(line, "status"), "oom") != 0) {
        fail_msg("%s: %s", text_at(line, "status"), text_at(line, "reason"));
    }
    assert_string_equal(text_at(oom, "stage"), "context");
    assert_int_equal(integer_at(oom, "held_bytes"), 0);
    assert_int_equal(json_kind(json_get(oom, "wanted_bytes")), JSON_KIND_NULL);
    assert_in_range(integer_at(oom, "free_bytes"), 1, 64 * 1024 * 1024); /* what is left of the limit */
    assert_int_equal(json_kind(json_get(oom, "label")), JSON_KIND_NULL);
    assert_int_equal(json_kind(json_get(line, "stages")), JSON_KIND_NULL);
    assert_true(json_count(json_get(line, "estimates")) >= 3);
    assert_string_equal(text_at(case_at(scene, 1), "status"), "ok");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_stage_says_what_was_wanted_held_and_free),
        TEST(an_opening_that_is_refused_is_out_of_memory_in_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
