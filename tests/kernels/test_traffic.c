/* What the kernels move, counted from their loops, stays what it is: a kernel that begins to read its operands once
 * more, or that leaves more of a GPU idle, is seen here without a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/bench/model_case.h"

/* Of a case of model_case.c, on an H100: bytes moved for each byte needed, and how many of its 132 processors have work
 * while the longest launch runs. */
struct held {
    const char *what;
    enum dtype dtype;
    double moved, processors;
};

#define F32 DTYPE_FLOAT32
#define B16 DTYPE_BFLOAT16

static const struct held helds[] = {
    {"ADD, 8192 x 1024", F32, 1.0, 132},
    {"COPY, transposed, 8192 x 1024", F32, 1.0, 132},
    {"SOFTMAX, 8192 x 1024", F32, 1.0, 132},
    {"SOFTMAX, 2048 x 128256", B16, 1.44, 132},
    {"SUM, gradient of a bias, 8192 x 1024", F32, 1.0, 128},
    {"SUM, to one number, 8192 x 1024", F32, 1.0, 1},
    {"SUM, to one number, 8192 x 1024, in 2 KiB", F32, 1.0, 132},
    {"SUM, gradient of a bias, 65536 x 64", F32, 1.0, 8},
    {"SUM, gradient of a bias, 65536 x 64, in 1 MiB", F32, 1.0, 132},
    {"TOP_K, 8 of 1024, 8192 rows", F32, 1.55, 132},
    {"TOP_K, 50 of 128256, one row", F32, 1.10, 1},
    {"TOP_K, 50 of 128256, one row, in 63 KiB", F32, 1.72, 1},
    {"ARGMAX of 128256, one row", F32, 1.0, 1},
    {"ARGMAX of 151936, one row", F32, 1.0, 1},
    {"ARGMAX of 151936, one row, in 304 bytes", F32, 1.0, 38},
    {"ATTENTION, 4 x 12 x 512 x 512 x 64", F32, 4.49, 132},
    {"ATTENTION, 4 x 12 x 512 x 512 x 64", B16, 2.5, 132},
    {"ATTENTION_BACKWARD, the same", F32, 7.13, 132},
    {"ATTENTION_BACKWARD, the same", B16, 5.26, 132},
    {"ATTENTION, 1 x 32/8 x 2048 x 2048 x 128", B16, 26.2, 132},
    {"ATTENTION, decoding 1 x 32/8 x 8192 x 128", B16, 1.0, 8},
    {"ATTENTION, decoding 1 x 32/8 x 8192 x 128", F32, 1.0, 8},
    {"ATTENTION_IN_PARTS, decoding 1 x 32/8 x 8192 x 128", B16, 1.04, 132},
    {"ATTENTION_BIAS_GRADIENT, 4 x 12 x 512 x 512 x 64", F32, 1.71, 132},
    {"GROUPED_MATMUL, 4096 x 2048 x 1024, 64 groups", B16, 1.43, 132},
    {"SORT_IDS, 65536 of 64 groups", DTYPE_INT64, 13.3, 16},
    {"CONVOLUTION, 32 x 128 x 28 x 28, 128 of 3 x 3", F32, 18.7, 125},
    {"CONVOLUTION, 32 x 128 x 28 x 28, 128 of 3 x 3", B16, 18.7, 132},
    {"CONVOLUTION_BACKWARD_INPUT, the same", F32, 18.7, 132},
    {"CONVOLUTION_BACKWARD_WEIGHT, the same", F32, 19.0, 132},
    {"CONVOLUTION_BACKWARD_WEIGHT, the same", B16, 20.4, 132},
    {"GROUPED_CONVOLUTION, 32 x 96 x 56 x 56, each of 7 x 7", F32, 1.01, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 96 x 56 x 56, each of 7 x 7", F32, 1.01, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 96 x 56 x 56, each of 7 x 7", F32, 1.00, 96},
    {"GROUPED_CONVOLUTION, 32 x 96 x 56 x 56, each of 7 x 7", B16, 1.01, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 96 x 56 x 56, each of 7 x 7", B16, 1.01, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 96 x 56 x 56, each of 7 x 7", B16, 1.00, 96},
    {"GROUPED_CONVOLUTION, 32 x 96 x 56 x 56, each of 7 x 7, channels last", F32, 2.25, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 96 x 56 x 56, each of 7 x 7, channels last", F32, 2.25, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 96 x 56 x 56, each of 7 x 7, channels last", F32, 8.62, 84},
    {"GROUPED_CONVOLUTION, 32 x 32 x 112 x 112, each of 3 x 3", F32, 1.03, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 32 x 112 x 112, each of 3 x 3", F32, 1.03, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 32 x 112 x 112, each of 3 x 3", F32, 3.43, 96},
    {"GROUPED_CONVOLUTION, 32 x 960 x 7 x 7, each of 3 x 3", F32, 1.09, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 960 x 7 x 7, each of 3 x 3", F32, 1.09, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 960 x 7 x 7, each of 3 x 3", F32, 1.02, 132},
    {"GROUPED_CONVOLUTION, 32 x 128 x 56 x 56, 32 groups of 3 x 3", F32, 1.03, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 128 x 56 x 56, 32 groups of 3 x 3", F32, 1.03, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 128 x 56 x 56, 32 groups of 3 x 3", F32, 2.52, 128},
    {"GROUPED_CONVOLUTION, 32 x 128 x 56 x 56, 32 groups of 3 x 3", B16, 1.03, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 128 x 56 x 56, 32 groups of 3 x 3", B16, 1.03, 132},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 128 x 56 x 56, 32 groups of 3 x 3", B16, 2.52, 128},
    {"BATCHNORM, 32 x 64 x 112 x 112", F32, 1.50, 132},
    {"BATCHNORM_BACKWARD, 32 x 64 x 112 x 112", F32, 1.67, 132},
    {"BATCHNORM, 32 x 256 x 56 x 56", F32, 1.50, 132},
    {"BATCHNORM_BACKWARD, 32 x 256 x 56 x 56", F32, 1.67, 132},
    {"BATCHNORM, 32 x 512 x 28 x 28", F32, 1.00, 132},
    {"BATCHNORM_BACKWARD, 32 x 512 x 28 x 28", F32, 1.67, 132},
    {"BATCHNORM, 32 x 1024 x 14 x 14", F32, 1.00, 132},
    {"BATCHNORM_BACKWARD, 32 x 1024 x 14 x 14", F32, 1.00, 132},
};

