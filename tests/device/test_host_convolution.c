/* The three convolutions on the host against a double-precision reference: kernels, strides, paddings, dtypes, and sizes
 * beyond what one block of pixels, filters or channels holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/device/device.h"
#include "tests/device/product_reference.h"

/* tests/cuda_emulation runs the same on another device. */
#ifndef PRODUCT_DEVICE
#define PRODUCT_DEVICE "host"
#endif

static const enum dtype floating[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};
static const enum opcode opcodes[] = {OPCODE_CONVOLUTION, OPCODE_CONVOLUTION_BACKWARD_INPUT,
                                      OPCODE_CONVOLUTION_BACKWARD_WEIGHT};

enum { MIB = 1 << 20 };

static int device_set_up(void **state)
{
    return product_device_open(PRODUCT_DEVICE, state);
}

struct geometry {
    int64_t images, channels, height, width, filters, kernel, stride, padding;
};

/* dtypes: of image, weight, result, in this order, whatever their roles. workspace_bytes 0: no workspace. */
static void convolution_check(struct device *device, enum opcode opcode, const struct geometry *geometry,
                              const enum dtype dtypes[3], bool has_bias, int64_t workspace_bytes, uint64_t *seed)
{
    struct status error = {0};
    char label[128];
    const struct geometry *g = geometry;
    const int64_t image_size[4] = {g->images, g->channels, g->height, g->width};
    const int64_t weight_size[4] = {g->filters, g->channels, g->kernel, g->kernel};
    const int64_t result_size[4] = {g->images, g->filters, (g->height + 2 * g->padding - g->kernel) / g->stride + 1,
                                    (g->width + 2 * g->padding - g->kernel) / g->stride + 1};
    struct test_tensor image = test_tensor_dense(dtypes[0], 4, image_size, seed);
    struct test_tensor weight = test_tensor_dense(dtypes[1], 4, weight_size, seed);
    struct test_tensor result = test_tensor_dense(dtypes[2], 4, result_size, seed);
    struct test_tensor bias = test_tensor_dense(dtypes[1], 1, &g->filters, seed);
    struct operation_call call = {.opcode = opcode,
                                  .input_count = 2,
                                  .tensor_count = 3,
                                  .tensors = {result.tensor, weight.tensor, image.tensor},
                                  .attributes = {.i = {g->stride, g->padding}}};
    struct test_tensor *out = &image;
    int64_t terms = g->filters * g->kernel * g->kernel;
    if (opcode == OPCODE_CONVOLUTION) {
        call.tensors[0] = image.tensor;
        call.tensors[2] = has_bias ? bias.tensor : result.tensor;
        call.tensors[3] = result.tensor;
        call.input_count += has_bias;
        call.tensor_count += has_bias;
        out = &result;
        terms = g->channels * g->kernel * g->kernel;
    } else if (opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT) {
        call.tensors[1] = image.tensor;
        call.tensors[2] = weight.tensor;
        out = &weight;
        terms = g->images * result_size[2] * result_size[3];
    }
    snprintf(label, sizeof label, "%s images %d channels %d %dx%d filters %d kernel %d stride %d padding %d",
             opcode_name(opcode), (int)g->images, (int)g->channels, (int)g->height, (int)g->width, (int)g->filters,
             (int)g->kernel, (int)g->stride, (int)g->padding);
    struct test_workspace workspace = test_workspace_new(workspace_bytes);
    if (workspace_bytes > 0) {
        call_input_insert(&call, &workspace.tensor);
    }
    if (device->table->run(device, &call, &error) != STATUS_OK) {
        fail_msg("%s: %s", label, error.text);
    }
    test_workspace_release(&workspace, label);
    double *expected = convolution_reference(&call);
    test_tensor_expect(out, expected, terms, label);
    free(expected);
    test_tensor_release(&image);
    test_tensor_release(&weight);
    test_tensor_release(&result);
    test_tensor_release(&bias);
}

static void small_convolutions_of_every_geometry_are_right(void **state)
{
    static const int64_t kernels[] = {1, 1, 2, 3, 3, 5, 7};
    uint64_t seed = 1;
    for (int i = 0; i < 300; i++) {
        struct geometry geometry = {.images = 1 + random_below(&seed, 4),
                                    .channels = 1 + random_below(&seed, 5),
                                    .filters = 1 + random_below(&seed, 6),
                                    .kernel = kernels[random_below(&seed, 7)],
                                    .stride = 1 + random_below(&seed, 3)};
        geometry.padding = random_below(&seed, geometry.kernel + 1);
        geometry.height = geometry.kernel + random_below(&seed, 9);
        geometry.width = geometry.kernel + random_below(&seed, 12);
        const enum dtype dtypes[3] = {floating[random_below(&seed, 3)], floating[random_below(&seed, 3)],
                                      floating[random_below(&seed, 3)]};
        /* None; so little that pixels, channels and filters are cut, or do not fit; enough. */
        const int64_t workspaces[] = {0, MIB + random_below(&seed, 300), MIB + random_below(&seed, 9000), 2 * MIB};
        convolution_check(*state, opcodes[i % 3], &geometry, dtypes, i % 2 == 0, workspaces[i / 3 % 4], &seed);
    }
}

