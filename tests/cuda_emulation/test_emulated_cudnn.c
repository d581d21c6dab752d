/* Convolutions through cuDNN (EMULATED_CUDNN): every shape of every pass, which engine is taken in which workspace,
 * what becomes of those that refuse. What a record tells of it is in test_emulated_cudnn_records.c; the real cuDNN has
 * its test in tests/cuda_libraries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/device.h"
#include "harness/kernels/convert.h"
#include "tests/kernels/trial_plan.h"
#include "tests/kernels/trial_site.h"

enum { SEED = 11, ELEMENTS_MOST = 400, IMAGES = 2, CHANNELS = 4, EDGE = 8, FILTERS = 4, KERNEL = 3 };

/* Image and result of 2 x 4 x 8 x 8 and a weight of 4 x 4 x 3 x 3 in 16 bits: what the emulated engine 67 wants. */
enum { LAYOUT_BYTES = (2 * IMAGES * CHANNELS * EDGE * EDGE + FILTERS * CHANNELS * KERNEL * KERNEL) * 2 + 16 + 131 };

static const enum opcode passes[] = {OPCODE_CONVOLUTION, OPCODE_CONVOLUTION_BACKWARD_INPUT,
                                     OPCODE_CONVOLUTION_BACKWARD_WEIGHT};
enum { PASSES = sizeof passes / sizeof passes[0] };

