/* Who is given which workspace, and how factors are rounded: what the emulated cuBLAS (which fills its workspace with
 * 0xff) and cublasLt (0xee) leave behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/device/device.h"
#include "harness/kernels/convert.h"

enum { CUBLAS_FILL = 0xff, CUBLASLT_FILL = 0xee, NOTHING_FILL = 0x11, WORKSPACE_BYTES = 4096 };

static int device_set_up(void **state)
{
    struct status error = {0};
    struct device *device = NULL;
    if (device_open("cuda:0", &device, &error) != STATUS_OK) {
        print_error("%s\n", error.text);
        return -1;
    }
    *state = device;
    return 0;
}

static int device_tear_down(void **state)
{
    device_close(*state);
    return 0;
}

/* The emulated device reads the host's memory. */
static _Alignas(256) unsigned char scratch[WORKSPACE_BYTES + 256];

static struct tensor scratch_tensor(int64_t offset, int64_t bytes)
{
    memset(scratch, NOTHING_FILL, sizeof scratch);
    return (struct tensor){.data = scratch + offset, .dtype = DTYPE_BOOL, .rank = 1, .size = {bytes}, .stride = {1}};
}

/* Puts one more input behind those that the call has. */
static void call_input_insert(struct operation_call *call, const struct tensor *tensor)
{
    for (int t = call->tensor_count; t > call->input_count; t--) {
        call->tensors[t] = call->tensors[t - 1];
    }
    call->tensors[call->input_count++] = *tensor;
    call->tensor_count++;
}

static int64_t device_bytes(struct device *device)
{
    struct device_reading reading = {0};
    assert_int_equal(device->table->read_memory(device, &reading, NULL), STATUS_OK);
    assert_true(reading.device_valid);
    return reading.device_bytes;
}

/* The value that all of the workspace has; -1 where it has several, or where something behind it was written. */
static int scratch_fill(void)
{
    for (int i = 1; i < WORKSPACE_BYTES; i++) {
        if (scratch[i] != scratch[0]) {
            return -1;
        }
    }
    return scratch[WORKSPACE_BYTES] == NOTHING_FILL ? scratch[0] : -1;
}

enum { ROWS = 8, TERMS = 16, COLUMNS = 32, SKEW_MAXIMUM = 8 };

/* Multiples of 1/8 from -1 to 1: their products and sums are exact in every dtype. */
static double small_number(int64_t index)
{
    return (double)(index * 7 % 17 - 8) / 8.0;
}

/* a [ROWS, TERMS] times b [TERMS, COLUMNS], with a bias or without; skew: elements by which a lies off a line of 16
 * bytes. Answers what the workspace is full of afterwards. */
