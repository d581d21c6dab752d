/* Out of memory on a GPU, emulated: at every stage of the tape, when the context is made, and where nobody asked for a
 * segment: a library's handle, the local memory of a kernel, a synchronisation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda_emulation/fault_plan.h"
#include "tests/run/out_of_memory_rows.h"

static const char *gpu_bound(int64_t bytes)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, bytes);
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", text, 1), 0);
    return "cuda:0";
}

static int gpu_unbound(void **state)
{
    unsetenv("EMULATED_DEVICE_BYTES");
    unsetenv("EMULATED_NVML");
    return scene_close(state);
}

static void every_stage_says_what_was_wanted_held_and_free(void **state)
{
    out_of_memory_rows_check(*state, gpu_bound);
}

/* Each row: the call that fails, and what stands in the record. wanted_bytes is null: none of them says how much. */
static void what_asks_for_no_segment_runs_out_of_memory_too(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *call, *stage, *label, *cause;
        int64_t held_mib; /* tiny-bert's tensors share one segment of 2 MiB; the cuBLAS workspace has one of 20 */
    } rows[] = {
        {"cudaFree:1:2", "context", "(null)", "making a context: out of memory", 0},
        {"launch:1:2", "context", "(null)", "the first launch: out of memory", 0},
        {"cublasCreate:1:3", "forward", "MATMUL", "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED", 22},
        {"cublasCreate:1:1", "forward", "MATMUL", "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED", 22},
        {"cublasLtCreate:1:1", "forward", "MATMUL", "cublasLtCreate: CUBLAS_STATUS_NOT_INITIALIZED", 22},
        {"launch:2:2", "load", "RANDOM_NORMAL", "out of memory", 2},
        {"cudaDeviceSynchronize:3:2", "load", "(null)", "synchronisation: out of memory", 2},
    };
    static const char cases[] = "  - {model: tiny-bert, mode: train, seq: [4, 8], for: sm_75}\n";
    enum { MIB = 1024 * 1024, BOUND_MIB = 64 };
    cases_set(scene, cases);
    assert_int_equal(setenv("EMULATED_NVML", "hidden", 1), 0); /* it alone says what is free without a context */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *spec = gpu_bound(BOUND_MIB * MIB);
        fault_plan(scene->folder, rows[i].call);
        assert_int_equal(measure(scene, spec), RUN_INCONCLUSIVE);
        fault_unplan();
        const struct json *line = case_at(scene, 0), *oom = json_get(line, "oom");
        if (strcmp(text_at(line, "status"), "oom") != 0 || strstr(text_at(line, "reason"), rows[i].cause) == NULL) {
            fail_msg("%s: %s: %s", rows[i].call, text_at(line, "status"), text_at(line, "reason"));
        }
        assert_string_equal(text_at(oom, "stage"), rows[i].stage);
        assert_string_equal(text_at(oom, "label"), rows[i].label);
        assert_int_equal(json_kind(json_get(oom, "wanted_bytes")), JSON_KIND_NULL);
        assert_int_equal(integer_at(oom, "held_bytes"), rows[i].held_mib * MIB);
        assert_int_equal(integer_at(oom, "free_bytes"), (BOUND_MIB - rows[i].held_mib) * MIB);
        assert_string_equal(text_at(case_at(scene, 1), "status"), "ok");
    }
}

static void what_is_free_without_a_context_is_unknown_without_nvml(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-bert, mode: train, seq: 4, for: sm_75}\n");
    fault_plan(scene->folder, "cudaFree:1:2");
    assert_int_equal(measure(scene, "cuda:0"), RUN_INCONCLUSIVE);
    fault_unplan();
    const struct json *oom = json_get(case_at(scene, 0), "oom");
    assert_string_equal(text_at(oom, "stage"), "context");
    assert_int_equal(json_kind(json_get(oom, "free_bytes")), JSON_KIND_NULL);
}

/* The same word of cuBLAS on a GPU with memory to spare has another cause. */
static void a_library_that_does_not_start_with_memory_to_spare_is_an_error(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-bert, mode: train, seq: 4, for: sm_75}\n");
    fault_plan(scene->folder, "cublasCreate:1:1");
    assert_int_equal(measure(scene, "cuda:0"), RUN_INCONCLUSIVE);
    fault_unplan();
    assert_string_equal(text_at(case_at(scene, 0), "status"), "error");
    assert_non_null(strstr(text_at(case_at(scene, 0), "reason"), "CUBLAS_STATUS_NOT_INITIALIZED"));
    assert_int_equal(json_kind(json_get(case_at(scene, 0), "oom")), JSON_KIND_NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, gpu_unbound)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_stage_says_what_was_wanted_held_and_free),
        TEST(what_asks_for_no_segment_runs_out_of_memory_too),
        TEST(what_is_free_without_a_context_is_unknown_without_nvml),
        TEST(a_library_that_does_not_start_with_memory_to_spare_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
