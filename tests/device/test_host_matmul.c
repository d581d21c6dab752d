/* MATMUL on the host against a double-precision reference: ranks, orientations, strides, dtypes, scalars, biases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/device.h"
#include "tests/device/product_reference.h"

/* tests/cuda_emulation runs the same on another device. */
#ifndef PRODUCT_DEVICE
#define PRODUCT_DEVICE "host"
#endif

static const enum dtype floating[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};

static int device_set_up(void **state)
{
    return product_device_open(PRODUCT_DEVICE, state);
}

/* What one case multiplies. orders: see test_tensor_new; batch dimensions first, then rows, then columns. */
struct product_case {
    int rank;
    int64_t batch[2];
    int64_t m, n, k;
    enum dtype a, b, out, bias;
    int a_order, b_order, out_order;
    bool b_shared, has_bias;
    int64_t gap, workspace_bytes; /* of no workspace: 0 */
    double alpha, beta;
};

/* Innermost first, for rank 4: row-major; column-major; heads inside rows ([B, S, a, D] seen as [B, a, S, D]);
 * the two batch dimensions exchanged. */
static const int orders[][4] = {{3, 2, 1, 0}, {2, 3, 1, 0}, {3, 1, 2, 0}, {3, 2, 0, 1}};

static struct test_tensor operand_new(const struct product_case *product, enum dtype dtype, int order, int64_t rows,
                                      int64_t columns, bool shared, uint64_t *seed)
{
    int rank = product->rank;
    int64_t all[4] = {product->batch[0], product->batch[1], rows, columns};
    int64_t size[4];
    int broadcast[4] = {0};
    int chosen[4];
    int count = 0;
    for (int d = 0; d < rank; d++) {
        size[d] = all[4 - rank + d];
        broadcast[d] = shared && d < rank - 2;
    }
    for (int place = 0; place < 4; place++) {
        if (orders[order][place] >= 4 - rank) {
            chosen[count++] = orders[order][place] - (4 - rank);
        }
    }
    return test_tensor_new(dtype, rank, size, chosen, broadcast, product->gap, seed);
}

static void product_check(struct device *device, const struct product_case *product, uint64_t *seed, const char *label)
{
    struct status error = {0};
    struct test_tensor a = operand_new(product, product->a, product->a_order, product->m, product->k, false, seed);
    struct test_tensor b =
        operand_new(product, product->b, product->b_order, product->k, product->n, product->b_shared, seed);
    struct test_tensor out =
        operand_new(product, product->out, product->out_order, product->m, product->n, false, seed);
    struct test_tensor bias = test_tensor_dense(product->bias, 1, &product->n, seed);
    struct operation_call call = {.opcode = OPCODE_MATMUL,
                                  .input_count = product->has_bias ? 3 : 2,
                                  .tensor_count = product->has_bias ? 4 : 3,
                                  .tensors = {a.tensor, b.tensor, bias.tensor},
                                  .attributes = {.f = {product->alpha, product->beta}}};
    call.tensors[call.input_count] = out.tensor;
    struct test_workspace workspace = test_workspace_new(product->workspace_bytes);
    if (product->workspace_bytes > 0) {
        call_input_insert(&call, &workspace.tensor);
    }
    if (device->table->run(device, &call, &error) != STATUS_OK) {
        fail_msg("%s: %s", label, error.text);
    }
    double *expected = matmul_reference(&call, &out);
    test_tensor_expect(&out, expected, product->k, label);
    free(expected);
    test_tensor_release(&a);
    test_tensor_release(&b);
    test_tensor_release(&out);
    test_tensor_release(&bias);
    test_workspace_release(&workspace, label);
}

