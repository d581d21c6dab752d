/* Trials: random tensors in poisoned memory. What is done with them is in trial_measure.c, what is right in
 * reference.c. */
#include "tests/kernels/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/kernels/convert.h"

enum { GUARD_ELEMENTS = 16, POISON = 0xff, WORKSPACE_ALIGNMENT = 256 };

void trial_open(struct trial *trial, enum opcode opcode, enum mix mix, uint64_t seed)
{
    memset(trial, 0, sizeof *trial);
    trial->call.opcode = opcode;
    trial->mix = mix;
    for (int t = 0; t < OPERATION_TENSORS_MAXIMUM; t++) {
        trial->wanted[t] = DTYPE_COUNT;
    }
    trial->tolerance = 1e-5;
    trial->allowance = 0x1p-25;
    trial->roundings = 16.0;
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

enum dtype trial_dtype_among(struct trial *trial, const enum dtype *choices, int choice_count)
{
    for (int i = 0; i < choice_count; i++) {
        if (choices[i] == trial->wanted[trial->call.tensor_count]) {
            return choices[i];
        }
    }
    return choices[trial_integer(trial, 0, choice_count - 1)];
}

enum dtype trial_dtype(struct trial *trial)
{
    static const enum dtype floating[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    int among[MIX_COUNT] = {[MIX_FLOAT32] = 0, [MIX_FLOAT16] = 1, [MIX_BFLOAT16] = 2};
    enum dtype wanted = trial->wanted[trial->call.tensor_count];
    bool any = trial->mix == MIX_ANY || wanted <= DTYPE_BFLOAT16;
    return any ? trial_dtype_among(trial, floating, 3) : floating[among[trial->mix]];
}

enum layout trial_layout(struct trial *trial, enum layout highest)
{
    return (enum layout)trial_integer(trial, LAYOUT_DENSE, highest);
}

static struct placement layout_placement(enum layout layout, int rank)
{
    struct placement placement = {.gap = layout == LAYOUT_GAPPED ? 3 : 0};
    for (int step = 0; step < rank; step++) {
        int d = layout == LAYOUT_PERMUTED ? step : rank - 1 - step;
        placement.order[step] = d;
        placement.repeated[d] = layout == LAYOUT_BROADCAST && d % 2 == 0;
    }
    return placement;
}

/* Sets the strides; returns the elements of memory that they span. */
static int64_t tensor_place(struct tensor *tensor, const struct placement *placement)
{
    int64_t span = 1;
    for (int step = 0; step < tensor->rank; step++) {
        int d = placement->order[step];
        tensor->stride[d] = placement->repeated[d] ? 0 : span;
        span *= placement->repeated[d] || tensor->size[d] == 0 ? 1 : tensor->size[d];
        span += step == 0 ? placement->gap : 0;
    }
    return span;
}

int64_t tensor_element_offset(const struct tensor *tensor, int64_t index)
{
    int64_t offset = 0;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        offset += index % tensor->size[d] * tensor->stride[d];
        index /= tensor->size[d];
    }
    return offset;
}

static int trial_tensor(struct trial *trial, enum dtype dtype, const struct placement *placement, int rank,
                        const int64_t *size)
{
    int t = trial->call.tensor_count++;
    struct tensor *tensor = &trial->call.tensors[t];
    tensor->dtype = dtype;
    tensor->rank = rank;
    for (int d = 0; d < rank; d++) {
        tensor->size[d] = size[d];
    }
    size_t bytes = (size_t)dtype_bytes(dtype);
    size_t elements = (size_t)tensor_place(tensor, placement) + 2 * (size_t)GUARD_ELEMENTS;
    size_t start =
        (size_t)GUARD_ELEMENTS + (trial->unaligned ? (size_t)trial_integer(trial, 1, GUARD_ELEMENTS / 2) : 0);
    trial->memory_bytes[t] = elements * bytes;
    trial->memory[t] = malloc(elements * bytes);
    trial->value[t] = calloc((size_t)tensor_element_count(tensor) + 1, sizeof(double));
    assert_non_null(trial->memory[t]);
    assert_non_null(trial->value[t]);
    memset(trial->memory[t], POISON, elements * bytes);
    tensor->data = trial->memory[t] + start * bytes;
    return t;
}

static double element_get(const struct tensor *tensor, int64_t offset)
{
    if (tensor->dtype == DTYPE_INT64) {
        return (double)((const int64_t *)tensor->data)[offset];
    }
    if (tensor->dtype == DTYPE_BOOL || tensor->dtype == DTYPE_NF4X2) {
        return (double)((const uint8_t *)tensor->data)[offset];
    }
    if (tensor->dtype == DTYPE_INT32) {
        return (double)((const int32_t *)tensor->data)[offset];
    }
    return (double)float_load(tensor->data, tensor->dtype, offset);
}

static void element_set(const struct tensor *tensor, int64_t offset, double value)
{
    if (tensor->dtype == DTYPE_INT64) {
        ((int64_t *)tensor->data)[offset] = (int64_t)value;
    } else if (tensor->dtype == DTYPE_NF4X2) {
        ((uint8_t *)tensor->data)[offset] = (uint8_t)value;
    } else if (tensor->dtype == DTYPE_INT32) {
        ((int32_t *)tensor->data)[offset] = (int32_t)value;
    } else {
        float_store(tensor->data, tensor->dtype, offset, (float)value);
    }
}

void trial_fill(struct trial *trial, int tensor, double low, double high)
{
    const struct tensor *at = &trial->call.tensors[tensor];
    bool whole = !dtype_is_floating(at->dtype) && at->dtype != DTYPE_FLOAT8_E4M3FN;
    int64_t count = tensor_element_count(at);
    for (int64_t k = 0; k < count; k++) {
        double value = whole ? (double)trial_integer(trial, (int64_t)low, (int64_t)high) : trial_real(trial, low, high);
        element_set(at, tensor_element_offset(at, k), value);
    }
    for (int64_t k = 0; k < count; k++) { /* afterwards: broadcast elements have been written several times */
        trial->value[tensor][k] = element_get(at, tensor_element_offset(at, k));
    }
}

int trial_input_placed(struct trial *trial, enum dtype dtype, const struct placement *placement, int rank,
                       const int64_t *size, double low, double high)
{
    int t = trial_tensor(trial, dtype, placement, rank, size);
    trial_fill(trial, t, low, high);
    trial->call.input_count = trial->call.tensor_count;
    return t;
}

int trial_output_placed(struct trial *trial, enum dtype dtype, const struct placement *placement, int rank,
                        const int64_t *size)
{
    return trial_tensor(trial, dtype, placement, rank, size);
}

int trial_input(struct trial *trial, enum dtype dtype, enum layout layout, int rank, const int64_t *size, double low,
                double high)
{
    struct placement placement = layout_placement(layout, rank);
    return trial_input_placed(trial, dtype, &placement, rank, size, low, high);
}

int trial_output(struct trial *trial, enum dtype dtype, enum layout layout, int rank, const int64_t *size)
{
    struct placement placement = layout_placement(layout, rank);
    return trial_output_placed(trial, dtype, &placement, rank, size);
}

/* Of an input that holds nothing. */
static void scratch_take(struct trial *trial, int t, int64_t bytes)
{
    trial->call.input_count = trial->call.tensor_count;
    trial->scratch[t] = true;
    size_t room = ((size_t)bytes / WORKSPACE_UNIT_BYTES + 1) * WORKSPACE_UNIT_BYTES;
    trial->memory_bytes[t] = WORKSPACE_ALIGNMENT + room;
    trial->memory[t] = aligned_alloc(WORKSPACE_ALIGNMENT, trial->memory_bytes[t]);
    trial->value[t] = calloc(1, sizeof(double));
    assert_non_null(trial->memory[t]);
    assert_non_null(trial->value[t]);
    memset(trial->memory[t], POISON, trial->memory_bytes[t]);
    trial->call.tensors[t].data = trial->memory[t] + WORKSPACE_ALIGNMENT;
}

int trial_workspace(struct trial *trial, int64_t bytes)
{
    int t = trial->call.tensor_count++;
    trial->call.tensors[t] = (struct tensor){.dtype = DTYPE_BOOL, .rank = 1, .size = {bytes}, .stride = {1}};
    scratch_take(trial, t, bytes);
    return t;
}

int trial_scratch(struct trial *trial, int rank, const int64_t *size)
{
    int t = trial->call.tensor_count++;
    struct tensor *tensor = &trial->call.tensors[t];
    struct placement placement = layout_placement(LAYOUT_DENSE, rank);
    *tensor = (struct tensor){.dtype = DTYPE_FLOAT32, .rank = rank};
    memcpy(tensor->size, size, (size_t)rank * sizeof *size);
    scratch_take(trial, t, tensor_place(tensor, &placement) * (int64_t)sizeof(float));
    return t;
}

int trial_update(struct trial *trial, enum dtype dtype, int rank, const int64_t *size, double low, double high)
{
    int t = trial_output(trial, dtype, LAYOUT_DENSE, rank, size);
    trial_fill(trial, t, low, high);
    return t;
}

void trial_set(struct trial *trial, int tensor, int64_t index, double value)
{
    const struct tensor *at = &trial->call.tensors[tensor];
    element_set(at, tensor_element_offset(at, index), value);
    trial->value[tensor][index] = element_get(at, tensor_element_offset(at, index));
}

double trial_get(const struct trial *trial, int tensor, int64_t index)
{
    const struct tensor *at = &trial->call.tensors[tensor];
    return element_get(at, tensor_element_offset(at, index));
}

void trial_share(struct trial *trial, int in, int out)
{
    free(trial->memory[out]);
    trial->memory[out] = trial->memory[in];
    trial->call.tensors[out].data = trial->call.tensors[in].data;
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
