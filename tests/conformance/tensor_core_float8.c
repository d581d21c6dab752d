/* Tensor cores' sums of float8, in doubles that hold every one of them exactly. */
#include "tests/conformance/tensor_core_float8.h"

#include <math.h>
#include <stdlib.h>

#include "harness/device/passing_device.h"
#include "harness/kernels/convert.h"

enum { ALIGNMENT = 16, FACTOR_EXPONENT_LEAST = -6 };

/* terms and fraction_bits: as in the models of an H100 and an L40S by Khattak and Mikaitis (arXiv:2512.07004): 32 and
 * 16 products, and 10 bits less than float32 has. run_terms: as test_float8.c finds of an H100's numbers. */
const struct float8_arithmetic float8_hopper = {.terms = 32, .fraction_bits = 13, .run_terms = 128};
const struct float8_arithmetic float8_ada = {.terms = 16, .fraction_bits = 13, .run_terms = 128};

const char *float8_fault_name(enum float8_fault fault)
{
    static const char *const names[FLOAT8_FAULT_COUNT] = {"right",      "last term", "one term",
                                                          "half group", "scale",     "bias"};
    return names[fault];
}

static double value_cut(double value, int exponent, const struct float8_arithmetic *how)
{
    double grain = ldexp(1.0, exponent - how->fraction_bits);
    return trunc(value / grain) * grain;
}

static int factor_exponent(float factor)
{
    int exponent = ilogbf(factor);
    return exponent > FACTOR_EXPONENT_LEAST ? exponent : FACTOR_EXPONENT_LEAST;
}

static double group_sum(const struct float8_arithmetic *how, double before, const float *a, const float *b,
                        int64_t count)
{
    bool any = before != 0.0;
    int top = any ? ilogb(before) : 0;
    for (int64_t term = 0; term < count; term++) {
        if (a[term] != 0.0f && b[term] != 0.0f) {
            int exponent = factor_exponent(a[term]) + factor_exponent(b[term]);
            top = !any || exponent > top ? exponent : top;
            any = true;
        }
    }
    double sum = value_cut(before, top, how);
    for (int64_t term = 0; term < count; term++) {
        sum += value_cut((double)a[term] * b[term], top, how);
    }
    return sum != 0.0 ? value_cut(sum, ilogb(sum), how) : 0.0;
}

float float8_sum(const struct float8_arithmetic *how, const float *a, const float *b, int64_t count)
{
    float total = 0.0f;
    double run = 0.0;
    for (int64_t term = 0; term < count; term += how->terms) {
        int64_t end = term + how->terms < count ? term + how->terms : count;
        run = group_sum(how, run, a + term, b + term, end - term);
        if (how->run_terms > 0 && end % how->run_terms == 0) {
            total += (float)run;
            run = 0.0;
        }
    }
    return total + (float)run;
}

struct float8_device {
    struct passing_device passing;
    struct float8_arithmetic how;
    enum float8_fault fault;
};

/* The call's tensors; bias is NULL where there is none. */
struct float8_call {
    const struct tensor *a, *b, *bias, *out;
    float a_scale, b_scale;
};

static struct float8_call call_read(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    bool biased = call->input_count > 4 && t[4].dtype != DTYPE_BOOL;
    return (struct float8_call){.a = &t[0],
                                .b = &t[1],
                                .bias = biased ? &t[4] : NULL,
                                .out = &t[call->input_count],
                                .a_scale = (float)call->attributes.f[0] * *(const float *)t[2].data,
                                .b_scale = *(const float *)t[3].data};
}

/* cublasLt's conditions, as in cuda_linear.c. */
static bool call_suits(const struct float8_call *call)
{
    enum dtype out = call->out->dtype;
    return call->a->stride[1] == 1 && call->b->stride[0] == 1 && call->a->stride[0] % ALIGNMENT == 0 &&
           call->b->stride[1] % ALIGNMENT == 0 && call->a->size[1] % ALIGNMENT == 0 &&
           call->b->size[1] % ALIGNMENT == 0 && (uintptr_t)call->a->data % ALIGNMENT == 0 &&
           (uintptr_t)call->b->data % ALIGNMENT == 0 && tensor_element_count(call->a) > 0 &&
           (call->bias == NULL || (call->bias->dtype == out && out != DTYPE_FLOAT32));
}

static void line_read(const struct tensor *tensor, int64_t start, int64_t count, float *line)
{
    for (int64_t k = 0; k < count; k++) {
        line[k] = float_load(tensor->data, tensor->dtype, start + k);
    }
}

static void largest_term_lose(float *a, const float *b, int64_t count)
{
    int64_t largest = 0;
    for (int64_t k = 1; k < count; k++) {
        largest = fabsf(a[k] * b[k]) > fabsf(a[largest] * b[largest]) ? k : largest;
    }
    a[largest] = 0.0f;
}

/* a, b: the factors' elements, which the fault may spoil. */
static float element_make(const struct float8_device *device, const struct float8_call *call, int64_t at, float *a,
                          float *b)
{
    const int64_t k = call->a->size[1], n = call->b->size[1];
    const bool off = device->fault == FLOAT8_SCALE;
    if (device->fault == FLOAT8_LAST_TERM) {
        a[k - 1] = 0.0f;
    } else if (device->fault == FLOAT8_ONE_TERM && at == 0) {
        largest_term_lose(a, b, k);
    }
    int64_t count = device->fault == FLOAT8_HALF_GROUP ? k - k % device->how.terms : k;
    float sum = float8_sum(&device->how, a, b, count) * (call->a_scale * (off ? 1.0f + 0x1p-8f : 1.0f)) * call->b_scale;
    float bias = call->bias != NULL ? float_load(call->bias->data, call->bias->dtype, at % n) : 0.0f;
    return sum + (device->fault == FLOAT8_BIAS ? bias * call->a_scale : bias);
}

static enum status_code product_make(const struct float8_device *device, const struct float8_call *call,
                                     struct status *error)
{
    const int64_t k = call->a->size[1], n = call->b->size[1];
    float *lines = malloc((size_t)k * 2 * sizeof(float));
    if (lines == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a product of float8");
    }
    for (int64_t at = 0; at < tensor_element_count(call->out); at++) {
        line_read(call->a, at / n * call->a->stride[0], k, lines);
        line_read(call->b, at % n * call->b->stride[1], k, lines + k);
        float_store(call->out->data, call->out->dtype, at, element_make(device, call, at, lines, lines + k));
    }
    free(lines);
    return STATUS_OK;
}

static enum status_code float8_run(struct device *base, const struct operation_call *call, struct status *error)
{
    const struct float8_device *device = (const struct float8_device *)base;
    struct device *inner = device->passing.inner;
    if (call->opcode == OPCODE_SCALED_MATMUL) {
        const struct float8_call read = call_read(call);
        if (call_suits(&read)) {
            return product_make(device, &read, error);
        }
    }
    return inner->table->run(inner, call, error);
}

enum status_code device_float8_wrap(struct device *inner, const struct float8_arithmetic *how, enum float8_fault fault,
                                    struct device **wrapped, struct status *error)
{
    struct float8_device *made = malloc(sizeof *made);
    if (made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a device of float8");
    }
    made->how = *how;
    made->fault = fault;
    passing_device_open(&made->passing, inner, "float8");
    made->passing.table.run = float8_run;
    *wrapped = &made->passing.base;
    return STATUS_OK;
}
