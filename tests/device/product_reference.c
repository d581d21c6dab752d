/* Products from their definitions, one element at a time. Slow, and nothing in common with the code under test. */
#include "tests/device/product_reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/device/device.h"

int product_device_open(const char *spec, void **state)
{
    struct status error;
    struct device *device = NULL;
    if (device_open(spec, &device, &error) != STATUS_OK) {
        print_error("%s\n", error.text);
        return -1;
    }
    *state = device;
    return 0;
}

int product_device_close(void **state)
{
    device_close(*state);
    return 0;
}

uint64_t random_next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

int64_t random_below(uint64_t *seed, int64_t bound)
{
    return (int64_t)(random_next(seed) % (uint64_t)bound);
}

static double half_decode(uint16_t bits, int exponent_bits, int mantissa_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    int mantissa = bits & ((1 << mantissa_bits) - 1);
    double sign = bits >> 15 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1) {
        return mantissa != 0 ? NAN : sign * INFINITY;
    }
    if (exponent == 0) {
        return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    }
    return sign * ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

/* For normal values that fit exactly. */
static uint16_t half_encode(double value, int exponent_bits, int mantissa_bits)
{
    int exponent = 0;
    double fraction = frexp(fabs(value), &exponent); /* [0.5, 1) */
    int bias = (1 << (exponent_bits - 1)) - 1;
    unsigned bits = 0;
    if (fraction != 0.0) {
        double mantissa = ldexp(fraction, mantissa_bits + 1);
        assert_true(mantissa == floor(mantissa));
        bits = (unsigned)(exponent - 1 + bias) << mantissa_bits | ((unsigned)mantissa - (1u << mantissa_bits));
    }
    return (uint16_t)(bits | (value < 0.0 ? 0x8000u : 0u));
}

double element_read(const void *data, enum dtype dtype, int64_t index)
{
    const uint16_t *halves = data;
    if (dtype == DTYPE_FLOAT32) {
        return (double)((const float *)data)[index];
    }
    return dtype == DTYPE_FLOAT16 ? half_decode(halves[index], 5, 10) : half_decode(halves[index], 8, 7);
}

void element_write(void *data, enum dtype dtype, int64_t index, double value)
{
    uint16_t *halves = data;
    if (dtype == DTYPE_FLOAT32) {
        ((float *)data)[index] = (float)value;
    } else {
        halves[index] = dtype == DTYPE_FLOAT16 ? half_encode(value, 5, 10) : half_encode(value, 8, 7);
    }
}

struct test_tensor test_tensor_new(enum dtype dtype, int rank, const int64_t *size, const int *order,
                                   const int *broadcast, int64_t gap, uint64_t *seed)
{
    struct test_tensor made = {.tensor = {.dtype = dtype, .rank = rank}, .element_count = 1};
    for (int place = 0; place < rank; place++) {
        int d = order[place];
        made.tensor.size[d] = size[d];
        made.tensor.stride[d] = broadcast != NULL && broadcast[d] ? 0 : made.element_count;
        if (made.tensor.stride[d] != 0) {
            made.element_count *= size[d] > 0 ? size[d] : 1;
            made.element_count += place == 0 ? gap : 0;
        }
    }
    made.tensor.data = malloc((size_t)(made.element_count * dtype_bytes(dtype)));
    made.before = malloc((size_t)made.element_count * sizeof *made.before);
    assert_non_null(made.tensor.data);
    assert_non_null(made.before);
    for (int64_t k = 0; k < made.element_count; k++) {
        made.before[k] = (double)(random_below(seed, 129) - 64) / 64.0;
        element_write(made.tensor.data, dtype, k, made.before[k]);
    }
    return made;
}

struct test_tensor test_tensor_dense(enum dtype dtype, int rank, const int64_t *size, uint64_t *seed)
{
    int order[TENSOR_RANK_MAXIMUM];
    for (int d = 0; d < rank; d++) {
        order[d] = rank - 1 - d;
    }
    return test_tensor_new(dtype, rank, size, order, NULL, 0, seed);
}

