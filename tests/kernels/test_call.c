/* Calls that do not fit, calls in place, and calls whose outcome must not depend on the number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include <cmocka.h>

#include "harness/kernels/kernel_host.h"
#include "tests/kernels/trial_plan.h"

static void open_variant(struct trial *trial, enum opcode opcode, int variant)
{
    trial_open(trial, opcode, MIX_FLOAT32, 1000 + (uint64_t)variant);
    assert_true(trial_plan_for(opcode)(trial, variant));
}

/* Each fault in turn, in every operation: never run, always a reason. */
static void test_faults_of_form_are_refused(void **state)
{
    (void)state;
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        struct trial trial;
        open_variant(&trial, (enum opcode)opcode, 2);
        struct operation_call call = trial.call;
        int last = call.tensor_count - 1;
        call.tensor_count--;
        assert_non_null(kernel_host_run(&call));
        call = trial.call;
        call.input_count++;
        assert_non_null(kernel_host_run(&call));
        call = trial.call;
        call.tensors[last].rank = TENSOR_RANK_MAXIMUM + 1;
        assert_non_null(kernel_host_run(&call));
        call = trial.call;
        call.tensors[last].dtype = DTYPE_COUNT;
        assert_non_null(kernel_host_run(&call));
        call = trial.call;
        call.tensors[last].data = NULL;
        if (kernel_host_run(&call) == NULL) {
            fail_msg("%s ran without memory", opcode_name((enum opcode)opcode));
        }
        call = trial.call;
        call.tensors[last].rank = 1;
        call.tensors[last].size[0] = -1;
        assert_non_null(kernel_host_run(&call));
        trial_close(&trial);
    }
    struct operation_call beyond = {.opcode = OPCODE_COUNT};
    assert_non_null(kernel_host_run(&beyond));
    assert_false(kernel_host_has(OPCODE_COUNT));
}

/* Any tensor of any operation that is one longer than the others must not run (where sizes depend on each other). */
static void test_wrong_sizes_are_refused(void **state)
{
    (void)state;
    for (int opcode = OPCODE_COPY; opcode < OPCODE_COUNT; opcode++) {
        struct trial trial;
        open_variant(&trial, (enum opcode)opcode, 1);
        for (int t = 0; t < trial.call.tensor_count; t++) {
            struct operation_call call = trial.call;
            struct tensor *tensor = &call.tensors[t];
            bool single = call.tensor_count == 1 || tensor->rank == 0;
            bool lse = tensor->rank == 3 && (opcode == OPCODE_ATTENTION || opcode == OPCODE_ATTENTION_IN_PARTS ||
                                             opcode == OPCODE_ATTENTION_BACKWARD);
            bool table = opcode == OPCODE_EMBEDDING && t == 0; /* a longer table is another table */
            bool unscaled = opcode == OPCODE_UNSCALE && t == 0;
            bool table_grad = opcode == OPCODE_EMBEDDING_BACKWARD && t == 2;
            bool summed = opcode == OPCODE_SUM && t == 0; /* any length can be summed */
            if (single || table || unscaled || table_grad || summed) {
                continue;
            }
            tensor->size[lse ? 1 : 0] += 1;
            if (kernel_host_run(&call) == NULL) {
                fail_msg("%s ran with tensor %d too long", opcode_name((enum opcode)opcode), t);
            }
        }
        trial_close(&trial);
    }
}

static void test_wrong_ids_and_targets_are_refused(void **state)
{
    (void)state;
    static const struct {
        enum opcode opcode;
        int ids;
    } rows[] = {
        {OPCODE_EMBEDDING, 1},   {OPCODE_EMBEDDING_BACKWARD, 1}, {OPCODE_NLL_LOSS, 1}, {OPCODE_NLL_LOSS_BACKWARD, 1},
        {OPCODE_TARGET_MASK, 0}, {OPCODE_CROSS_ENTROPY, 0},      {OPCODE_GATHER, 1},   {OPCODE_SCATTER, 1},
        {OPCODE_SORT_IDS, 0},    {OPCODE_GROUP_ENDS, 0},         {OPCODE_PLACE_IDS, 0}};
    static const double wrong[] = {-1.0, -101.0, 1e15, -9e18};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            struct trial trial;
            open_variant(&trial, rows[i].opcode, 1);
            size_t bytes;
            unsigned char *before = trial_outputs_copy(&trial, &bytes);
            trial_set(&trial, rows[i].ids, 2, wrong[k]);
            assert_non_null(kernel_host_run(&trial.call));
            unsigned char *after = trial_outputs_copy(&trial, &bytes);
            assert_memory_equal(before, after, bytes);
            free(before);
            free(after);
            trial_close(&trial);
        }
    }
}

