/* Grouped rows on both emulated GPUs: products on tensor cores (cuda:1, an sm_90) and without (cuda:0, an sm_75), which
 * calls go there, ids that are sorted by many warps, and ends that lead nowhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/conform_worker.h"
#include "tests/cuda_emulation/gpus_need.h"

static const char *const gpus[] = {"cuda:0", "cuda:1"};

static struct device *gpu_open(const char *spec)
{
    struct status error = {0};
    struct device *gpu = NULL;
    if (device_open(spec, &gpu, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return gpu;
}

static void operations_conform(void **state)
{
    (void)state;
    enum { LIMIT_S = 3600 };
    static const struct tape_calls no_calls;
    static const enum opcode opcodes[] = {OPCODE_GROUPED_MATMUL, OPCODE_SORT_IDS, OPCODE_GROUP_ENDS};
    for (size_t g = 0; g < sizeof gpus / sizeof gpus[0]; g++) {
        struct conform_worker worker;
        assert_int_equal(conform_worker_open(&worker, gpus[g], NULL), STATUS_OK);
        for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
            struct conformance conformance;
            const struct conformance_request request = {
                .opcode = opcodes[i], .plan = trial_plan_for(opcodes[i]), .calls = &no_calls, .seed = 11 + g};
            worker_conform(&worker, &request, LIMIT_S, &conformance);
            if (!conformance_is_whole(&conformance)) {
                fail_msg("%s on %s: %s", opcode_name(opcodes[i]), gpus[g], text_string(&conformance.report));
            }
            conformance_release(&conformance);
        }
        conform_worker_close(&worker);
    }
}

static unsigned char *outputs_of_run(const char *spec, const struct trial *trial, size_t *bytes)
{
    struct status error = {0};
    struct device *gpu = gpu_open(spec);
    if (gpu->table->run(gpu, &trial->call, &error) != STATUS_OK || gpu->table->synchronize(gpu, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    device_close(gpu);
    return trial_outputs_copy(trial, bytes);
}

/* A product of 40 rows in two groups, 48 terms and 24 columns that differs in one thing from what fits. */
struct choice {
    enum dtype dtype, dtype_of_b;
    int64_t terms, columns;
    bool turned; /* the terms of a column lie side by side */
    int shift;   /* elements that b begins later */
    bool fits;
};

static const struct choice choices[] = {
    {DTYPE_FLOAT16, DTYPE_FLOAT16, 48, 24, false, 0, true},   {DTYPE_BFLOAT16, DTYPE_BFLOAT16, 48, 24, true, 0, true},
    {DTYPE_FLOAT16, DTYPE_FLOAT16, 48, 21, true, 0, true},    {DTYPE_FLOAT16, DTYPE_FLOAT16, 48, 21, false, 0, false},
    {DTYPE_FLOAT16, DTYPE_FLOAT16, 44, 24, false, 0, false},  {DTYPE_FLOAT16, DTYPE_FLOAT16, 48, 24, false, 4, false},
    {DTYPE_FLOAT32, DTYPE_FLOAT32, 48, 24, false, 0, false},  {DTYPE_FLOAT16, DTYPE_BFLOAT16, 48, 24, false, 0, false},
    {DTYPE_BFLOAT16, DTYPE_BFLOAT16, 48, 24, false, 8, true},
};

static void choice_open(struct trial *trial, const struct choice *choice)
{
    enum { ROWS = 40, GROUPS = 2 };
    const struct placement rows = {.order = {2, 1, 0}}, columns = {.order = {1, 2, 0}};
    const int64_t a[] = {ROWS, choice->terms}, b[] = {GROUPS, choice->terms, choice->columns + choice->shift};
    const int64_t out[] = {ROWS, choice->columns}, groups = GROUPS;
    trial_open(trial, OPCODE_GROUPED_MATMUL, MIX_FLOAT32, 3);
    trial_input(trial, choice->dtype, LAYOUT_DENSE, 2, a, -1.0, 1.0);
    trial_input_placed(trial, choice->dtype_of_b, choice->turned ? &columns : &rows, 3, b, -1.0, 1.0);
    trial_input(trial, DTYPE_INT32, LAYOUT_DENSE, 1, &groups, 0.0, 0.0);
    trial_set(trial, 2, 0, 17.0);
    trial_set(trial, 2, 1, ROWS);
    trial_output(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 2, out);
    struct tensor *tensor = &trial->call.tensors[1];
    tensor->size[2] = choice->columns;
    tensor->data = (char *)tensor->data + choice->shift * dtype_bytes(tensor->dtype);
}

static int64_t device_bytes_after(struct device *gpu, const struct choice *choice)
{
    struct trial trial;
    struct status error = {0};
    struct device_reading reading = {0};
    choice_open(&trial, choice);
    bool done = gpu->table->run(gpu, &trial.call, &error) == STATUS_OK &&
                gpu->table->read_memory(gpu, &reading, &error) == STATUS_OK && reading.device_valid;
    trial_close(&trial);
    return done ? reading.device_bytes : -1;
}