void test_tensor_release(struct test_tensor *tensor)
{
    free(tensor->tensor.data);
    free(tensor->before);
    *tensor = (struct test_tensor){0};
}

/* The place of the dense, row-major element k. */
static int64_t tensor_offset(const struct tensor *tensor, int64_t k)
{
    int64_t offset = 0;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        offset += k % tensor->size[d] * tensor->stride[d];
        k /= tensor->size[d];
    }
    return offset;
}

void test_tensor_expect(const struct test_tensor *out, const double *expected, int64_t term_count, const char *label)
{
    static const double last_place[] = {
        [DTYPE_FLOAT32] = 0x1p-24, [DTYPE_FLOAT16] = 0x1p-11, [DTYPE_BFLOAT16] = 0x1p-8};
    int64_t count = tensor_element_count(&out->tensor);
    char *written = calloc((size_t)out->element_count, 1);
    assert_non_null(written);
    for (int64_t k = 0; k < count; k++) {
        int64_t offset = tensor_offset(&out->tensor, k);
        double found = element_read(out->tensor.data, out->tensor.dtype, offset);
        double allowed =
            fabs(expected[k]) * last_place[out->tensor.dtype] * 1.001 + (double)(term_count + 2) * 2.0 * 0x1p-24;
        written[offset] = 1;
        if (!(fabs(found - expected[k]) <= allowed)) {
            fail_msg("%s: element %lld is %.9g instead of %.9g (allowed %.3g)", label, (long long)k, found, expected[k],
                     allowed);
        }
    }
    for (int64_t k = 0; k < out->element_count; k++) {
        if (!written[k] && element_read(out->tensor.data, out->tensor.dtype, k) != out->before[k]) {
            fail_msg("%s: element %lld of the buffer lies in a gap and was written", label, (long long)k);
        }
    }
    free(written);
}

double *matmul_reference(const struct operation_call *call, const struct test_tensor *out)
{
    const struct tensor *a = &call->tensors[0];
    const struct tensor *b = &call->tensors[1];
    const struct tensor *result = &call->tensors[call->input_count];
    int rank = result->rank;
    int64_t count = tensor_element_count(result);
    int64_t n = result->size[rank - 1];
    int64_t m = result->size[rank - 2];
    int64_t k_count = a->size[rank - 1];
    double *expected = malloc((size_t)(count + 1) * sizeof *expected);
    assert_non_null(expected);
    for (int64_t index = 0; index < count; index++) {
        int64_t column = index % n;
        int64_t row = index / n % m;
        int64_t batch = index / (m * n);
        double sum = 0.0;
        for (int64_t k = 0; k < k_count; k++) {
            sum += element_read(a->data, a->dtype, tensor_offset(a, (batch * m + row) * k_count + k)) *
                   element_read(b->data, b->dtype, tensor_offset(b, (batch * k_count + k) * n + column));
        }
        expected[index] = call->attributes.f[0] * sum;
        if (call->attributes.f[1] != 0.0) {
            expected[index] += call->attributes.f[1] * out->before[tensor_offset(result, index)];
        }
        if (call->input_count > 2 && call->tensors[2].dtype != DTYPE_BOOL) {
            expected[index] += element_read(call->tensors[2].data, call->tensors[2].dtype, column);
        }
    }
    return expected;
}

void call_input_insert(struct operation_call *call, const struct tensor *tensor)
{
    for (int t = call->tensor_count; t > call->input_count; t--) {
        call->tensors[t] = call->tensors[t - 1];
    }
    call->tensors[call->input_count++] = *tensor;
    call->tensor_count++;
}

enum { FENCE_BYTES = 256, FENCE_VALUE = 0x5a };

struct test_workspace test_workspace_new(int64_t bytes)
{
    struct test_workspace workspace = {.bytes = bytes};
    workspace.memory = aligned_alloc(256, (size_t)((bytes + 255) / 256 * 256 + 2 * FENCE_BYTES));
    assert_non_null(workspace.memory);
    memset(workspace.memory, FENCE_VALUE, FENCE_BYTES);
    memset(workspace.memory + FENCE_BYTES, 0xff, (size_t)bytes);
    memset(workspace.memory + FENCE_BYTES + bytes, FENCE_VALUE, FENCE_BYTES);
    workspace.tensor = (struct tensor){
        .data = workspace.memory + FENCE_BYTES, .dtype = DTYPE_BOOL, .rank = 1, .size = {bytes}, .stride = {1}};
    return workspace;
}

