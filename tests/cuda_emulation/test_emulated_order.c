/* The CUDA kernels on the emulated GPU, in several orders of blocks and threads: none may change a bit of an outcome.
 * That the outcomes are right is for test_emulated_conformance.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/device.h"
#include "tests/kernels/trial_plan.h"

static int gpu_set_up(void **state)
{
    struct status error = {0};
    struct device_properties properties;
    struct device *gpu = NULL;
    if (device_open("cuda:0", &gpu, &error) != STATUS_OK ||
        gpu->table->properties(gpu, &properties, &error) != STATUS_OK) {
        print_error("%s\n", error.text);
        return -1;
    }
    *state = gpu;
    return strcmp(properties.name, "emulated sm_75") == 0 ? 0 : -1; /* a real GPU cannot read the trials' memory */
}

static int gpu_tear_down(void **state)
{
    device_close(*state);
    return 0;
}

/* The outputs of one run, one behind the other. */
static unsigned char *outputs_of_run(struct device *gpu, const struct trial *trial, size_t *bytes)
{
    struct status error = {0};
    if (gpu->table->run(gpu, &trial->call, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return trial_outputs_copy(trial, bytes);
}

/* Each launch takes another order of blocks and threads than the one before: forwards, backwards, shuffled. */
static void test_the_order_of_threads_changes_nothing(void **state)
{
    static const struct {
        enum opcode opcode;
        int variant;
    } rows[] = {{OPCODE_SUM, 57},
                {OPCODE_SUM, 63},
                {OPCODE_SUM, 76},
                {OPCODE_SOFTMAX, 6},
                {OPCODE_LAYERNORM, 6},
                {OPCODE_LAYERNORM_BACKWARD, 9},
                {OPCODE_EMBEDDING, 5},
                {OPCODE_NLL_LOSS, 9},
                {OPCODE_TARGET_MASK, 9},
                {OPCODE_EMBEDDING_BACKWARD, 5},
                {OPCODE_BATCHNORM, 12},
                {OPCODE_MAX_POOL, 25},
                {OPCODE_BATCHNORM_BACKWARD, 5},
                {OPCODE_ATTENTION, 3},
                {OPCODE_ATTENTION, 6},
                {OPCODE_MAX_POOL_BACKWARD, 25},
                {OPCODE_DROPOUT, 13},
                {OPCODE_ATTENTION, 10},
                {OPCODE_ATTENTION_BACKWARD, 3},
                {OPCODE_RANDOM_NORMAL, 13},
                {OPCODE_GELU, 13},
                {OPCODE_ATTENTION_BACKWARD, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trial trial;
        size_t bytes;
        trial_open(&trial, rows[i].opcode, MIX_FLOAT32, (uint64_t)i);
        assert_true(trial_plan_for(rows[i].opcode)(&trial, rows[i].variant));
        unsigned char *first = outputs_of_run(*state, &trial, &bytes);
        for (int run = 1; run < 3; run++) {
            unsigned char *again = outputs_of_run(*state, &trial, &bytes);
            assert_memory_equal(first, again, bytes);
            free(again);
        }
        free(first);
        trial_close(&trial);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_order_of_threads_changes_nothing),
    };
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
