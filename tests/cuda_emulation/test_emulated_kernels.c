/* The CUDA kernels, run on the emulated GPU: every operation and class of shapes that the host's kernels are tried with,
 * against the same reference, and again in other orders of blocks and threads. The real compiler, the real cuBLAS and
 * the driver have no part in this. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/device.h"
#include "tests/kernels/trial_plan.h"

/* cmocka's tests and the trials share the one device of the program. */
static struct device *gpu;

static const char *gpu_run(const struct operation_call *call)
{
    static struct status error;
    return gpu->table->run(gpu, call, &error) == STATUS_OK ? NULL : error.text;
}

static int gpu_set_up(void **state)
{
    struct status error = {0};
    struct device_properties properties;
    (void)state;
    if (device_open("cuda:0", &gpu, &error) != STATUS_OK ||
        gpu->table->properties(gpu, &properties, &error) != STATUS_OK) {
        print_error("%s\n", error.text);
        return -1;
    }
    return strcmp(properties.name, "emulated sm_75") == 0 ? 0 : -1; /* a real GPU cannot read the trials' memory */
}

static int gpu_tear_down(void **state)
{
    (void)state;
    device_close(gpu);
    return 0;
}

static void trial_open_on_gpu(struct trial *trial, enum opcode opcode, enum mix mix, int variant)
{
    trial_open(trial, opcode, mix, (uint64_t)((int)opcode * 10000 + (int)mix * 1000 + variant));
    trial->run = gpu_run;
}

/* Two of the mixes: in MIX_ANY every dtype meets every other. */
static void test_operation(void **state)
{
    enum opcode opcode = *(const enum opcode *)*state;
    static const enum mix mixes[] = {MIX_FLOAT32, MIX_ANY};
    for (size_t m = 0; m < sizeof mixes / sizeof mixes[0]; m++) {
        bool more = true;
        for (int variant = 0; more; variant++) {
            struct trial trial;
            trial_open_on_gpu(&trial, opcode, mixes[m], variant);
            more = trial_plan_for(opcode)(&trial, variant);
            if (more) {
                trial_run(&trial);
            }
            trial_close(&trial);
        }
    }
}

/* The outputs of one run, one behind the other. */
static unsigned char *outputs_of_run(const struct trial *trial, size_t *bytes)
{
    assert_null(gpu_run(&trial->call));
    return trial_outputs_copy(trial, bytes);
}

/* Each launch takes another order of blocks and threads than the one before: forwards, backwards, shuffled. */
static void test_the_order_of_threads_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        enum opcode opcode;
        int variant;
    } rows[] = {{OPCODE_SUM, 57},           {OPCODE_SUM, 63},       {OPCODE_SUM, 76},
                {OPCODE_SOFTMAX, 6},        {OPCODE_LAYERNORM, 6},  {OPCODE_LAYERNORM_BACKWARD, 9},
                {OPCODE_EMBEDDING, 5},      {OPCODE_NLL_LOSS, 9},   {OPCODE_EMBEDDING_BACKWARD, 5},
                {OPCODE_BATCHNORM, 12},     {OPCODE_MAX_POOL, 25},  {OPCODE_BATCHNORM_BACKWARD, 5},
                {OPCODE_ATTENTION, 3},      {OPCODE_ATTENTION, 6},  {OPCODE_MAX_POOL_BACKWARD, 25},
                {OPCODE_DROPOUT, 13},       {OPCODE_ATTENTION, 10}, {OPCODE_ATTENTION_BACKWARD, 3},
                {OPCODE_RANDOM_NORMAL, 13}, {OPCODE_GELU, 13},      {OPCODE_ATTENTION_BACKWARD, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trial trial;
        size_t bytes;
        trial_open_on_gpu(&trial, rows[i].opcode, MIX_FLOAT32, rows[i].variant);
        assert_true(trial_plan_for(rows[i].opcode)(&trial, rows[i].variant));
        unsigned char *first = outputs_of_run(&trial, &bytes);
        for (int run = 1; run < 3; run++) {
            unsigned char *again = outputs_of_run(&trial, &bytes);
            assert_memory_equal(first, again, bytes);
            free(again);
        }
        free(first);
        trial_close(&trial);
    }
}

int main(void)
{
    static enum opcode opcodes[OPCODE_COUNT];
    struct CMUnitTest tests[OPCODE_COUNT + 1] = {cmocka_unit_test(test_the_order_of_threads_changes_nothing)};
    size_t count = 1;
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        opcodes[opcode] = (enum opcode)opcode;
        if (trial_plan_for(opcodes[opcode]) != NULL) {
            tests[count++] =
                (struct CMUnitTest){opcode_name(opcodes[opcode]), test_operation, NULL, NULL, &opcodes[opcode]};
        }
    }
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