void test_workspace_release(struct test_workspace *workspace, const char *label)
{
    for (int i = 0; i < FENCE_BYTES; i++) {
        if (workspace->memory[i] != FENCE_VALUE ||
            workspace->memory[FENCE_BYTES + workspace->bytes + i] != FENCE_VALUE) {
            fail_msg("%s: memory beside the workspace of %lld bytes was written", label, (long long)workspace->bytes);
        }
    }
    free(workspace->memory);
}

/* One term of a convolution: which elements of image, weight and result it joins. */
struct term {
    int64_t image, weight, result;
};

static void convolution_term_add(const struct operation_call *call, const struct term *term, double *expected)
{
    const struct tensor *x = &call->tensors[0];
    const struct tensor *y = &call->tensors[1];
    if (call->opcode == OPCODE_CONVOLUTION) {
        expected[term->result] +=
            element_read(x->data, x->dtype, term->image) * element_read(y->data, y->dtype, term->weight);
    } else if (call->opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT) {
        expected[term->image] +=
            element_read(x->data, x->dtype, term->result) * element_read(y->data, y->dtype, term->weight);
    } else {
        expected[term->weight] +=
            element_read(x->data, x->dtype, term->result) * element_read(y->data, y->dtype, term->image);
    }
}

/* Every pair of filter tap and result element at which it lies inside the image. */
static void convolution_taps_walk(const struct operation_call *call, const int64_t *image, const int64_t *weight,
                                  const int64_t *result, const int64_t place[4], double *expected)
{
    int64_t stride = call->attributes.i[0];
    int64_t padding = call->attributes.i[1];
    int64_t n = place[0];
    int64_t o = place[1];
    for (int64_t c = 0; c < image[1]; c++) {
        for (int64_t tap = 0; tap < weight[2] * weight[3]; tap++) {
            int64_t row = place[2] * stride - padding + tap / weight[3];
            int64_t column = place[3] * stride - padding + tap % weight[3];
            if (row >= 0 && row < image[2] && column >= 0 && column < image[3]) {
                const struct term term = {.image = ((n * image[1] + c) * image[2] + row) * image[3] + column,
                                          .weight = (o * image[1] + c) * weight[2] * weight[3] + tap,
                                          .result =
                                              ((n * result[1] + o) * result[2] + place[2]) * result[3] + place[3]};
                convolution_term_add(call, &term, expected);
            }
        }
    }
}

double *convolution_reference(const struct operation_call *call)
{
    const struct tensor *x = &call->tensors[0];
    const struct tensor *y = &call->tensors[1];
    const struct tensor *out = &call->tensors[call->input_count];
    const struct tensor *image = call->opcode == OPCODE_CONVOLUTION ? x : out;
    const struct tensor *weight = y;
    const struct tensor *result = call->opcode == OPCODE_CONVOLUTION ? out : x;
    if (call->opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT) {
        image = y;
        weight = out;
    }
    double *expected = calloc((size_t)tensor_element_count(out) + 1, sizeof *expected);
    assert_non_null(expected);
    int64_t count = tensor_element_count(result);
    for (int64_t index = 0; index < count; index++) {
        int64_t place[4];
        int64_t rest = index;
        for (int d = 3; d >= 0; d--) {
            place[d] = rest % result->size[d];
            rest /= result->size[d];
        }
        if (call->opcode == OPCODE_CONVOLUTION && call->input_count > 2 && call->tensors[2].dtype != DTYPE_BOOL) {
            expected[index] += element_read(call->tensors[2].data, call->tensors[2].dtype, place[1]);
        }
        convolution_taps_walk(call, image->size, weight->size, result->size, place, expected);
    }
    return expected;
}
