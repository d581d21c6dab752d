/* Max pooling on the host: planes are dealt to threads. */
#include "harness/kernels/body_pool.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

#include <string.h>

static const char no_memory[] = "the host has no memory for the planes in float32";

/* Floats of scratch for a plane and its result. */
static int64_t pool_floats(struct pool pool)
{
    return pool.height * pool.width + pool.pooled_height * pool.pooled_width;
}

/* One element of `count` windows side by side: those of a line that are `step` apart, the first at place `index` of the
 * plane. Winners so far are in values and indices. */
static inline __attribute__((always_inline)) void window_line_by(const float *line, int64_t step, int64_t index,
                                                                 float *values, int64_t *indices, int64_t count)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        float value = line[k * step];
        bool beats = pool_beats(value, values[k]);
        values[k] = beats ? value : values[k];
        indices[k] = beats ? index + k * step : indices[k];
    }
}

HOST_CLONES
static void window_line(const float *line, int64_t step, int64_t index, float *values, int64_t *indices, int64_t count)
{
    if (step == 1) { /* a step that the compiler knows becomes vector code */
        window_line_by(line, 1, index, values, indices, count);
    } else if (step == 2) {
        window_line_by(line, 2, index, values, indices, count);
    } else {
        window_line_by(line, step, index, values, indices, count);
    }
}

/* Windows [first, end) of a row of the result, all of them wholly between the left and the right edge. */
static void inner_windows(struct pool pool, struct span plane, int64_t row, int64_t first, int64_t end, float *values,
                          int64_t *indices)
{
    int64_t top = row * pool.stride - pool.padding;
    int64_t bottom = top + pool.kernel < pool.height ? top + pool.kernel : pool.height;
    int64_t left = first * pool.stride - pool.padding;
    top = top < 0 ? 0 : top;
    for (int64_t k = first; k < end; k++) {
        values[k] = -INFINITY;
        indices[k] = top * pool.width + k * pool.stride - pool.padding;
    }
    for (int64_t y = top; y < bottom; y++) {
        for (int64_t x = left; x < left + pool.kernel; x++) {
            int64_t index = y * pool.width + x;
            window_line(plane.data + index, pool.stride, index, values + first, indices + first, end - first);
        }
    }
}

static void edge_windows(struct pool pool, struct span plane, int64_t row, int64_t first, int64_t end, float *values,
                         int64_t *indices)
{
    for (int64_t column = first; column < end; column++) {
        struct pool_winner winner = pool_window(pool, plane, row, column);
        values[column] = winner.value;
        indices[column] = winner.index;
    }
}

static void pool_plane(const struct operation_call *call, struct pool pool, int64_t plane, float *part)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[1];
    int64_t elements = pool.height * pool.width;
    int64_t width = pool.pooled_width, pooled = pool.pooled_height * width;
    int64_t *indices = (int64_t *)call->tensors[2].data + plane * pooled;
    struct span from = span_read(a, plane * elements, 1, elements, part);
    struct span to = span_target(out, plane * pooled, 1, part + elements);
    int64_t first = (pool.padding + pool.stride - 1) / pool.stride;
    int64_t beyond =
        pool.width + pool.padding - pool.kernel; /* the last place where a window may begin, plus padding */
    int64_t end = beyond < 0 ? 0 : beyond / pool.stride + 1;
    end = end < width ? end : width;
    first = first < end ? first : end;
    for (int64_t row = 0; row < pool.pooled_height; row++) {
        float *values = to.data + row * width;
        int64_t *places = indices + row * width;
        edge_windows(pool, from, row, 0, first, values, places);
        inner_windows(pool, from, row, first, end, values, places);
        edge_windows(pool, from, row, end, width, values, places);
    }
    span_write(to, out, plane * pooled, 1, pooled);
}

/* Windows give to their winners, in the order in which pool_gradient gathers: the sums are the same. */
static void pool_plane_backward(const struct operation_call *call, struct pool pool, int64_t plane, float *part)
{
    const struct tensor *grad = &call->tensors[0], *out = &call->tensors[2];
    int64_t elements = pool.height * pool.width;
    int64_t pooled = pool.pooled_height * pool.pooled_width;
    const int64_t *indices = (const int64_t *)call->tensors[1].data + plane * pooled;
    struct span from = span_read(grad, plane * pooled, 1, pooled, part);
    struct span to = span_target(out, plane * elements, 1, part + pooled);
    memset(to.data, 0, (size_t)elements * sizeof *to.data);
    for (int64_t at = 0; at < pooled; at++) {
        if (indices[at] >= 0 && indices[at] < elements) {
            to.data[indices[at]] += from.data[at];
        }
    }
    span_write(to, out, plane * elements, 1, elements);
}

typedef void plane_function(const struct operation_call *call, struct pool pool, int64_t plane, float *part);

static const char *pool_run(const struct operation_call *call, plane_function *function)
{
    struct pool pool = pool_of(call);
    struct host_scratch scratch;
    if (!host_scratch_open(&scratch, pool_floats(pool))) {
        return no_memory;
    }
    HOST_PARALLEL_FOR(pool.planes * pool.height * pool.width >= PARALLEL_ELEMENTS)
    for (int64_t plane = 0; plane < pool.planes; plane++) {
        function(call, pool, plane, host_scratch_part(&scratch));
    }
    host_scratch_close(&scratch);
    return NULL;
}

const char *host_max_pool(const struct operation_call *call)
{
    return pool_run(call, pool_plane);
}

const char *host_max_pool_backward(const struct operation_call *call)
{
    return pool_run(call, pool_plane_backward);
}