static struct device *gpu_open(const char *spec, const char *cudnn)
{
    struct status error = {0};
    struct device *device = NULL;
    assert_int_equal(cudnn != NULL ? setenv("EMULATED_CUDNN", cudnn, 1) : unsetenv("EMULATED_CUDNN"), 0);
    if (device_open(spec, &device, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return device;
}

static void gpu_close(struct device *device)
{
    device_close(device);
    unsetenv("EMULATED_CUDNN");
}

static struct device_convolutions told_by(const struct device *device)
{
    struct device_convolutions told = {0};
    device->table->convolutions(device, &told);
    return told;
}

/* ---- every shape ---- */

static int64_t elements_most(const struct trial *trial)
{
    int64_t most = 0;
    for (int t = 0; t < trial->call.tensor_count; t++) {
        int64_t count = trial->scratch[t] ? 0 : tensor_element_count(&trial->call.tensors[t]);
        most = count > most ? count : most;
    }
    return most;
}

/* False: the plan has no such variant. */
static bool variant_try(const struct trial_site *site, enum opcode opcode, int mix, int variant)
{
    struct trial trial;
    struct trial_outcome outcome = {.fault = ""};
    trial_open(&trial, opcode, (enum mix)mix, SEED + (uint64_t)(mix * 1000 + variant));
    trial.site = site;
    trial.unaligned = (mix + variant) % 3 == 2;
    bool more = trial_plan_for(opcode)(&trial, variant);
    if (more && elements_most(&trial) <= ELEMENTS_MOST) {
        trial_measure(&trial, &outcome);
    }
    if (outcome.fault[0] != '\0') {
        fail_msg("%s, variant %d, dtypes %d: %s", opcode_name(opcode), variant, mix, outcome.fault);
    }
    trial_close(&trial);
    return more;
}

/* Some are cuDNN's and some are not, whichever engines refuse; all are right. */
static void every_shape_is_right(void **state)
{
    static const char *const words[] = {"9.19.0", "9.19.0,unsupported:2,fails:3", "9.1.0,bare", "9.8.0,unsupported:1"};
    (void)state;
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        struct trial_site site;
        struct device *device = gpu_open("cuda:1", words[w]);
        assert_int_equal(trial_site_open(&site, device, NULL), STATUS_OK);
        for (int p = 0; p < PASSES; p++) {
            for (int mix = 0; mix < MIX_COUNT; mix++) {
                for (int variant = 0; variant_try(&site, passes[p], mix, variant);) {
                    variant++;
                }
            }
        }
        struct device_convolutions told = told_by(device);
        assert_true(told.own_call_count > 0);
        assert_int_equal(told.library_call_count > 0, strstr(words[w], "unsupported:1") == NULL);
        trial_site_close(&site);
        gpu_close(device);
    }
}

/* ---- one convolution ---- */

enum {
    MEMORY_BYTES = 1 << 20,
    AT_IMAGE = 0,
    AT_WEIGHT = 1 << 16,
    AT_RESULT = 2 << 16,
    AT_BIAS = 3 << 16,
    AT_WORKSPACE = 4 << 16
};

struct bench {
    struct device *device;
    unsigned char *segment, host[MEMORY_BYTES];
    enum dtype dtype;
    int64_t tf32, skew; /* how far from its place the image lies */
    bool biased;
};

static void bench_open(struct bench *bench, const char *spec, const char *cudnn)
{
    void *segment = NULL;
    *bench = (struct bench){.dtype = DTYPE_BFLOAT16};
    bench->device = gpu_open(spec, cudnn);
    assert_int_equal(bench->device->table->segment_alloc(bench->device, MEMORY_BYTES, &segment, NULL), STATUS_OK);
    bench->segment = segment;
}

static void bench_close(struct bench *bench)
{
    assert_int_equal(bench->device->table->segment_free(bench->device, bench->segment, MEMORY_BYTES, NULL), STATUS_OK);
    gpu_close(bench->device);
}

static struct tensor tensor_at(const struct bench *bench, int64_t offset, int64_t n, int64_t c, int64_t h, int64_t w)
{
    return (struct tensor){.data = bench->segment + offset,
                           .dtype = bench->dtype,
                           .rank = 4,
                           .size = {n, c, h, w},
                           .stride = {c * h * w, h * w, w, 1}};
}

/* 3 x 3, stride 1, padding 1. workspace_bytes -1: the call has none. */
static enum status_code convolve(struct bench *bench, enum opcode opcode, int64_t workspace_bytes)
{
    const struct tensor image = tensor_at(bench, AT_IMAGE + bench->skew, IMAGES, CHANNELS, EDGE, EDGE);
    const struct tensor weight = tensor_at(bench, AT_WEIGHT, FILTERS, CHANNELS, KERNEL, KERNEL);
    const struct tensor result = tensor_at(bench, AT_RESULT, IMAGES, FILTERS, EDGE, EDGE);
    const struct tensor workspace = {.data = bench->segment + AT_WORKSPACE,
                                     .dtype = DTYPE_BOOL,
                                     .rank = 1,
                                     .size = {workspace_bytes},
                                     .stride = {1}};
    bool forward = opcode == OPCODE_CONVOLUTION, to_image = opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT;
    struct operation_call call = {.opcode = opcode, .attributes = {.i = {1, 1, bench->tf32}}};
    call.tensors[call.input_count++] = forward ? image : result;
    call.tensors[call.input_count++] = forward || to_image ? weight : image;
    if (forward && bench->biased) {
        call.tensors[call.input_count++] = (struct tensor){
            .data = bench->segment + AT_BIAS, .dtype = bench->dtype, .rank = 1, .size = {FILTERS}, .stride = {1}};
    }
    if (workspace_bytes >= 0) {
        call.tensors[call.input_count++] = workspace;
    }
    call.tensors[call.input_count] = forward ? result : to_image ? image : weight;
    call.tensor_count = call.input_count + 1;
    for (int64_t i = 0; i < AT_WORKSPACE / 2; i++) { /* multiples of 1/8 up to 1: sums are exact in float32 */
        int64_t value = bench->dtype == DTYPE_FLOAT32 ? i / 2 : i;
        if (bench->dtype != DTYPE_FLOAT32 || i % 2 == 0) {
            float_store(bench->host + bench->skew, bench->dtype, value, (float)(value * 7 % 17 - 8) / 8.0f);
        }
    }
    const struct device_table *table = bench->device->table;
    assert_int_equal(table->copy_from_host(bench->device, bench->segment, bench->host, MEMORY_BYTES, NULL), STATUS_OK);
    enum status_code code = table->run(bench->device, &call, NULL);
    assert_int_equal(table->copy_to_host(bench->device, bench->host, bench->segment, MEMORY_BYTES, NULL), STATUS_OK);
    return code;
}

/* The last form that the device met. */
static struct device_convolution form_last(const struct bench *bench)
{
    struct device_convolutions told = told_by(bench->device);
    assert_true(told.form_count > 0);
    return told.forms[told.form_count - 1];
}

/* The engine that PyTorch would take where it fits, what needs no memory where it does not, else our own kernels. */
static void the_workspace_chooses_the_engine(void **state)
{
    static const struct {
        const char *cudnn;
        int64_t workspace_bytes, engine, wanted_bytes;
    } rows[] = {{"9.19.0", 65536, 67, LAYOUT_BYTES},
                {"9.19.0", LAYOUT_BYTES, 67, LAYOUT_BYTES},
                {"9.19.0", LAYOUT_BYTES - 512, 1, 0},
                {"9.19.0", 0, 1, 0},
                {"9.19.0", -1, 1, 0},
                {"9.1.0,bare", LAYOUT_BYTES, 67, LAYOUT_BYTES},
                {"9.1.0,bare", LAYOUT_BYTES - 512, -1, 0},
                {"9.2.0,bare", LAYOUT_BYTES - 512, -1, 0},
                {"9.19.0,plain", LAYOUT_BYTES, 67, LAYOUT_BYTES},
                {"9.19.0,plain", LAYOUT_BYTES - 512, -1, 0},
                {"9.19.0,unsupported:1", 65536, -1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int p = 0; p < PASSES; p++) {
            static struct bench bench;
            bench_open(&bench, "cuda:1", rows[i].cudnn);
            assert_int_equal(convolve(&bench, passes[p], rows[i].workspace_bytes), STATUS_OK);
            struct device_convolutions told = told_by(bench.device);
            struct device_convolution form = form_last(&bench);
            assert_int_equal(form.engine, rows[i].engine);
            assert_int_equal(form.workspace_bytes, rows[i].wanted_bytes);
            bool ready = strstr(rows[i].cudnn, "unsupported:1") == NULL;
            assert_int_equal(form.first_engine, ready ? 67 : -1);
            assert_int_equal(form.first_workspace_bytes, ready ? LAYOUT_BYTES : 0);
            assert_int_equal(form.given_bytes, rows[i].workspace_bytes > 0 ? rows[i].workspace_bytes : 0);
            assert_int_equal(form.opcode, passes[p]);
            assert_int_equal(told.library_call_count, rows[i].engine >= 0 ? 1 : 0);
            assert_int_equal(told.own_call_count, rows[i].engine >= 0 ? 0 : 1);
            bench_close(&bench);
        }
    }
}

/* What the tape's rule is a few bytes short of lies in the block that it comes in: LAYOUT_BYTES are 2,483, and their
 * block 2,560. */
static void a_block_is_used_to_its_end(void **state)
{
    static struct bench bench;
    (void)state;
    bench_open(&bench, "cuda:1", "9.19.0");
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 2049), STATUS_OK);
    assert_int_equal(form_last(&bench).engine, 67);
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 2048), STATUS_OK);
    assert_int_equal(form_last(&bench).engine, 1);
    bench_close(&bench);
}

