/* Products whose tensors do not fit each other are refused, with a text that says what was called and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/device/device.h"

/* tests/cuda_emulation runs the same on another device. */
#ifndef PRODUCT_DEVICE
#define PRODUCT_DEVICE "host"
#endif

static float memory[1024];

static struct tensor dense(int rank, const int64_t *size)
{
    struct tensor tensor = {.data = memory, .dtype = DTYPE_FLOAT32, .rank = rank};
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        tensor.size[d] = size[d];
        tensor.stride[d] = stride;
        stride *= size[d];
    }
    return tensor;
}

static void refusal_check(struct device *device, const struct operation_call *call, const char *expected)
{
    struct status error = {0};
    assert_int_equal(device->table->run(device, call, &error), STATUS_INTERNAL);
    if (strstr(error.text, expected) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, expected);
    }
}

static void products_that_do_not_fit(void **state)
{
    struct tensor a = dense(2, (const int64_t[]){4, 6});
    struct operation_call call = {
        .opcode = OPCODE_MATMUL, .input_count = 2, .tensor_count = 3, .tensors = {a, a, a}, .attributes = {.f = {1.0}}};
    refusal_check(*state, &call,
                  "MATMUL float32 [4, 6] float32 [4, 6] -> float32 [4, 6]: the sizes of the matrices do not fit");
    call.tensors[1].size[0] = 6;
    call.tensors[1].stride[1] = 2;
    refusal_check(*state, &call,
                  "MATMUL float32 [4, 6] float32 [6, 6] -> float32 [4, 6]: one of the last two strides must be 1, the "
                  "other at least the size it steps over");
}

static void workspaces_that_are_none(void **state)
{
    struct tensor a = dense(2, (const int64_t[]){4, 6}), b = dense(2, (const int64_t[]){6, 6});
    struct tensor workspace = dense(2, (const int64_t[]){32, 32});
    workspace.dtype = DTYPE_BOOL;
    struct operation_call call = {.opcode = OPCODE_MATMUL,
                                  .input_count = 3,
                                  .tensor_count = 4,
                                  .tensors = {a, b, workspace, a},
                                  .attributes = {.f = {1.0}}};
    refusal_check(*state, &call, ": the workspace must be dense and of rank 1");
    call.tensors[2].rank = 1;
    call.tensors[2].stride[0] = 1;
    call.tensors[3] = call.tensors[2]; /* a second one */
    call.tensors[4] = a;
    call.input_count = 4;
    call.tensor_count = 5;
    refusal_check(*state, &call, "the bias must be dense, floating, one element for each column");
    call.tensors[4] = call.tensors[2]; /* a third one */
    call.tensors[5] = a;
    call.input_count = 5;
    call.tensor_count = 6;
    refusal_check(*state, &call, "takes two tensors, an optional bias, an optional workspace and one out");
}

static void convolutions_that_do_not_fit(void **state)
{
    struct operation_call call = {.opcode = OPCODE_CONVOLUTION,
                                  .input_count = 2,
                                  .tensor_count = 3,
                                  .tensors = {dense(4, (const int64_t[]){1, 2, 4, 4}),
                                              dense(4, (const int64_t[]){3, 2, 3, 3}),
                                              dense(4, (const int64_t[]){1, 3, 4, 4})},
                                  .attributes = {.i = {1, 0}}};
    refusal_check(*state, &call,
                  "CONVOLUTION float32 [1, 2, 4, 4] float32 [3, 2, 3, 3] -> float32 [1, 3, 4, 4]: kernel, stride and "
                  "padding do not give the size of the result");
    call.attributes.i[1] = 1;
    call.tensors[1].size[1] = 1;
    refusal_check(*state, &call, "CONVOLUTION float32 [1, 2, 4, 4] float32 [3, 1, 3, 3]");
}

static int product_device_open(void **state)
{
    struct status error = {0};
    struct device *device = NULL;
    if (device_open(PRODUCT_DEVICE, &device, &error) != STATUS_OK) {
        print_error("%s\n", error.text);
        return -1;
    }
    *state = device;
    return 0;
}

static int product_device_close(void **state)
{
    device_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_that_do_not_fit),
        cmocka_unit_test(workspaces_that_are_none),
        cmocka_unit_test(convolutions_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, product_device_open, product_device_close);
}
