/* Proofs on a GPU, emulated: ballast leaves exactly the bytes that were predicted, whatever the GPU has, and one
 * granule less is too little; what the driver does to the ballast is told, and never taken for an outcome of the
 * case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/ballast.h"
#include "tests/cuda_emulation/fault_plan.h"
#include "tests/run/run_scene.h"
#include "tests/support/device_use.h"

static int gpu_unbound(void **state)
{
    unsetenv("EMULATED_DEVICE_BYTES");
    return scene_close(state);
}

static enum run_outcome prove(struct scene *scene, int jobs)
{
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "cuda:0";
    options.proof = RUN_PROOF_ESTIMATORS;
    options.jobs = jobs;
    return run_with(scene, &options);
}

static const char CASES[] = "  - {model: tiny-llama, mode: train, batch: 1, seq: 4}\n"
                            "  - {model: tiny-llama, mode: generate, seq: 4, new_tokens: 3}\n"
                            "  - {model: tiny-bert, mode: load}\n";

/* The figures are of segments alone: neither the size of the GPU nor what is no whole granule of it matters. */
static void the_predicted_bytes_are_safe_and_tight_on_any_gpu(void **state)
{
    struct scene *scene = *state;
    static const char *const sizes[] = {"134217728", "100001000"};
    cases_set(scene, CASES);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(setenv("EMULATED_DEVICE_BYTES", sizes[i], 1), 0);
        if (prove(scene, 1) != RUN_PASS) {
            fail_msg("%s", scene->result.reason);
        }
        for (int at = 0; at < scene->result.total; at++) {
            const struct json *proof = json_get(case_at(scene, at), "proof"),
                              *least = json_at(json_get(proof, "limits"), 0);
            assert_string_equal(text_at(least, "quantity"), "least_bytes");
            assert_true(json_boolean_or(json_get(least, "runs"), false));
            assert_false(json_boolean_or(json_get(least, "less_runs"), true));
            assert_true(json_boolean_or(json_get(proof, "pass"), false));
            assert_true(json_count(json_get(proof, "limits")) > 2);
        }
    }
}

static void ballast_leaves_what_it_is_told(void **state)
{
    (void)state;
    static const int64_t rooms[] = {0, 2 << 20, 22 << 20, (64 << 20) + 12345};
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", "134217728", 1), 0); /* it is really filled */
    struct device *device = device_open_or_skip("cuda:0");
    struct device_reading before, after;
    assert_int_equal(device->table->read_memory(device, &before, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        struct ballast ballast;
        void *first = NULL, *other = NULL;
        int64_t whole = rooms[i] / BALLAST_STEP_BYTES * BALLAST_STEP_BYTES;
        assert_int_equal(ballast_take(device, rooms[i], &ballast, NULL), STATUS_OK);
        assert_int_equal(device->table->segment_alloc(device, whole + BALLAST_STEP_BYTES, &first, NULL),
                         STATUS_OUT_OF_MEMORY);
        if (whole > 0) {
            assert_int_equal(device->table->segment_alloc(device, whole, &first, NULL), STATUS_OK);
            assert_int_equal(device->table->segment_alloc(device, BALLAST_STEP_BYTES, &other, NULL),
                             STATUS_OUT_OF_MEMORY);
            assert_int_equal(device->table->segment_free(device, first, whole, NULL), STATUS_OK);
        }
        assert_int_equal(ballast_release(&ballast, NULL), STATUS_OK);
        assert_int_equal(device->table->read_memory(device, &after, NULL), STATUS_OK);
        assert_int_equal(after.free_bytes, before.free_bytes);
    }
    struct ballast ballast;
    struct status error = {0};
    assert_int_equal(ballast_take(device, INT64_C(1) << 40, &ballast, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "has not so many free"));
    device_close(device);
}

/* Jobs beside each other would take each other's room. */
static void a_gpu_that_others_use_proves_nothing(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", "134217728", 1), 0);
    cases_set(scene, "  - {model: tiny-bert, mode: load}\n");
    assert_int_equal(prove(scene, 2), RUN_INCONCLUSIVE);
    const struct json *limit = json_at(json_get(json_get(case_at(scene, 0), "proof"), "limits"), 0);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "ok");
    assert_int_equal(json_kind(json_get(limit, "pass")), JSON_KIND_NULL);
    assert_non_null(strstr(text_at(limit, "note"), "prove with --jobs 1"));
    assert_non_null(strstr(scene->result.reason, "prove with --jobs 1"));
}

/* The bytes of a proof are granules of 2 MiB; where the driver's are others, nothing is said of the case. */
static void another_granule_of_the_driver_proves_nothing(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", "134217728", 1), 0);
    assert_int_equal(setenv("EMULATED_GRANULES", "2", 1), 0);
    cases_set(scene, "  - {model: tiny-bert, mode: load}\n");
    assert_int_equal(prove(scene, 1), RUN_INCONCLUSIVE);
    const struct json *proof = json_get(case_at(scene, 0), "proof"), *limit = json_at(json_get(proof, "limits"), 0);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "ok");
    assert_int_equal(integer_at(proof, "taken_bytes"), 4 << 20);
    assert_int_equal(json_kind(json_get(limit, "pass")), JSON_KIND_NULL);
    assert_non_null(strstr(text_at(limit, "note"), "the driver takes 4.00 MiB for a segment of 2 MiB"));
    assert_int_equal(setenv("EMULATED_GRANULES", "1", 1), 0);
    assert_int_equal(prove(scene, 1), RUN_PASS);
    assert_int_equal(integer_at(json_get(case_at(scene, 0), "proof"), "taken_bytes"), -1);
    unsetenv("EMULATED_GRANULES");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, gpu_unbound)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_predicted_bytes_are_safe_and_tight_on_any_gpu),
        TEST(a_gpu_that_others_use_proves_nothing),
        TEST(another_granule_of_the_driver_proves_nothing),
        TEST(ballast_leaves_what_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
