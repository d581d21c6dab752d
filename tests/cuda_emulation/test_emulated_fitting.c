/* assay run --fitting on a GPU, emulated: what has no room is left out and said so, and the run is green. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/run/run_scene.h"

static const int64_t BESIDE_BYTES = (int64_t)128 << 20;

static int gpu_unbound(void **state)
{
    unsetenv("EMULATED_DEVICE_BYTES");
    unsetenv("EMULATED_DRIVER");
    return scene_close(state);
}

static enum run_outcome fitting_run(struct scene *scene, int64_t gpu_bytes, const char *device)
{
    char text[32];
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = device;
    options.fitting = true;
    snprintf(text, sizeof text, "%" PRId64, gpu_bytes);
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", text, 1), 0);
    return run_with(scene, &options);
}

static void what_does_not_fit_is_left_out_and_said_so(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: [tiny-bert, gpt2], mode: load, for: sm_75}\n");
    assert_int_equal(measure(scene, "cuda:0"), RUN_PASS);
    assert_false(json_boolean_or(json_get(scene->records.runs[0].run, "fitting"), true));
    assert_int_equal(fitting_run(scene, BESIDE_BYTES + (64 << 20), "cuda:0"), RUN_PASS);
    assert_true(json_boolean_or(json_get(scene->records.runs[1].run, "fitting"), false));
    assert_string_equal(text_at(case_at(scene, 0), "status"), "ok");
    assert_string_equal(text_at(case_at(scene, 1), "status"), "skip");
    assert_string_equal(text_at(case_at(scene, 1), "reason"),
                        "left out by --fitting: 530.00 MiB of segments are predicted, with up to 128.00 MiB beside "
                        "them, and cuda:0 has 192.00 MiB free");
    assert_int_equal(fitting_run(scene, 1 << 20, "cuda:0"), RUN_SKIPPED); /* nothing fits: that is no pass */
}

/* One byte decides, and the context is taken already. */
static void a_case_that_just_fits_is_measured(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-bert, mode: train, seq: 4, for: sm_75}\n");
    assert_int_equal(measure(scene, "cuda:0"), RUN_PASS);
    int64_t segments = integer_at(json_get(json_get(case_at(scene, 0), "estimates"), "replay"), "reserved_bytes_peak");
    assert_true(segments > 0);
    assert_int_equal(setenv("EMULATED_DRIVER", "context:1000 kernel:0 handle:0 modules:0", 1), 0);
    assert_int_equal(fitting_run(scene, segments + BESIDE_BYTES + 1000, "cuda:0"), RUN_PASS);
    assert_int_equal(fitting_run(scene, segments + BESIDE_BYTES + 999, "cuda:0"), RUN_SKIPPED);
}

/* A search tries what does not fit: that is its answer. */
static void a_search_is_not_left_out(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-llama, mode: infer, seq: 1, batch: 3200, for: sm_75, find_batch: halve}\n");
    assert_int_equal(fitting_run(scene, 23068672, "cuda:0"), RUN_PASS);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "ok");
    assert_int_equal(integer_at(json_get(case_at(scene, 0), "search"), "found"), 800);
}

static void a_host_with_a_bound_leaves_out_what_it_is_predicted_to_refuse(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: [tiny-bert, gpt2], mode: load}\n");
    assert_int_equal(fitting_run(scene, 1, "host:mem=64MiB"), RUN_PASS);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "ok");
    assert_string_equal(text_at(case_at(scene, 1), "reason"),
                        "left out by --fitting: it is predicted not to fit 64.00 MiB");
    assert_int_equal(fitting_run(scene, 1, "meta:mem=64MiB"), RUN_INCONCLUSIVE); /* there replay is the measurement */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, gpu_unbound)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_does_not_fit_is_left_out_and_said_so),
        TEST(a_case_that_just_fits_is_measured),
        TEST(a_search_is_not_left_out),
        TEST(a_host_with_a_bound_leaves_out_what_it_is_predicted_to_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