static const struct held *held_of(const struct model_case *model)
{
    const struct held *found = NULL;
    for (size_t i = 0; i < sizeof helds / sizeof helds[0]; i++) {
        if (helds[i].dtype == model->dtype && strcmp(helds[i].what, model->what) == 0) {
            found = &helds[i];
        }
    }
    return found;
}

static void test_no_kernel_moves_more_than_it_did(void **state)
{
    (void)state;
    const struct model_device *device = model_device_find("sm_90");
    for (int i = 0; i < model_case_count; i++) {
        const struct held *held = held_of(&model_cases[i]);
        struct traffic traffic;
        if (held == NULL) {
            fail_msg("%s %s: write its figures into the table above", model_cases[i].what,
                     dtype_name(model_cases[i].dtype));
            return;
        }
        model_traffic(&model_cases[i], device, &traffic);
        double moved = model_moved_bytes(&traffic) / traffic.needed_bytes,
               processors = model_processors(device, &traffic);
        if (moved > held->moved * 1.01 || processors < held->processors * 0.98) {
            fail_msg("%s %s: moves %.2f bytes for each that it needs on %.0f processors, and not %.2f on %.0f",
                     held->what, dtype_name(held->dtype), moved, processors, held->moved, held->processors);
        }
        if (moved < held->moved * 0.95 || processors > held->processors * 1.02) {
            fail_msg("%s %s is better than its row says: moved %.2f, on %.0f processors; write that into the table",
                     held->what, dtype_name(held->dtype), moved, processors);
        }
    }
}

static void test_no_call_moves_less_than_it_needs(void **state)
{
    (void)state;
    for (int d = 0; d < model_device_count; d++) {
        for (int i = 0; i < model_case_count; i++) {
            struct traffic traffic;
            enum model_bound bound;
            model_traffic(&model_cases[i], &model_devices[d], &traffic);
            double least = model_least_seconds(&model_devices[d], &traffic);
            if (model_moved_bytes(&traffic) < 0.97 * traffic.needed_bytes ||
                model_seconds(&model_devices[d], &traffic, &bound) < 0.97 * least || traffic.count == 0) {
                fail_msg("%s %s on %s: less than the least; its row counts too little", model_cases[i].what,
                         dtype_name(model_cases[i].dtype), model_devices[d].architecture);
            }
        }
    }
}

static void test_a_request_moves_the_sectors_that_it_touches(void **state)
{
    (void)state;
    assert_true(request_bytes(32, 4, 4) == 128);    /* neighbouring floats: 4 sectors */
    assert_true(request_bytes(32, 16, 16) == 512);  /* neighbouring 16 bytes */
    assert_true(request_bytes(32, 2, 2) == 64);     /* neighbouring halves */
    assert_true(request_bytes(32, 256, 4) == 1024); /* a float of each of 32 far rows */
    assert_true(request_bytes(32, 0, 4) == 32);     /* one float for all */
    assert_true(request_bytes(16, 8, 4) == 128);    /* every other float */
    assert_true(request_bytes(2, 64, 64) == 128);
}

static void test_every_device_has_its_peaks_and_their_source(void **state)
{
    (void)state;
    assert_null(model_device_find("sm_70"));
    for (int d = 0; d < model_device_count; d++) {
        const struct model_device *device = &model_devices[d];
        double lanes = device->float_operations / 2 / device->clock_hz / device->processors;
        assert_ptr_equal(model_device_find(device->architecture), device);
        assert_true(strlen(device->source) > 0);
        /* Processors have 64 or 128 lanes for float32: figures that contradict each other are of different products. */
        assert_true((lanes > 60 && lanes < 68) || (lanes > 120 && lanes < 136));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_kernel_moves_more_than_it_did),
        cmocka_unit_test(test_no_call_moves_less_than_it_needs),
        cmocka_unit_test(test_a_request_moves_the_sectors_that_it_touches),
        cmocka_unit_test(test_every_device_has_its_peaks_and_their_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
