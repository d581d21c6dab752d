/* assay batch on an emulated GPU: whose memory it was that a try had no more of, in the words of the real plug-in, and
 * the largest batch in a memory that the prediction reads of the tries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/question/batch_cause.h"
#include "tests/cuda_emulation/fault_plan.h"
#include "tests/run/run_scene.h"

static int gpu_unbound(void **state)
{
    unsetenv("EMULATED_DEVICE_BYTES");
    unsetenv("EMULATED_NVML");
    return scene_close(state);
}

/* The calls of test_emulated_out_of_memory.c. */
static void each_call_is_told_by_its_source(void **state)
{
    static const struct {
        const char *call;
        enum refusal_source source;
        bool accelerate_reduces;
    } rows[] = {
        {"cudaFree:1:2", REFUSAL_CUDA, false},         {"launch:1:2", REFUSAL_CUDA, false},
        {"launch:2:2", REFUSAL_CUDA, false},           {"cudaDeviceSynchronize:3:2", REFUSAL_CUDA, false},
        {"cublasCreate:1:3", REFUSAL_CUBLAS, false},   {"cublasCreate:1:1", REFUSAL_CUBLAS, false},
        {"cublasLtCreate:1:1", REFUSAL_CUBLAS, false}, {"cublasGemm:2:3", REFUSAL_CUBLAS, false},
    };
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-bert, mode: train, seq: 4, for: sm_75}\n");
    assert_int_equal(setenv("EMULATED_NVML", "hidden", 1), 0);
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", "67108864", 1), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fault_plan(scene->folder, rows[i].call);
        measure(scene, "cuda:0");
        fault_unplan();
        struct batch_cause cause = batch_cause_read(case_at(scene, 0));
        if (cause.outcome != BATCH_OUTCOME_MEMORY || cause.source != rows[i].source ||
            cause.accelerate_reduces != rows[i].accelerate_reduces) {
            fail_msg("%s: %s: %s", rows[i].call, refusal_source_name(cause.source), cause.reason);
        }
    }
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", "1048576", 1), 0);
    measure(scene, "cuda:0");
    struct batch_cause cause = batch_cause_read(case_at(scene, 0));
    assert_int_equal(cause.outcome, BATCH_OUTCOME_MEMORY);
    assert_int_equal(cause.source, REFUSAL_SEGMENT);
    assert_true(cause.accelerate_reduces && cause.wanted_bytes > 0);
}

/* An illegal access is another matter. */
static void a_fault_of_the_gpu_is_no_memory(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-bert, mode: train, seq: 4, for: sm_75}\n");
    fault_plan(scene->folder, "cudaMalloc:2:700");
    measure(scene, "cuda:0");
    fault_unplan();
    assert_int_equal(batch_cause_read(case_at(scene, 0)).outcome, BATCH_OUTCOME_OTHER);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, gpu_unbound)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_call_is_told_by_its_source),
        TEST(a_fault_of_the_gpu_is_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