static struct product_case product_draw(uint64_t *seed)
{
    static const int64_t sizes[] = {1, 1, 2, 3, 5, 8, 17, 33, 65};
    static const double scalars[] = {1.0, 0.125, -2.0};
    enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };
    return (struct product_case){.rank = 2 + (int)random_below(seed, 3),
                                 .batch = {1 + random_below(seed, 3), 1 + random_below(seed, 4)},
                                 .m = sizes[random_below(seed, SIZE_COUNT)],
                                 .n = sizes[random_below(seed, SIZE_COUNT)],
                                 .k = sizes[random_below(seed, SIZE_COUNT)],
                                 .a = floating[random_below(seed, 3)],
                                 .b = floating[random_below(seed, 3)],
                                 .out = floating[random_below(seed, 3)],
                                 .bias = floating[random_below(seed, 3)],
                                 .a_order = (int)random_below(seed, 4),
                                 .b_order = (int)random_below(seed, 4),
                                 .out_order = (int)random_below(seed, 4),
                                 .b_shared = random_below(seed, 3) == 0,
                                 .has_bias = random_below(seed, 2) == 0,
                                 .gap = random_below(seed, 2) * 3,
                                 .workspace_bytes = random_below(seed, 2) * (1 + random_below(seed, 40000)),
                                 .alpha = scalars[random_below(seed, 3)],
                                 .beta = random_below(seed, 2) == 0 ? 0.0 : scalars[random_below(seed, 3)]};
}

static void products_of_every_layout_are_right(void **state)
{
    uint64_t seed = 1;
    for (int i = 0; i < 500; i++) {
        char label[32];
        snprintf(label, sizeof label, "case %d", i);
        struct product_case product = product_draw(&seed);
        product_check(*state, &product, &seed, label);
    }
}

/* Beyond one tile and one panel, with sizes that no tile divides. */
static void products_larger_than_a_tile_are_right(void **state)
{
    uint64_t seed = 2;
    for (int dtype = 0; dtype < 3; dtype++) {
        for (int order = 0; order < 2; order++) {
            struct product_case product = {.rank = 2,
                                           .batch = {1, 1},
                                           .m = 531,
                                           .n = 70,
                                           .k = 1029,
                                           .a = floating[dtype],
                                           .b = floating[dtype],
                                           .out = floating[dtype],
                                           .bias = floating[dtype],
                                           .a_order = order,
                                           .b_order = 1 - order,
                                           .has_bias = true,
                                           .alpha = 0.0625,
                                           .beta = order == 0 ? 0.0 : 0.5};
            product_check(*state, &product, &seed, "m beyond a tile");
            product.m = 3;
            product.n = 1100;
            product.out_order = 1;
            product_check(*state, &product, &seed, "n beyond a tile");
        }
    }
}

static void empty_products_do_what_is_left_of_them(void **state)
{
    uint64_t seed = 3;
    static const int64_t sizes[][4] = {{0, 4, 5, 2}, {4, 0, 5, 2}, {4, 5, 0, 2}, {4, 5, 6, 0}, {0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int dtype = 0; dtype < 3; dtype++) {
            struct product_case product = {.rank = 3,
                                           .batch = {1, sizes[i][3]},
                                           .m = sizes[i][0],
                                           .n = sizes[i][1],
                                           .k = sizes[i][2],
                                           .a = floating[dtype],
                                           .b = floating[dtype],
                                           .out = floating[dtype],
                                           .bias = floating[dtype],
                                           .has_bias = true,
                                           .alpha = 1.0,
                                           .beta = 2.0};
            product_check(*state, &product, &seed, "empty, beta 2");
            product.beta = 0.0;
            product_check(*state, &product, &seed, "empty, beta 0");
        }
    }
}

/* out is not read where beta is 0: what it holds before may be NaN. */
static void beta_zero_does_not_read_the_result(void **state)
{
    struct device *device = *state;
    for (int dtype = 0; dtype < 3; dtype++) {
        uint64_t seed = 4;
        const int64_t size[2] = {3, 3};
        struct test_tensor a = test_tensor_dense(floating[dtype], 2, size, &seed);
        struct test_tensor out = test_tensor_dense(floating[dtype], 2, size, &seed);
        memset(out.tensor.data, 0xff, 9u * (size_t)dtype_bytes(floating[dtype])); /* NaN in each of the dtypes */
        struct operation_call call = {.opcode = OPCODE_MATMUL,
                                      .input_count = 2,
                                      .tensor_count = 3,
                                      .tensors = {a.tensor, a.tensor, out.tensor},
                                      .attributes = {.f = {1.0}}};
        assert_int_equal(device->table->run(device, &call, NULL), STATUS_OK);
        for (int64_t k = 0; k < 9; k++) {
            assert_true(isfinite(element_read(out.tensor.data, floating[dtype], k)));
        }
        test_tensor_release(&a);
        test_tensor_release(&out);
    }
}