/* Each kernel that was launched at least once takes memory of the driver: once all kernels without tensor cores have
 * been, a call that adds one goes to those with. Returns 1 if it does, 0 if not, 2 where nothing can be said. */
static int choice_goes_to_cores(const struct choice *choice)
{
    static const struct choice plain[] = {{DTYPE_FLOAT16, DTYPE_FLOAT16, 7, 5, false, 0, false},
                                          {DTYPE_BFLOAT16, DTYPE_BFLOAT16, 7, 5, false, 0, false},
                                          {DTYPE_FLOAT32, DTYPE_FLOAT32, 7, 5, false, 0, false},
                                          {DTYPE_FLOAT16, DTYPE_BFLOAT16, 7, 5, false, 0, false}};
    if (setenv("EMULATED_DRIVER", "kernel:4096", 1) != 0) {
        return 2;
    }
    struct device *gpu = gpu_open(gpus[1]);
    int64_t before = 0;
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        before = device_bytes_after(gpu, &plain[i]);
    }
    int64_t after = device_bytes_after(gpu, choice);
    device_close(gpu);
    return before < 0 || after < 0 ? 2 : after > before;
}

static void what_fits_goes_to_the_cores(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof choices / sizeof choices[0]; c++) {
        int status = 0;
        pid_t process = fork(); /* its kernels are counted anew */
        assert_true(process >= 0);
        if (process == 0) {
            _exit(choice_goes_to_cores(&choices[c]));
        }
        assert_int_equal(waitpid(process, &status, 0), process);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != choices[c].fits) {
            fail_msg("choice %zu goes the other way", c);
        }
    }
}

static void the_order_of_threads_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        enum opcode opcode;
        int variant;
        enum mix mix;
    } runs[] = {{OPCODE_GROUPED_MATMUL, 5, MIX_FLOAT16},  {OPCODE_GROUPED_MATMUL, 12, MIX_BFLOAT16},
                {OPCODE_GROUPED_MATMUL, 19, MIX_FLOAT16}, {OPCODE_GROUPED_MATMUL, 20, MIX_BFLOAT16},
                {OPCODE_GROUPED_MATMUL, 5, MIX_FLOAT32},  {OPCODE_GROUPED_MATMUL, 19, MIX_FLOAT32},
                {OPCODE_SORT_IDS, 2, MIX_FLOAT32},        {OPCODE_GROUP_ENDS, 2, MIX_FLOAT32}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct trial trial;
        size_t bytes;
        trial_open(&trial, runs[i].opcode, runs[i].mix, i);
        assert_true(trial_plan_for(runs[i].opcode)(&trial, runs[i].variant));
        unsigned char *first = outputs_of_run(gpus[1], &trial, &bytes);
        for (int run = 1; run < 5; run++) {
            unsigned char *again = outputs_of_run(gpus[1], &trial, &bytes);
            assert_memory_equal(first, again, bytes);
            free(again);
        }
        free(first);
        trial_close(&trial);
    }
}

/* Ids that are no group's, and ends that neither rise nor lie within the rows, are nobody's to report: nothing outside
 * the outputs is written. */
static void wrong_ids_and_ends_lead_nowhere(void **state)
{
    (void)state;
    enum { IDS = 300, GROUPS = 5, GUARD = 8 };
    int64_t ids[IDS], sorted[IDS + GUARD], places[IDS + GUARD];
    const int64_t written = -7;
    int64_t kept = 0, below = 0;
    struct status error = {0};
    struct operation_call call = {
        .opcode = OPCODE_SORT_IDS, .input_count = 1, .tensor_count = 3, .attributes = {.i = {GROUPS}}};
    void *const data[] = {ids, sorted, places};
    for (int t = 0; t < 3; t++) {
        call.tensors[t] =
            (struct tensor){.data = data[t], .dtype = DTYPE_INT64, .rank = 1, .size = {IDS}, .stride = {1}};
    }
    for (int64_t k = 0; k < IDS; k++) {
        ids[k] = k % 7 - 1; /* -1 and 5 are wrong */
        below += ids[k] < 0;
        kept += ids[k] >= 0 && ids[k] < GROUPS;
    }
    for (int k = 0; k < IDS + GUARD; k++) {
        sorted[k] = places[k] = written;
    }
    struct device *gpu = gpu_open(gpus[0]);
    assert_int_equal(gpu->table->run(gpu, &call, &error), STATUS_OK);
    assert_int_equal(gpu->table->synchronize(gpu, &error), STATUS_OK);
    for (int64_t k = 0; k < IDS + GUARD; k++) {
        bool inside = k >= below && k < below + kept;
        assert_true(inside ? ids[places[k]] == sorted[k] : sorted[k] == written && places[k] == written);
        assert_true(!inside || k == below || sorted[k - 1] < sorted[k] ||
                    (sorted[k - 1] == sorted[k] && places[k - 1] < places[k]));
    }
    device_close(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_goes_to_the_cores), /* before this process opens a device */
        cmocka_unit_test(operations_conform),
        cmocka_unit_test(the_order_of_threads_changes_nothing),
        cmocka_unit_test(wrong_ids_and_ends_lead_nowhere),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