/* Bytes of the result with and without cuDNN; what it is asked for is exact, so they are the same. */
static void results_are_those_of_our_own_kernels(void **state)
{
    static struct bench own, theirs;
    (void)state;
    for (int p = 0; p < PASSES; p++) {
        for (int biased = 0; biased < 2; biased++) {
            bench_open(&own, "cuda:1", NULL);
            own.biased = biased != 0;
            own.dtype = DTYPE_FLOAT32;
            own.tf32 = 1;
            assert_int_equal(convolve(&own, passes[p], 65536), STATUS_OK);
            assert_int_equal(told_by(own.device).own_call_count, 1);
            bench_close(&own);
            bench_open(&theirs, "cuda:1", "9.19.0");
            theirs.biased = biased != 0;
            theirs.dtype = DTYPE_FLOAT32;
            theirs.tf32 = 1;
            assert_int_equal(convolve(&theirs, passes[p], 65536), STATUS_OK);
            assert_int_equal(told_by(theirs.device).library_call_count, 1);
            bench_close(&theirs);
            assert_memory_equal(own.host, theirs.host, AT_WORKSPACE);
        }
    }
}

/* Strict float32 and an image that lies beside the places of vectors are our own kernels'; where there is no cuDNN the
 * device says why. */
static void what_does_not_suit_is_our_own(void **state)
{
    static struct bench bench;
    (void)state;
    bench_open(&bench, "cuda:1", "9.19.0");
    bench.dtype = DTYPE_FLOAT32;
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 65536), STATUS_OK);
    bench.dtype = DTYPE_BFLOAT16;
    bench.skew = 2;
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 65536), STATUS_OK);
    struct device_convolutions told = told_by(bench.device);
    assert_int_equal(told.own_call_count, 2);
    assert_int_equal(told.form_count, 0);
    assert_string_equal(told.library, ""); /* nothing asked for it */
    bench.skew = 0;
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 65536), STATUS_OK);
    assert_string_equal(told_by(bench.device).library, "cuDNN 9.19.0");
    bench_close(&bench);

    bench_open(&bench, "cuda:1", NULL);
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 65536), STATUS_OK);
    told = told_by(bench.device);
    assert_int_equal(told.own_call_count, 1);
    assert_string_equal(told.library, "");
    assert_non_null(strstr(told.note, "libcudnn_graph.so.9"));
    bench_close(&bench);
}