/* Sums are kept in float32: 4096 times 1 + 1/128 would stop growing at 256 if they were kept in bfloat16. */
static void sums_of_16_bit_elements_are_rounded_once(void **state)
{
    struct device *device = *state;
    enum { TERMS = 4096 };
    for (int dtype = 1; dtype < 3; dtype++) {
        uint64_t seed = 5;
        const int64_t sizes[3][2] = {{1, TERMS}, {TERMS, 1}, {1, 1}};
        struct test_tensor a = test_tensor_dense(floating[dtype], 2, sizes[0], &seed);
        struct test_tensor b = test_tensor_dense(floating[dtype], 2, sizes[1], &seed);
        struct test_tensor out = test_tensor_dense(floating[dtype], 2, sizes[2], &seed);
        for (int64_t k = 0; k < TERMS; k++) {
            element_write(a.tensor.data, floating[dtype], k, 1.0);
            element_write(b.tensor.data, floating[dtype], k, 1.0 + 1.0 / 128.0);
        }
        struct operation_call call = {.opcode = OPCODE_MATMUL,
                                      .input_count = 2,
                                      .tensor_count = 3,
                                      .tensors = {a.tensor, b.tensor, out.tensor},
                                      .attributes = {.f = {1.0}}};
        assert_int_equal(device->table->run(device, &call, NULL), STATUS_OK);
        assert_true(element_read(out.tensor.data, floating[dtype], 0) == 4128.0);
        test_tensor_release(&a);
        test_tensor_release(&b);
        test_tensor_release(&out);
    }
}

static void what_breaks_the_contract_is_refused(void **state)
{
    struct device *device = *state;
    struct status error = {0};
    uint64_t seed = 6;
    const int64_t size[2] = {4, 6};
    struct test_tensor a = test_tensor_dense(DTYPE_FLOAT32, 2, size, &seed);
    struct operation_call call = {.opcode = OPCODE_MATMUL,
                                  .input_count = 2,
                                  .tensor_count = 3,
                                  .tensors = {a.tensor, a.tensor, a.tensor},
                                  .attributes = {.f = {1.0}}};
    assert_int_equal(device->table->run(device, &call, &error), STATUS_INTERNAL);
    assert_string_equal(error.text, "MATMUL float32 [4, 6] float32 [4, 6] -> float32 [4, 6]: the sizes of the matrices "
                                    "do not fit");
    call.tensors[1].size[0] = 6;
    call.tensors[1].stride[1] = 2;
    assert_int_equal(device->table->run(device, &call, &error), STATUS_INTERNAL);
    assert_string_equal(error.text,
                        "MATMUL float32 [4, 6] float32 [6, 6] -> float32 [4, 6]: one of the last two strides must be "
                        "1, the other at least the size it steps over");
    call.tensors[1].stride[1] = 1;
    struct test_workspace workspace = test_workspace_new(1024);
    workspace.tensor.rank = 2;
    call_input_insert(&call, &workspace.tensor);
    assert_int_equal(device->table->run(device, &call, &error), STATUS_INTERNAL);
    assert_non_null(strstr(error.text, ": the workspace must be dense and of rank 1"));
    call.tensors[2].rank = 1;
    call_input_insert(&call, &workspace.tensor);
    assert_int_equal(device->table->run(device, &call, &error), STATUS_INTERNAL);
    test_workspace_release(&workspace, "refused");
    test_tensor_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_every_layout_are_right),
        cmocka_unit_test(products_larger_than_a_tile_are_right),
        cmocka_unit_test(empty_products_do_what_is_left_of_them),
        cmocka_unit_test(beta_zero_does_not_read_the_result),
        cmocka_unit_test(sums_of_16_bit_elements_are_rounded_once),
        cmocka_unit_test(what_breaks_the_contract_is_refused),
    };
    return cmocka_run_group_tests(tests, device_set_up, product_device_close);
}
