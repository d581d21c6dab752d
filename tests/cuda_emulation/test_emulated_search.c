/* Searches on a GPU, emulated: nobody gives it a bound, so that its memory less what is used besides segments is what
 * is predicted with; where others use it too, nothing is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda_emulation/fault_plan.h"
#include "tests/run/run_scene.h"

static int gpu_unbound(void **state)
{
    unsetenv("EMULATED_DEVICE_BYTES");
    return scene_close(state);
}

static enum run_outcome search(struct scene *scene, int jobs)
{
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "cuda:0";
    options.jobs = jobs;
    return run_with(scene, &options);
}

static const char CASES[] =
    "  - {model: tiny-llama, mode: infer, seq: 1, batch: 3200, for: sm_75, find_batch: halve}\n";

static void a_gpu_without_a_bound_is_predicted_by_what_it_has(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *device_bytes;
        int64_t predicted, found;
    } rows[] = {{"23068672", 1544, 800}, {"25165823", 1544, 800}, {"25165824", 2730, 1600}, {"9000000", 0, -1}};
    cases_set(scene, CASES);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(setenv("EMULATED_DEVICE_BYTES", rows[i].device_bytes, 1), 0);
        if (search(scene, 1) != RUN_PASS) {
            fail_msg("%s", scene->result.reason);
        }
        const struct json *of = json_get(case_at(scene, 0), "search");
        assert_int_equal(integer_at(of, "predicted"), rows[i].predicted);
        assert_int_equal(integer_at(of, "found"), rows[i].found);
        assert_true(json_boolean_or(json_get(of, "pass"), false));
    }
}

/* What another child takes meanwhile is not known: it is reported as it went, and judged by nobody. */
static void a_gpu_that_others_use_is_not_predicted(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, CASES);
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", "23068672", 1), 0);
    assert_int_equal(search(scene, 2), RUN_PASS);
    const struct json *of = json_get(case_at(scene, 0), "search");
    assert_int_equal(integer_at(of, "found"), 800);
    assert_int_equal(json_kind(json_get(of, "predicted")), JSON_KIND_NULL);
    assert_int_equal(json_kind(json_get(of, "pass")), JSON_KIND_NULL);
    assert_int_equal(json_kind(json_get(of, "note")), JSON_KIND_NULL);
}

/* Replay knows segments. What a library takes is another matter, and accelerate does not recognise it; here it makes
 * the batch smaller all the same, and that it was not predicted fails the case. */
static void what_a_library_is_refused_was_not_predicted(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-llama, mode: infer, seq: 1, batch: 2, for: sm_75, find_batch: halve}\n");
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", "67108864", 1), 0);
    assert_int_equal(setenv("EMULATED_NVML", "older", 1), 0); /* which lists this process, and nobody else */
    assert_int_equal(setenv("EMULATED_DRIVER", "context:1000 kernel:0 handle:0 modules:0", 1), 0);
    fault_plan(scene->folder, "cublasCreate:1:3");
    assert_int_equal(search(scene, 1), RUN_FAIL);
    fault_unplan();
    assert_int_equal(unsetenv("EMULATED_NVML") + unsetenv("EMULATED_DRIVER"), 0);
    const struct json *line = case_at(scene, 0), *of = json_get(line, "search");
    const struct json *first = json_at(json_get(of, "tries"), 0);
    assert_string_equal(text_at(line, "status"), "fail");
    assert_non_null(strstr(text_at(line, "reason"), "search: batch 2: out of memory, predicted to run"));
    assert_int_equal(integer_at(of, "found"), 1); /* the fault is of the first call alone */
    assert_string_equal(text_at(first, "cause"), "cublas");
    assert_false(json_boolean_or(json_get(first, "recognised"), true));
    assert_int_equal(json_kind(json_get(first, "wanted_bytes")), JSON_KIND_NULL);
}

/* Others may have had the bytes: seen, or unseen where NVML lists nobody. */
static void what_a_shared_gpu_refuses_is_open(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-llama, mode: infer, seq: 1, batch: 2, for: sm_75, find_batch: halve}\n");
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", "67108864", 1), 0);
    static const char *const others[] = {"process=77:1048576", "hidden"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(setenv("EMULATED_NVML", others[i], 1), 0);
        fault_plan(scene->folder, "cublasCreate:1:3");
        enum run_outcome outcome = search(scene, 1);
        fault_unplan();
        assert_int_equal(unsetenv("EMULATED_NVML"), 0);
        const struct json *line = case_at(scene, 0), *of = json_get(line, "search");
        assert_int_equal(outcome, RUN_INCONCLUSIVE);
        assert_string_equal(text_at(line, "status"), "ok");
        assert_int_equal(json_kind(json_get(of, "pass")), JSON_KIND_NULL);
        assert_non_null(strstr(text_at(of, "note"), "somebody else used the GPU"));
        assert_int_equal(integer_at(of, "found"), 1);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, gpu_unbound)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_gpu_without_a_bound_is_predicted_by_what_it_has),
        TEST(a_gpu_that_others_use_is_not_predicted),
        TEST(what_a_library_is_refused_was_not_predicted),
        TEST(what_a_shared_gpu_refuses_is_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