/* A release that is not 9, and one whose cublasLt is missing, which would end the process: refused before anything is
 * asked, and the note says it whole. */
static void what_would_end_the_process_is_refused(void **state)
{
    static struct bench bench;
    static const struct {
        const char *cudnn, *first, *last;
    } rows[] = {{"8.9.7", "libcudnn_graph.so.9 is not", ".../nvidia/cudnn/lib"},
                {"9.19.0,lone", "cuDNN 9.19.0 is for CUDA 12, and libcublasLt.so.12 is not", "of this plug-in's CUDA"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench_open(&bench, "cuda:1", rows[i].cudnn);
        assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 65536), STATUS_OK);
        struct device_convolutions told = told_by(bench.device);
        assert_string_equal(told.library, "");
        assert_ptr_equal(strstr(told.note, rows[i].first), told.note);
        assert_string_equal(told.note + strlen(told.note) - strlen(rows[i].last), rows[i].last);
        bench_close(&bench);
    }
}

static void who_leaves_it_out_has_our_own_kernels(void **state)
{
    static struct bench bench;
    (void)state;
    assert_int_equal(setenv("ASSAY_CUDNN", "no", 1), 0);
    bench_open(&bench, "cuda:1", "9.19.0");
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 65536), STATUS_OK);
    unsetenv("ASSAY_CUDNN");
    assert_int_equal(told_by(bench.device).own_call_count, 1);
    assert_string_equal(told_by(bench.device).note, "left out by ASSAY_CUDNN=no");
    bench_close(&bench);
}

/* An engine that fails as it runs is asked no more. */
static void an_engine_that_fails_is_given_up(void **state)
{
    static struct bench bench;
    (void)state;
    bench_open(&bench, "cuda:1", "9.19.0,fails:1");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 65536), STATUS_OK);
    }
    assert_int_equal(form_last(&bench).engine, -1);
    assert_int_equal(form_last(&bench).first_engine, 67);
    assert_int_equal(form_last(&bench).call_count, 3);
    assert_string_equal(form_last(&bench).refusal, "CUDNN_STATUS_EXECUTION_FAILED");
    assert_int_equal(told_by(bench.device).form_count, 1);
    struct device_reading reading = {0};
    assert_int_equal(bench.device->table->read_memory(bench.device, &reading, NULL), STATUS_OK);
    assert_string_equal(reading.declined[0].library, "cuDNN");
    assert_string_equal(reading.declined[0].status, "CUDNN_STATUS_EXECUTION_FAILED");
    assert_int_equal(reading.declined[0].count, 3);
    assert_int_equal(told_by(bench.device).own_call_count, 3);
    assert_int_equal(setenv("EMULATED_CUDNN", "9.19.0", 1), 0);
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 65536), STATUS_OK);
    assert_int_equal(told_by(bench.device).own_call_count, 4);
    bench_close(&bench);
}

