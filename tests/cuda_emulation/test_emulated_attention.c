/* Attention on emulated tensor cores (cuda:1, an sm_90) against the double-precision reference, with bounds derived
 * from the roundings that the kernels are allowed; and which calls go there, told by what the form without them
 * (cuda:0, an sm_75) gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda_emulation/gpus_need.h"
#include "tests/kernels/trial_plan.h"
#include "tests/kernels/trial_site.h"

/* The one device that is open, the plug-in's calls go to the last one opened; and where trials run on it. */
static struct device *gpu;
static struct trial_site site;

static void gpu_close(void)
{
    if (gpu != NULL) {
        trial_site_close(&site);
        device_close(gpu);
    }
    gpu = NULL;
}

/* Closes what is open and opens `name`, which must be the emulated architecture: a real GPU cannot read the trials'
 * memory. */
static void gpu_use(const char *name, const char *architecture)
{
    struct status error = {0};
    struct device_properties properties;
    gpu_close();
    if (device_open(name, &gpu, &error) != STATUS_OK || gpu->table->properties(gpu, &properties, &error) != STATUS_OK ||
        trial_site_open(&site, gpu, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_string_equal(properties.name, architecture);
}

static int cores_open(void **state)
{
    (void)state;
    gpu_use("cuda:1", "emulated sm_90");
    return 0;
}

static int gpu_tear_down(void **state)
{
    (void)state;
    gpu_close();
    return 0;
}

static const enum mix mixes[] = {MIX_FLOAT16, MIX_BFLOAT16};

/* Every shape of the plans: those that fit and those that do not. */
static void plans_hold(void **state)
{
    enum opcode opcode = *(const enum opcode *)*state;
    for (size_t m = 0; m < sizeof mixes / sizeof mixes[0]; m++) {
        bool more = true;
        for (int variant = 0; more; variant++) {
            struct trial trial;
            trial_open(&trial, opcode, mixes[m], (uint64_t)(variant + 100 * (int)m));
            trial.site = &site;
            more = trial_plan_for(opcode)(&trial, variant);
            if (more) {
                trial_execute(&trial);
            }
            trial_close(&trial);
        }
    }
}

/* A call on one head of 40 rows and 30 columns that differs in one thing from what fits. */
struct choice {
    enum dtype dtype, dtype_of_v;
    int64_t width;
    enum layout layout_of_k;
    int64_t shift_of_q; /* elements that its memory begins later */
    bool fits;
};

static const struct choice choices[] = {
    {DTYPE_FLOAT16, DTYPE_FLOAT16, 24, LAYOUT_DENSE, 0, true},
    {DTYPE_BFLOAT16, DTYPE_BFLOAT16, 24, LAYOUT_DENSE, 0, true},
    {DTYPE_FLOAT16, DTYPE_FLOAT16, 128, LAYOUT_DENSE, 0, true},
    {DTYPE_BFLOAT16, DTYPE_BFLOAT16, 136, LAYOUT_DENSE, 0, true},
    {DTYPE_FLOAT16, DTYPE_FLOAT16, 256, LAYOUT_DENSE, 0, true},
    {DTYPE_FLOAT16, DTYPE_FLOAT16, 24, LAYOUT_DENSE, 8, true},
    {DTYPE_FLOAT16, DTYPE_FLOAT16, 24, LAYOUT_DENSE, 4, false},
    {DTYPE_FLOAT16, DTYPE_FLOAT16, 24, LAYOUT_GAPPED, 0, false}, /* rows of 27 elements */
    {DTYPE_FLOAT16, DTYPE_BFLOAT16, 24, LAYOUT_DENSE, 0, false},
    {DTYPE_FLOAT32, DTYPE_FLOAT32, 24, LAYOUT_DENSE, 0, false},
    {DTYPE_FLOAT16, DTYPE_FLOAT16, 20, LAYOUT_DENSE, 0, false},
    {DTYPE_BFLOAT16, DTYPE_BFLOAT16, 264, LAYOUT_DENSE, 0, false},
};

static void choice_open(struct trial *trial, const struct choice *choice)
{
    const int64_t q[4] = {1, 1, 40, choice->width}, k[4] = {1, 1, 30, choice->width}, lse[3] = {1, 1, 40};
    trial_open(trial, OPCODE_ATTENTION, MIX_FLOAT32, 11);
    trial->call.attributes.f[0] = 0.5;
    trial_input(trial, choice->dtype, LAYOUT_DENSE, 4, q, -1.5, 1.5);
    trial_input(trial, choice->dtype, choice->layout_of_k, 4, k, -1.5, 1.5);
    trial_input(trial, choice->dtype_of_v, LAYOUT_DENSE, 4, k, -1.5, 1.5);
    trial_output(trial, choice->dtype, LAYOUT_DENSE, 4, q);
    trial_output(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 3, lse);
    trial->call.tensors[0].data = (char *)trial->call.tensors[0].data + choice->shift_of_q * dtype_bytes(choice->dtype);
    for (int64_t n = 0; n < 40 * choice->width; n++) {
        trial_set(trial, 0, n, trial_real(trial, -1.5, 1.5));
    }
}

static unsigned char *outputs_of_run(const struct trial *trial, size_t *bytes)
{
    struct status error = {0};
    if (gpu->table->run(gpu, &trial->call, &error) != STATUS_OK || gpu->table->synchronize(gpu, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return trial_outputs_copy(trial, bytes);
}

/* Rounded probabilities show in many elements. Where nothing is rounded, both devices run the same code, with tiles
 * that fit the shared memory of each: sums of another order change the last bit of few. */
static bool most_agree(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    size_t differing = 0;
    for (size_t k = 0; k < bytes; k++) {
        differing += a[k] != b[k];
    }
    return differing * 50 < bytes;
}

static void what_fits_goes_to_the_cores(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof choices / sizeof choices[0]; c++) {
        struct trial trial;
        size_t bytes;
        choice_open(&trial, &choices[c]);
        gpu_use("cuda:0", "emulated sm_75");
        unsigned char *plain = outputs_of_run(&trial, &bytes);
        gpu_use("cuda:1", "emulated sm_90");
        unsigned char *cores = outputs_of_run(&trial, &bytes);
        if (most_agree(plain, cores, bytes) == choices[c].fits) {
            fail_msg("choice %zu goes the other way", c);
        }
        free(plain);
        free(cores);
        trial.site = &site;
        trial_execute(&trial);
        trial_close(&trial);
    }
}

enum { DECODING = 22 }; /* the first of two plans of it, with 8 heads to a group and many columns */

/* Each launch of a kernel takes another order of blocks and threads, forwards, backwards, shuffled, and copies arrive
 * early or late. */
static void the_order_of_threads_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        enum opcode opcode;
        int variant;
        enum mix mix;
    } runs[] = {
        {OPCODE_ATTENTION, 3, MIX_FLOAT16},
        {OPCODE_ATTENTION_BACKWARD, 3, MIX_BFLOAT16},
        {OPCODE_ATTENTION, 6, MIX_BFLOAT16},
        {OPCODE_ATTENTION_BACKWARD, 6, MIX_FLOAT16},
        {OPCODE_ATTENTION, 10, MIX_FLOAT16},
        {OPCODE_ATTENTION_BACKWARD, 10, MIX_BFLOAT16},
        {OPCODE_ATTENTION, 12, MIX_BFLOAT16},
        {OPCODE_ATTENTION_BACKWARD, 12, MIX_FLOAT16},
        {OPCODE_ATTENTION, 14, MIX_FLOAT16},
        {OPCODE_ATTENTION_BACKWARD, 14, MIX_BFLOAT16},
        {OPCODE_ATTENTION, 18, MIX_FLOAT16},
        {OPCODE_ATTENTION_BACKWARD, 18, MIX_FLOAT16},
        {OPCODE_ATTENTION, DECODING, MIX_FLOAT16},
        {OPCODE_ATTENTION, DECODING, MIX_FLOAT32},
        {OPCODE_ATTENTION, DECODING + 1, MIX_FLOAT16},
        {OPCODE_ATTENTION, DECODING + 1, MIX_FLOAT32},
        {OPCODE_ATTENTION_IN_PARTS, 2, MIX_FLOAT16},
        {OPCODE_ATTENTION_IN_PARTS, 3, MIX_BFLOAT16},
        {OPCODE_ATTENTION_IN_PARTS, 4, MIX_FLOAT16},
    };
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct trial trial;
        size_t bytes;
        trial_open(&trial, runs[i].opcode, runs[i].mix, i);
        assert_true(trial_plan_for(runs[i].opcode)(&trial, runs[i].variant));
        unsigned char *first = outputs_of_run(&trial, &bytes);
        for (int run = 1; run < 6; run++) {
            unsigned char *again = outputs_of_run(&trial, &bytes);
            assert_memory_equal(first, again, bytes);
            free(again);
        }
        free(first);
        trial_close(&trial);
    }
}