static void test_conversions_and_views_that_are_refused(void **state)
{
    (void)state;
    struct trial trial;
    trial_open(&trial, OPCODE_COPY, MIX_FLOAT32, 3);
    trial_input(&trial, DTYPE_FLOAT32, LAYOUT_DENSE, 2, (const int64_t[]){3, 4}, 0.0, 1.0);
    trial_output(&trial, DTYPE_INT64, LAYOUT_DENSE, 2, (const int64_t[]){3, 4});
    assert_non_null(kernel_host_run(&trial.call));
    trial_close(&trial);
    trial_open(&trial, OPCODE_COPY, MIX_FLOAT32, 3);
    trial_input(&trial, DTYPE_FLOAT32, LAYOUT_DENSE, 2, (const int64_t[]){3, 4}, 0.0, 1.0);
    trial_output(&trial, DTYPE_FLOAT32, LAYOUT_BROADCAST, 2, (const int64_t[]){3, 4});
    assert_non_null(kernel_host_run(&trial.call));
    trial_close(&trial);
    trial_open(&trial, OPCODE_SOFTMAX, MIX_FLOAT32, 3);
    trial_input(&trial, DTYPE_FLOAT32, LAYOUT_GAPPED, 2, (const int64_t[]){3, 4}, 0.0, 1.0);
    trial_output(&trial, DTYPE_FLOAT32, LAYOUT_DENSE, 2, (const int64_t[]){3, 4});
    assert_non_null(kernel_host_run(&trial.call));
    trial_close(&trial);
}

static void test_in_place(void **state)
{
    (void)state;
    static const enum opcode opcodes[] = {OPCODE_ADD,  OPCODE_AFFINE,  OPCODE_TANH,        OPCODE_GELU_BACKWARD,
                                          OPCODE_RELU, OPCODE_SOFTMAX, OPCODE_LOG_SOFTMAX, OPCODE_DROPOUT_BACKWARD};
    for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
        for (int mix = MIX_FLOAT32; mix <= MIX_BFLOAT16; mix++) {
            struct trial trial;
            const int64_t size[2] = {37, 1500};
            trial_open(&trial, opcodes[i], (enum mix)mix, 11);
            trial.call.attributes.f[0] = 0.75;
            trial_input(&trial, trial_dtype(&trial), LAYOUT_DENSE, 2, size, -3.0, 3.0);
            if (opcode_input_count(opcodes[i]) == 2) {
                bool mask = opcodes[i] == OPCODE_DROPOUT_BACKWARD;
                trial_input(&trial, mask ? DTYPE_BOOL : trial_dtype(&trial), LAYOUT_DENSE, 2, size, mask ? 0.0 : -3.0,
                            mask ? 1.0 : 3.0);
            }
            int out = trial_output(&trial, trial_dtype(&trial), LAYOUT_DENSE, 2, size);
            trial_share(&trial, 0, out);
            trial_execute(&trial);
            trial_close(&trial);
        }
    }
}

#ifdef _OPENMP
/* Runs a call with a number of threads and returns a copy of all its outputs. */
static unsigned char *outputs_with(struct trial *trial, int threads, size_t *bytes)
{
    omp_set_num_threads(threads);
    assert_null(kernel_host_run(&trial->call));
    return trial_outputs_copy(trial, bytes);
}
#endif

/* Bit by bit; for the operations that add up and do not update. */
static void test_the_number_of_threads_changes_nothing(void **state)
{
    (void)state;
#ifdef _OPENMP
    static const struct {
        enum opcode opcode;
        int variant;
    } rows[] = {{OPCODE_SUM, 57},
                {OPCODE_SUM, 63},
                {OPCODE_SUM, 76},
                {OPCODE_LAYERNORM_BACKWARD, 9},
                {OPCODE_EMBEDDING_BACKWARD, 5},
                {OPCODE_BATCHNORM_BACKWARD, 5},
                {OPCODE_MAX_POOL_BACKWARD, 25},
                {OPCODE_ATTENTION, 3},
                {OPCODE_ATTENTION_BACKWARD, 3},
                {OPCODE_NLL_LOSS, 9},
                {OPCODE_TARGET_MASK, 9}};
    int before = omp_get_max_threads();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trial trial;
        size_t bytes;
        open_variant(&trial, rows[i].opcode, rows[i].variant);
        unsigned char *one = outputs_with(&trial, 1, &bytes);
        unsigned char *five = outputs_with(&trial, 5, &bytes);
        assert_memory_equal(one, five, bytes);
        free(one);
        free(five);
        trial_close(&trial);
    }
    omp_set_num_threads(before);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_of_form_are_refused),
        cmocka_unit_test(test_wrong_sizes_are_refused),
        cmocka_unit_test(test_wrong_ids_and_targets_are_refused),
        cmocka_unit_test(test_conversions_and_views_that_are_refused),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_the_number_of_threads_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