/* The next one that fits computes, for good; a form that was never refused says so. */
static void the_next_engine_takes_over(void **state)
{
    static struct bench bench;
    (void)state;
    bench_open(&bench, "cuda:1", "9.19.0,broken:67");
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 65536), STATUS_OK);
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 65536), STATUS_OK);
    assert_int_equal(form_last(&bench).engine, 1);
    assert_int_equal(form_last(&bench).workspace_bytes, 0);
    assert_int_equal(form_last(&bench).first_engine, 67);
    assert_string_equal(form_last(&bench).refusal, "CUDNN_STATUS_EXECUTION_FAILED");
    assert_int_equal(told_by(bench.device).library_call_count, 2);
    struct device_reading reading = {0};
    assert_int_equal(bench.device->table->read_memory(bench.device, &reading, NULL), STATUS_OK);
    assert_int_equal(reading.declined[0].count, 0);
    bench_close(&bench);
    bench_open(&bench, "cuda:1", "9.19.0");
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 65536), STATUS_OK);
    assert_string_equal(form_last(&bench).refusal, "");
    bench_close(&bench);
}

/* Before sm_80 the tape's workspaces are not cuDNN's. */
static void an_older_gpu_has_our_own_kernels(void **state)
{
    static struct bench bench;
    (void)state;
    bench_open(&bench, "cuda:0", "9.19.0");
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION, 65536), STATUS_OK);
    assert_int_equal(told_by(bench.device).own_call_count, 1);
    assert_int_equal(told_by(bench.device).form_count, 0);
    bench_close(&bench);
}

/* Each GPU has a handle of its own, which no other one's convolutions go through. */
static void two_gpus_have_two_handles(void **state)
{
    static struct bench first, second;
    (void)state;
    bench_open(&first, "cuda:2", "9.19.0");
    bench_open(&second, "cuda:1", "9.19.0");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(convolve(&first, OPCODE_CONVOLUTION, 65536), STATUS_OK);
        assert_int_equal(convolve(&second, OPCODE_CONVOLUTION, 65536), STATUS_OK);
    }
    assert_int_equal(told_by(first.device).library_call_count, 2);
    assert_int_equal(told_by(second.device).library_call_count, 2);
    bench_close(&first);
    bench_close(&second);
}

/* More forms than are kept: those that were dropped are looked for again. */
static void many_forms_go_round(void **state)
{
    enum { FORMS = 600 };
    static struct bench bench;
    (void)state;
    bench_open(&bench, "cuda:1", "9.19.0");
    for (int i = 0; i < FORMS; i++) {
        assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION_BACKWARD_WEIGHT, i), STATUS_OK);
    }
    assert_int_equal(convolve(&bench, OPCODE_CONVOLUTION_BACKWARD_WEIGHT, 0), STATUS_OK);
    struct device_convolutions told = told_by(bench.device);
    assert_int_equal(told.library_call_count, FORMS + 1);
    assert_in_range(told.form_count, 1, FORMS - 1);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_workspace_chooses_the_engine),
        cmocka_unit_test(a_block_is_used_to_its_end),
        cmocka_unit_test(results_are_those_of_our_own_kernels),
        cmocka_unit_test(what_does_not_suit_is_our_own),
        cmocka_unit_test(what_would_end_the_process_is_refused),
        cmocka_unit_test(who_leaves_it_out_has_our_own_kernels),
        cmocka_unit_test(an_engine_that_fails_is_given_up),
        cmocka_unit_test(the_next_engine_takes_over),
        cmocka_unit_test(an_older_gpu_has_our_own_kernels),
        cmocka_unit_test(two_gpus_have_two_handles),
        cmocka_unit_test(many_forms_go_round),
        cmocka_unit_test(every_shape_is_right),
    };
    setenv("EMULATED_GPUS", "3", 1); /* sm_75, sm_90, sm_80 */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