/* Each row is beyond one block in another way. */
static void convolutions_beyond_one_block_are_right(void **state)
{
    static const struct geometry rows[] = {
        {.images = 1, .channels = 2, .height = 40, .width = 37, .filters = 3, .kernel = 3, .stride = 1, .padding = 1},
        {.images = 21, .channels = 3, .height = 7, .width = 7, .filters = 5, .kernel = 3, .stride = 1, .padding = 1},
        {.images = 2, .channels = 600, .height = 3, .width = 4, .filters = 2, .kernel = 1, .stride = 1},
        {.images = 2, .channels = 2, .height = 3, .width = 4, .filters = 1100, .kernel = 1, .stride = 1},
        {.images = 1, .channels = 70, .height = 9, .width = 9, .filters = 4, .kernel = 3, .stride = 2, .padding = 1},
        {.images = 1, .channels = 1, .height = 5, .width = 1500, .filters = 2, .kernel = 3, .stride = 1, .padding = 1},
        {.images = 1, .channels = 2, .height = 190, .width = 170, .filters = 1, .kernel = 3, .stride = 2, .padding = 1},
        {.images = 3, .channels = 2, .height = 26, .width = 25, .filters = 2, .kernel = 24, .stride = 1, .padding = 2},
    };
    uint64_t seed = 2;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        for (int variant = 0; variant < 6; variant++) {
            const enum dtype dtypes[3] = {floating[variant / 3 * 2], floating[variant / 3], floating[variant / 3]};
            convolution_check(*state, opcodes[variant % 3], &rows[row], dtypes, false, MIB + 150000, &seed);
        }
    }
}

/* One image whose single channel is cut into bands of rows, whose edges two bands meet. */
static void an_image_larger_than_scratch_is_right(void **state)
{
    static const struct geometry wide = {
        .images = 1, .channels = 1, .height = 530, .width = 520, .filters = 1, .kernel = 3, .stride = 1, .padding = 1};
    uint64_t seed = 3;
    for (int variant = 0; variant < 6; variant++) {
        const enum dtype dtypes[3] = {floating[variant / 3], floating[variant / 3], floating[variant / 3]};
        convolution_check(*state, opcodes[variant % 3], &wide, dtypes, false, 2 * MIB, &seed);
    }
}

static void empty_convolutions_do_nothing_or_give_zero(void **state)
{
    static const struct geometry rows[] = {
        {.images = 0, .channels = 2, .height = 4, .width = 4, .filters = 3, .kernel = 3, .stride = 1, .padding = 1},
        {.images = 2, .channels = 0, .height = 4, .width = 4, .filters = 3, .kernel = 3, .stride = 1, .padding = 1},
        {.images = 2, .channels = 2, .height = 4, .width = 4, .filters = 0, .kernel = 3, .stride = 1, .padding = 1},
    };
    uint64_t seed = 4;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        for (int variant = 0; variant < 6; variant++) {
            const enum dtype dtypes[3] = {floating[variant / 3], floating[variant / 3], floating[variant / 3]};
            convolution_check(*state, opcodes[variant % 3], &rows[row], dtypes, true, variant / 3 * 2 * MIB, &seed);
        }
    }
}

static void a_geometry_that_does_not_fit_is_refused(void **state)
{
    struct device *device = *state;
    struct status error = {0};
    uint64_t seed = 5;
    const int64_t image_size[4] = {1, 2, 4, 4};
    const int64_t weight_size[4] = {3, 2, 3, 3};
    const int64_t result_size[4] = {1, 3, 4, 4};
    struct test_tensor image = test_tensor_dense(DTYPE_FLOAT32, 4, image_size, &seed);
    struct test_tensor weight = test_tensor_dense(DTYPE_FLOAT32, 4, weight_size, &seed);
    struct test_tensor result = test_tensor_dense(DTYPE_FLOAT32, 4, result_size, &seed);
    struct operation_call call = {.opcode = OPCODE_CONVOLUTION,
                                  .input_count = 2,
                                  .tensor_count = 3,
                                  .tensors = {image.tensor, weight.tensor, result.tensor},
                                  .attributes = {.i = {1, 0}}};
    assert_int_equal(device->table->run(device, &call, &error), STATUS_INTERNAL);
    assert_string_equal(error.text, "CONVOLUTION float32 [1, 2, 4, 4] float32 [3, 2, 3, 3] -> float32 [1, 3, 4, 4]: "
                                    "kernel, stride and padding do not give the size of the result");
    call.attributes.i[1] = 1;
    call.tensors[1].size[1] = 1;
    assert_int_equal(device->table->run(device, &call, &error), STATUS_INTERNAL);
    test_tensor_release(&image);
    test_tensor_release(&weight);
    test_tensor_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_convolutions_of_every_geometry_are_right),
        cmocka_unit_test(convolutions_beyond_one_block_are_right),
        cmocka_unit_test(an_image_larger_than_scratch_is_right),
        cmocka_unit_test(empty_convolutions_do_nothing_or_give_zero),
        cmocka_unit_test(a_geometry_that_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, device_set_up, product_device_close);
}
