/* Trials: random tensors in poisoned memory, a run, a comparison. What is right is in reference.c. */
#include "tests/kernels/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/kernels/convert.h"
#include "harness/kernels/host.h"
#include "tests/kernels/reference.h"

enum { GUARD_ELEMENTS = 16, POISON = 0xff };

void trial_open(struct trial *trial, enum opcode opcode, enum mix mix, uint64_t seed)
{
    memset(trial, 0, sizeof *trial);
    trial->call.opcode = opcode;
    trial->run = kernel_host_run;
    trial->mix = mix;
    trial->tolerance = 1e-5;
    trial->random = seed * 0x9e3779b97f4a7c15u + 0x1234567u;
}

void trial_close(struct trial *trial)
{
    for (int t = 0; t < trial->call.tensor_count; t++) {
        bool shared = false;
        for (int other = 0; other < t; other++) {
            shared = shared || trial->memory[other] == trial->memory[t];
        }
        if (!shared) {
            free(trial->memory[t]);
        }
        free(trial->value[t]);
    }
}

static uint64_t trial_bits(struct trial *trial)
{
    trial->random += 0x9e3779b97f4a7c15u;
    uint64_t z = trial->random;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t trial_integer(struct trial *trial, int64_t low, int64_t high)
{
    return low + (int64_t)(trial_bits(trial) % (uint64_t)(high - low + 1));
}

double trial_real(struct trial *trial, double low, double high)
{
    return low + (high - low) * ((double)(trial_bits(trial) >> 11) * 0x1p-53);
}

enum dtype trial_dtype(struct trial *trial)
{
    switch (trial->mix) {
    case MIX_FLOAT16:
        return DTYPE_FLOAT16;
    case MIX_BFLOAT16:
        return DTYPE_BFLOAT16;
    case MIX_ANY:
        return (enum dtype)trial_integer(trial, DTYPE_FLOAT32, DTYPE_BFLOAT16);
    default:
        return DTYPE_FLOAT32;
    }
}

enum layout trial_layout(struct trial *trial, enum layout highest)
{
    return (enum layout)trial_integer(trial, LAYOUT_DENSE, highest);
}

/* Strides of the layout; returns the elements of memory that it spans. */
static int64_t layout_strides(struct tensor *tensor, enum layout layout)
{
    int64_t span = 1;
    for (int step = 0; step < tensor->rank; step++) {
        int d = layout == LAYOUT_PERMUTED ? step : tensor->rank - 1 - step;
        bool repeated = layout == LAYOUT_BROADCAST && d % 2 == 0;
        tensor->stride[d] = repeated ? 0 : span;
        span *= repeated ? 1 : tensor->size[d];
        if (layout == LAYOUT_GAPPED && step == 0) {
            span += 3;
        }
    }
    return span;
}

/* Memory position of row-major element `index`, in elements from the tensor's start. */
static int64_t element_offset(const struct tensor *tensor, int64_t index)
{
    int64_t offset = 0;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        offset += index % tensor->size[d] * tensor->stride[d];
        index /= tensor->size[d];
    }
    return offset;
}

static int trial_tensor(struct trial *trial, enum dtype dtype, enum layout layout, int rank, const int64_t *size)
{
    int t = trial->call.tensor_count++;
    struct tensor *tensor = &trial->call.tensors[t];
    tensor->dtype = dtype;
    tensor->rank = rank;
    for (int d = 0; d < rank; d++) {
        tensor->size[d] = size[d];
    }
    size_t bytes = (size_t)dtype_bytes(dtype);
    size_t elements = (size_t)layout_strides(tensor, layout) + 2 * (size_t)GUARD_ELEMENTS;
    trial->memory_bytes[t] = elements * bytes;
    trial->memory[t] = malloc(elements * bytes);
    trial->value[t] = calloc((size_t)tensor_element_count(tensor) + 1, sizeof(double));
    assert_non_null(trial->memory[t]);
    assert_non_null(trial->value[t]);
    memset(trial->memory[t], POISON, elements * bytes);
    tensor->data = trial->memory[t] + (size_t)GUARD_ELEMENTS * bytes;
    return t;
}

static double element_get(const struct tensor *tensor, int64_t offset)
{
    if (tensor->dtype == DTYPE_INT64) {
        return (double)((const int64_t *)tensor->data)[offset];
    }
    if (tensor->dtype == DTYPE_BOOL) {
        return (double)((const uint8_t *)tensor->data)[offset];
    }
    return (double)float_load(tensor->data, tensor->dtype, offset);
}

static void element_set(const struct tensor *tensor, int64_t offset, double value)
{
    if (tensor->dtype == DTYPE_INT64) {
        ((int64_t *)tensor->data)[offset] = (int64_t)value;
    } else {
        float_store(tensor->data, tensor->dtype, offset, (float)value);
    }
}

static void tensor_fill(struct trial *trial, int t, double low, double high)
{
    const struct tensor *tensor = &trial->call.tensors[t];
    bool whole = !dtype_is_floating(tensor->dtype);
    int64_t count = tensor_element_count(tensor);
    for (int64_t k = 0; k < count; k++) {
        double value = whole ? (double)trial_integer(trial, (int64_t)low, (int64_t)high) : trial_real(trial, low, high);
        element_set(tensor, element_offset(tensor, k), value);
    }
    for (int64_t k = 0; k < count; k++) { /* afterwards: broadcast elements have been written several times */
        trial->value[t][k] = element_get(tensor, element_offset(tensor, k));
    }
}

int trial_input(struct trial *trial, enum dtype dtype, enum layout layout, int rank, const int64_t *size, double low,
                double high)
{
    int t = trial_tensor(trial, dtype, layout, rank, size);
    tensor_fill(trial, t, low, high);
    trial->call.input_count = trial->call.tensor_count;
    return t;
}

