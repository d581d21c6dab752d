/* Spans: conversion of runs of elements to and from float32 on the host. The loops are written for the vectoriser, one
 * for each dtype, so that a row in half precision costs little more than its bytes. Not arithmetic of any operation. */
#include "harness/kernels/host_span.h"

#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static int thread_count(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

bool host_scratch_open(struct host_scratch *scratch, int64_t part_floats)
{
    scratch->part = (part_floats + 15) / 16 * 16 + 16;
    scratch->floats = aligned_alloc(64, (size_t)scratch->part * (size_t)thread_count() * sizeof(float));
    return scratch->floats != NULL;
}

void host_scratch_close(struct host_scratch *scratch)
{
    free(scratch->floats);
    scratch->floats = NULL;
}

float *host_scratch_part(const struct host_scratch *scratch)
{
#ifdef _OPENMP
    return scratch->floats + scratch->part * omp_get_thread_num();
#else
    return scratch->floats;
#endif
}

HOST_CLONES
static void span_load_dense(float *to, const void *from, enum dtype dtype, int64_t count)
{
    const uint16_t *halves = from;
    const uint8_t *bytes = from;
    switch (dtype) {
    case DTYPE_FLOAT32:
        memcpy(to, from, (size_t)count * sizeof *to);
        break;
    case DTYPE_FLOAT16:
        BODY_SIMD()
        for (int64_t k = 0; k < count; k++) {
            to[k] = float_from_float16(halves[k]);
        }
        break;
    case DTYPE_BFLOAT16:
        BODY_SIMD()
        for (int64_t k = 0; k < count; k++) {
            to[k] = float_from_bfloat16(halves[k]);
        }
        break;
    case DTYPE_BOOL:
        BODY_SIMD()
        for (int64_t k = 0; k < count; k++) {
            to[k] = bytes[k] != 0 ? 1.0f : 0.0f;
        }
        break;
    default:
        for (int64_t k = 0; k < count; k++) {
            to[k] = float_load(from, dtype, k);
        }
    }
}

void span_load(float *to, const void *from, enum dtype dtype, int64_t stride, int64_t count)
{
    if (stride == 1) {
        span_load_dense(to, from, dtype, count);
        return;
    }
    if (stride == 0) {
        float value = float_load(from, dtype, 0);
        for (int64_t k = 0; k < count; k++) {
            to[k] = value;
        }
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        to[k] = float_load(from, dtype, k * stride);
    }
}

HOST_CLONES
static void span_store_dense(const float *from, void *to, enum dtype dtype, int64_t count)
{
    uint16_t *halves = to;
    switch (dtype) {
    case DTYPE_FLOAT32:
        memcpy(to, from, (size_t)count * sizeof *from);
        break;
    case DTYPE_FLOAT16:
        BODY_SIMD()
        for (int64_t k = 0; k < count; k++) {
            halves[k] = float_to_float16(from[k]);
        }
        break;
    case DTYPE_BFLOAT16:
        BODY_SIMD()
        for (int64_t k = 0; k < count; k++) {
            halves[k] = float_to_bfloat16(from[k]);
        }
        break;
    default:
        for (int64_t k = 0; k < count; k++) {
            float_store(to, dtype, k, from[k]);
        }
    }
}

void span_store(const float *from, void *to, enum dtype dtype, int64_t stride, int64_t count)
{
    if (stride == 1) {
        span_store_dense(from, to, dtype, count);
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        float_store(to, dtype, k * stride, from[k]);
    }
}

void *tensor_at(const struct tensor *tensor, int64_t index)
{
    return (char *)tensor->data + index * dtype_bytes(tensor->dtype);
}

static bool span_is_direct(const struct tensor *tensor, int64_t stride)
{
    return tensor->dtype == DTYPE_FLOAT32 && stride == 1;
}

struct span span_read(const struct tensor *tensor, int64_t index, int64_t stride, int64_t count, float *scratch)
{
    if (span_is_direct(tensor, stride)) {
        return (struct span){(float *)tensor->data + index};
    }
    span_load(scratch, tensor_at(tensor, index), tensor->dtype, stride, count);
    return (struct span){scratch};
}

struct span span_target(const struct tensor *tensor, int64_t index, int64_t stride, float *scratch)
{
    if (span_is_direct(tensor, stride)) {
        return (struct span){(float *)tensor->data + index};
    }
    return (struct span){scratch};
}

void span_write(struct span span, const struct tensor *tensor, int64_t index, int64_t stride, int64_t count)
{
    if (!span_is_direct(tensor, stride)) {
        span_store(span.data, tensor_at(tensor, index), tensor->dtype, stride, count);
    }
}
