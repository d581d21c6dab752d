/* Max pooling of one plane: the winner of a window, and the gradient of one input element, gathered from the windows
 * that hold it, so that every sum has one writer. */
#ifndef ASSAY_KERNELS_BODY_POOL_H
#define ASSAY_KERNELS_BODY_POOL_H

#include <stdbool.h>

#include "harness/kernels/body.h"

struct pool {
    int64_t planes;
    int64_t height, width;               /* of a plane */
    int64_t pooled_height, pooled_width; /* of its result */
    int64_t kernel, stride, padding;
};

static inline struct pool pool_of(const struct operation_call *call)
{
    bool backward = call->opcode == OPCODE_MAX_POOL_BACKWARD;
    const struct tensor *wide = &call->tensors[backward ? 2 : 0];
    const struct tensor *pooled = &call->tensors[backward ? 0 : 1];
    struct pool pool;
    pool.planes = wide->size[0] * wide->size[1];
    pool.height = wide->size[2];
    pool.width = wide->size[3];
    pool.pooled_height = pooled->size[2];
    pool.pooled_width = pooled->size[3];
    pool.kernel = call->attributes.i[0];
    pool.stride = call->attributes.i[1];
    pool.padding = call->attributes.i[2];
    return pool;
}

struct pool_winner {
    float value;
    int64_t index; /* y * width + x */
};

/* Whether a value takes the place of the best before it: the first of equals wins; a NaN beats all numbers. */
BODY bool pool_beats(float value, float best)
{
    return value > best || (value != value && best == best);
}

/* The window of result element (row, column). */
BODY struct pool_winner pool_window(struct pool pool, struct span plane, int64_t row, int64_t column)
{
    int64_t top = row * pool.stride - pool.padding;
    int64_t left = column * pool.stride - pool.padding;
    int64_t bottom = top + pool.kernel < pool.height ? top + pool.kernel : pool.height;
    int64_t right = left + pool.kernel < pool.width ? left + pool.kernel : pool.width;
    top = top < 0 ? 0 : top;
    left = left < 0 ? 0 : left;
    struct pool_winner winner = {-INFINITY, top * pool.width + left};
    for (int64_t y = top; y < bottom; y++) {
        for (int64_t x = left; x < right; x++) {
            float value = span_get(plane, y * pool.width + x);
            if (pool_beats(value, winner.value)) {
                winner.value = value;
                winner.index = y * pool.width + x;
            }
        }
    }
    return winner;
}

/* The first window along a dimension that holds position `at`; the last is at most (at + padding) / stride. */
BODY int64_t pool_first(struct pool pool, int64_t at)
{
    int64_t beyond = at + pool.padding - pool.kernel; /* the last position that a window is too early for */
    return beyond < 0 ? 0 : beyond / pool.stride + 1;
}

BODY int64_t pool_last(struct pool pool, int64_t at, int64_t count)
{
    int64_t last = (at + pool.padding) / pool.stride;
    return last < count ? last : count - 1;
}

BODY float pool_gradient(struct pool pool, struct span grad, const int64_t *indices, int64_t y, int64_t x)
{
    float sum = 0.0f;
    int64_t last_row = pool_last(pool, y, pool.pooled_height);
    int64_t last_column = pool_last(pool, x, pool.pooled_width);
    for (int64_t row = pool_first(pool, y); row <= last_row; row++) {
        for (int64_t column = pool_first(pool, x); column <= last_column; column++) {
            int64_t at = row * pool.pooled_width + column;
            sum += indices[at] == y * pool.width + x ? span_get(grad, at) : 0.0f;
        }
    }
    return sum;
}

#endif