/* What the parts of a call are left with: the scratch of the trial is the device's own memory. */
static void parts_are_computed_apart(void **state)
{
    (void)state;
    enum { SUMS = 3 };
    struct trial trial;
    size_t bytes;
    trial_open(&trial, OPCODE_ATTENTION_IN_PARTS, MIX_FLOAT16, 3);
    assert_true(trial_plan_for(OPCODE_ATTENTION_IN_PARTS)(&trial, 2)); /* 5 parts of 1,300 columns, none empty */
    free(outputs_of_run(&trial, &bytes));
    const float *sums = trial.call.tensors[SUMS].data, *lse = trial.call.tensors[6].data;
    for (int head = 0; head < 4; head++) {
        double all = 0.0;
        for (int part = 0; part < 5; part++) {
            assert_true(isfinite(sums[4 * part + head]));
            all += exp((double)sums[4 * part + head]);
        }
        assert_float_equal(log(all), lse[8 * head], 1e-5);
    }
    trial_close(&trial);
}

int main(void)
{
    static enum opcode opcodes[] = {OPCODE_ATTENTION, OPCODE_ATTENTION_BACKWARD, OPCODE_ATTENTION_IN_PARTS};
    const struct CMUnitTest tests[] = {
        {"forward", plans_hold, NULL, NULL, &opcodes[0]},  {"backward", plans_hold, NULL, NULL, &opcodes[1]},
        {"in parts", plans_hold, NULL, NULL, &opcodes[2]}, cmocka_unit_test(parts_are_computed_apart),
        cmocka_unit_test(what_fits_goes_to_the_cores),     cmocka_unit_test(the_order_of_threads_changes_nothing),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, cores_open, gpu_tear_down);
}