static int product_fill(struct device *device, enum dtype dtype, bool biased, int64_t skew)
{
    static _Alignas(16) float a[ROWS * TERMS + SKEW_MAXIMUM], b[TERMS * COLUMNS], bias[COLUMNS], out[ROWS * COLUMNS];
    struct status error = {0};
    char *first = (char *)a + skew * dtype_bytes(dtype);
    for (int64_t k = 0; k < TERMS * COLUMNS; k++) {
        float_store(b, dtype, k, (float)small_number(k));
        float_store(bias, dtype, k % COLUMNS, (float)small_number(k % COLUMNS));
        float_store(first, dtype, k % (ROWS * TERMS), (float)small_number(k % (ROWS * TERMS)));
    }
    struct operation_call call = {
        .opcode = OPCODE_MATMUL,
        .input_count = 2,
        .tensor_count = 3,
        .tensors = {{.data = first, .dtype = dtype, .rank = 2, .size = {ROWS, TERMS}, .stride = {TERMS, 1}},
                    {.data = b, .dtype = dtype, .rank = 2, .size = {TERMS, COLUMNS}, .stride = {COLUMNS, 1}},
                    {.data = out, .dtype = dtype, .rank = 2, .size = {ROWS, COLUMNS}, .stride = {COLUMNS, 1}}},
        .attributes = {.f = {1.0}}};
    const struct tensor along = {.data = bias, .dtype = dtype, .rank = 1, .size = {COLUMNS}, .stride = {1}};
    const struct tensor workspace = scratch_tensor(0, WORKSPACE_BYTES);
    if (biased) {
        call_input_insert(&call, &along);
    }
    call_input_insert(&call, &workspace);
    if (device->table->run(device, &call, &error) != STATUS_OK ||
        device->table->synchronize(device, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (int64_t row = 0; row < ROWS; row++) {
        for (int64_t column = 0; column < COLUMNS; column++) {
            double sum = biased ? small_number(column) : 0.0;
            for (int64_t k = 0; k < TERMS; k++) {
                sum += small_number(row * TERMS + k) * small_number(k * COLUMNS + column);
            }
            double rounded = 0.0; /* room for any dtype */
            float_store(&rounded, dtype, 0, (float)sum);
            assert_true(float_load(out, dtype, row * COLUMNS + column) == float_load(&rounded, dtype, 0));
        }
    }
    return scratch_fill();
}

static void a_product_uses_the_workspace_of_its_call(void **state)
{
    static const enum dtype floating[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(product_fill(*state, floating[i], false, 0), CUBLAS_FILL);
        assert_int_equal(product_fill(*state, floating[i], true, 0), CUBLASLT_FILL);
        assert_int_equal(product_fill(*state, floating[i], true, 1), CUBLAS_FILL); /* cublasLt has no way */
    }
}

static struct operation_call one_by_one(struct tensor *a, struct tensor *out, float *number)
{
    *a = (struct tensor){.data = number, .dtype = DTYPE_FLOAT32, .rank = 2, .size = {1, 1}, .stride = {1, 1}};
    *out = *a;
    out->data = number + 1;
    return (struct operation_call){.opcode = OPCODE_MATMUL,
                                   .input_count = 2,
                                   .tensor_count = 3,
                                   .tensors = {*a, *a, *out},
                                   .attributes = {.f = {1.0}}};
}

static void without_a_workspace_nothing_is_taken(void **state)
{
    struct device *device = *state;
    float numbers[2] = {3.0f, 0.0f};
    struct tensor a, out;
    struct operation_call call = one_by_one(&a, &out, numbers);
    int64_t before = device_bytes(device);
    assert_int_equal(device->table->run(device, &call, NULL), STATUS_OK);
    assert_int_equal(device->table->synchronize(device, NULL), STATUS_OK);
    assert_true(numbers[1] == 9.0f);
    assert_int_equal(device_bytes(device), before);
}

static void a_workspace_that_is_not_aligned_is_refused(void **state)
{
    struct device *device = *state;
    struct status error = {0};
    float numbers[2] = {3.0f, 0.0f};
    struct tensor a, out;
    struct operation_call call = one_by_one(&a, &out, numbers);
    const struct tensor workspace = scratch_tensor(128, 512);
    call_input_insert(&call, &workspace);
    assert_int_equal(device->table->run(device, &call, &error), STATUS_INTERNAL);
    assert_string_equal(error.text, "cuda:0: MATMUL float32 [1, 1] float32 [1, 1] bool [512] -> float32 [1, 1]: the "
                                    "workspace is not aligned to 256 bytes");
}

/* 1 + 2^-12 has a bit that TF32 has not. Its product with 1 tells whether the library was allowed to drop it: through
 * cuBLAS, through cublasLt (a bias of 0) and in a convolution. */
static void factors_are_rounded_to_tf32_only_where_allowed(void **state)
{
    struct device *device = *state;
    static const float one[4] = {1.0f}, zero[4] = {0.0f};
    _Alignas(16) float number[4] = {1.0f + 0x1p-12f}, result[4];
    struct tensor matrix = {.data = number, .dtype = DTYPE_FLOAT32, .rank = 2, .size = {1, 1}, .stride = {1, 1}};
    struct tensor other = matrix, out = matrix, bias = matrix;
    other.data = (void *)(uintptr_t)one;
    out.data = result;
    bias.data = (void *)(uintptr_t)zero;
    bias.rank = 1;
    for (int form = 0; form < 3; form++) {
        struct operation_call call = {.opcode = form == 2 ? OPCODE_CONVOLUTION : OPCODE_MATMUL,
                                      .input_count = 2,
                                      .tensor_count = 3,
                                      .tensors = {matrix, other, out}};
        for (int t = 0; t < 3 && form == 2; t++) {
            call.tensors[t].rank = 4;
            for (int d = 0; d < 4; d++) {
                call.tensors[t].size[d] = call.tensors[t].stride[d] = 1;
            }
        }
        if (form == 1) {
            call_input_insert(&call, &bias);
        }
        for (int allowed = 0; allowed < 2; allowed++) {
            call.attributes = form == 2 ? (struct operation_attributes){.i = {1, 0, allowed}}
                                        : (struct operation_attributes){.f = {1.0}, .i = {allowed}};
            assert_int_equal(device->table->run(device, &call, NULL), STATUS_OK);
            assert_int_equal(device->table->synchronize(device, NULL), STATUS_OK);
            assert_true(result[0] == (allowed ? 1.0f : number[0]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_workspace_nothing_is_taken),
        cmocka_unit_test(a_product_uses_the_workspace_of_its_call),
        cmocka_unit_test(a_workspace_that_is_not_aligned_is_refused),
        cmocka_unit_test(factors_are_rounded_to_tf32_only_where_allowed),
    };
    return cmocka_run_group_tests(tests, device_set_up, device_tear_down);
}