int trial_output(struct trial *trial, enum dtype dtype, enum layout layout, int rank, const int64_t *size)
{
    return trial_tensor(trial, dtype, layout, rank, size);
}

int trial_update(struct trial *trial, enum dtype dtype, int rank, const int64_t *size, double low, double high)
{
    int t = trial_tensor(trial, dtype, LAYOUT_DENSE, rank, size);
    tensor_fill(trial, t, low, high);
    return t;
}

void trial_set(struct trial *trial, int tensor, int64_t index, double value)
{
    const struct tensor *at = &trial->call.tensors[tensor];
    element_set(at, element_offset(at, index), value);
    trial->value[tensor][index] = element_get(at, element_offset(at, index));
}

double trial_get(const struct trial *trial, int tensor, int64_t index)
{
    const struct tensor *at = &trial->call.tensors[tensor];
    return element_get(at, element_offset(at, index));
}

void trial_share(struct trial *trial, int in, int out)
{
    free(trial->memory[out]);
    trial->memory[out] = trial->memory[in];
    trial->call.tensors[out].data = trial->call.tensors[in].data;
}

/* What rounding to the dtype may add to a relative error, and the step of its subnormal numbers. */
static double dtype_error(enum dtype dtype)
{
    return dtype == DTYPE_FLOAT16 ? 0x1p-11 * 1.01 : dtype == DTYPE_BFLOAT16 ? 0x1p-8 * 1.01 : 1e-6;
}

static double largest(const double *values, int64_t count)
{
    double maximum = 0.0;
    for (int64_t k = 0; k < count; k++) {
        double size = fabs(values[k]);
        maximum = size > maximum && isfinite(size) ? size : maximum;
    }
    return maximum;
}

static bool values_agree(double got, double expected, double allowed)
{
    if (isnan(expected) || isinf(expected)) {
        return isnan(expected) ? isnan(got) : got == expected;
    }
    return fabs(got - expected) <= allowed;
}

static void output_compare(const struct trial *trial, int t)
{
    const struct tensor *tensor = &trial->call.tensors[t];
    int64_t count = tensor_element_count(tensor);
    double scale = largest(trial->value[t], count);
    bool exact = !dtype_is_floating(tensor->dtype);
    for (int64_t k = 0; k < count; k++) {
        double expected = trial->value[t][k];
        double allowed = fabs(expected) * dtype_error(tensor->dtype) + trial->tolerance * scale + 0x1p-25;
        double got = trial_get(trial, t, k);
        if (!values_agree(got, expected, exact ? 0.0 : allowed)) {
            fail_msg("%s (mix %d) output %d element %lld of %lld: %.9g instead of %.9g, %.3g allowed",
                     opcode_name(trial->call.opcode), (int)trial->mix, t - trial->call.input_count, (long long)k,
                     (long long)count, got, expected, allowed);
        }
    }
}

/* Every byte of memory that no element of the tensor covers is as it was. */
static void memory_compare(const struct trial *trial, int t, const unsigned char *before)
{
    const struct tensor *tensor = &trial->call.tensors[t];
    size_t bytes = (size_t)dtype_bytes(tensor->dtype);
    unsigned char *after = malloc(trial->memory_bytes[t]);
    assert_non_null(after);
    memcpy(after, trial->memory[t], trial->memory_bytes[t]);
    if (t >= trial->call.input_count || trial->updated[t]) {
        size_t start = (size_t)((unsigned char *)tensor->data - trial->memory[t]);
        int64_t count = tensor_element_count(tensor);
        for (int64_t k = 0; k < count; k++) {
            size_t at = start + (size_t)element_offset(tensor, k) * bytes;
            memcpy(after + at, before + at, bytes);
        }
    }
    if (memcmp(before, after, trial->memory_bytes[t]) != 0) {
        fail_msg("%s: tensor %d was written outside its elements", opcode_name(trial->call.opcode), t);
    }
    free(after);
}

/* Whether an output shares the memory of tensor t, an input. */
static bool memory_is_output(const struct trial *trial, int t)
{
    bool shared = false;
    for (int out = trial->call.input_count; out < trial->call.tensor_count; out++) {
        shared = shared || (t < trial->call.input_count && trial->memory[out] == trial->memory[t]);
    }
    return shared;
}

void trial_run(struct trial *trial)
{
    unsigned char *before[OPERATION_TENSORS_MAXIMUM];
    for (int t = 0; t < trial->call.tensor_count; t++) {
        before[t] = malloc(trial->memory_bytes[t]);
        assert_non_null(before[t]);
        memcpy(before[t], trial->memory[t], trial->memory_bytes[t]);
    }
    const char *wrong = trial->run(&trial->call);
    if (wrong != NULL) {
        fail_msg("%s: %s", opcode_name(trial->call.opcode), wrong);
    }
    reference_run(&trial->call, trial->value);
    for (int t = 0; t < trial->call.tensor_count; t++) {
        if (t >= trial->call.input_count || trial->updated[t]) {
            output_compare(trial, t);
        }
        if (!memory_is_output(trial, t)) {
            memory_compare(trial, t, before[t]);
        }
        free(before[t]);
    }
}

unsigned char *trial_outputs_copy(const struct trial *trial, size_t *bytes)
{
    *bytes = 0;
    for (int t = trial->call.input_count; t < trial->call.tensor_count; t++) {
        *bytes += trial->memory_bytes[t];
    }
    unsigned char *copy = malloc(*bytes + 1);
    assert_non_null(copy);
    size_t at = 0;
    for (int t = trial->call.input_count; t < trial->call.tensor_count; t++) {
        memcpy(copy + at, trial->memory[t], trial->memory_bytes[t]);
        at += trial->memory_bytes[t];
    }
    return copy;
}
