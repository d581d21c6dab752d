/* Max pooling on the host: planes are dealt to threads. */
#include "harness/kernels/body_pool.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

#include <string.h>

/* A vector of windows; and the widest window, and the furthest step, that vectors are used for. */
enum { LANES = 16, WINDOW_MAXIMUM = 64 };

/* A plane laid out for rows of windows. A line has `stride` phases: phase p holds the elements x = k * stride + p -
 * padding, so that the windows of a row, whatever their step, read neighbours at each of their places. What is beside
 * the plane is -infinity, which no window prefers. */
struct pool_lines {
    int32_t vectors;                /* of LANES windows, for a row of them */
    int64_t phase;                  /* floats of a phase */
    int64_t line;                   /* floats of a line, `stride` phases */
    int64_t starts[WINDOW_MAXIMUM]; /* of each place in a line of a window, in floats from the start of the line */
};

/* Scratch memory of a thread. */
struct pool_scratch {
    float *staged;   /* a line as it is in the tensor, with what is beside it */
    float *lines;    /* all lines of a plane */
    float *values;   /* of the windows of a row, the largest so far */
    int32_t *places; /* and where it is, in elements from the first of the window */
};

static bool pool_is_regular(struct pool pool)
{
    return pool.kernel <= WINDOW_MAXIMUM && pool.stride <= WINDOW_MAXIMUM &&
           pool.width <= INT32_MAX / WINDOW_MAXIMUM / 2;
}

static struct pool_lines pool_lines_of(struct pool pool)
{
    struct pool_lines lines = {.vectors = (int32_t)((pool.pooled_width + LANES - 1) / LANES)};
    lines.phase = ((pool.kernel - 1) / pool.stride + LANES - 1) / LANES * LANES + lines.vectors * LANES;
    lines.line = lines.phase * pool.stride;
    for (int64_t x = 0; x < pool.kernel; x++) {
        lines.starts[x] = x % pool.stride * lines.phase + x / pool.stride;
    }
    return lines;
}

static int64_t pool_scratch_floats(struct pool pool, const struct pool_lines *lines)
{
    return (pool.height + 1) * lines->line + 2 * lines->vectors * LANES;
}

static struct pool_scratch pool_scratch_of(struct pool pool, const struct pool_lines *lines, float *part)
{
    struct pool_scratch scratch = {.staged = part, .lines = part + lines->line};
    scratch.values = scratch.lines + pool.height * lines->line;
    scratch.places = (int32_t *)(void *)(scratch.values + lines->vectors * LANES);
    return scratch;
}

HOST_CLONES
static void line_lay_out(const float *staged, int64_t stride, int64_t phase, float *line)
{
    if (stride == 2) { /* a step that the compiler knows becomes vector code */
        BODY_SIMD()
        for (int64_t k = 0; k < phase; k++) {
            line[k] = staged[2 * k];
            line[phase + k] = staged[2 * k + 1];
        }
        return;
    }
    for (int64_t p = 0; p < stride; p++) {
        for (int64_t k = 0; k < phase; k++) {
            line[p * phase + k] = staged[k * stride + p];
        }
    }
}

static void plane_lay_out(const struct tensor *a, int64_t first, struct pool pool, const struct pool_lines *lines,
                          const struct pool_scratch *scratch)
{
    int64_t end = pool.padding + pool.width < lines->line ? pool.padding + pool.width : lines->line;
    for (int64_t x = 0; x < pool.padding; x++) {
        scratch->staged[x] = -INFINITY;
    }
    for (int64_t x = end; x < lines->line; x++) {
        scratch->staged[x] = -INFINITY;
    }
    for (int64_t y = 0; y < pool.height; y++) {
        span_load(scratch->staged + pool.padding, tensor_at(a, first + y * pool.width), a->dtype, 1,
                  end - pool.padding);
        line_lay_out(scratch->staged, pool.stride, lines->phase, scratch->lines + y * lines->line);
    }
}

/* A place of every window of a row: the elements there, and where they are. */
struct place {
    const float *elements;
    int32_t at;
};

BODY void place_meet(struct place place, int32_t k, float *value, int32_t *at)
{
    bool beats = pool_beats(place.elements[k], *value);
    *value = beats ? place.elements[k] : *value;
    *at = beats ? place.at : *at;
}

/* Places of a row's windows, in their order, `count` of them: the winners so far are read and written once for
 * three. */
BODY void places_meet(const struct place *list, int64_t count, int32_t vectors, float *values, int32_t *places)
{
    int64_t x = 0;
    for (; x + 3 <= count; x += 3) {
        struct place first = list[x], second = list[x + 1], third = list[x + 2];
        BODY_SIMD()
        for (int32_t k = 0; k < vectors * LANES; k++) {
            float value = values[k];
            int32_t at = places[k];
            place_meet(first, k, &value, &at);
            place_meet(second, k, &value, &at);
            place_meet(third, k, &value, &at);
            values[k] = value;
            places[k] = at;
        }
    }
    for (; x < count; x++) {
        struct place only = list[x];
        BODY_SIMD()
        for (int32_t k = 0; k < vectors * LANES; k++) {
            place_meet(only, k, &values[k], &places[k]);
        }
    }
}

/* The windows of one row: what pool_window finds for each. */
HOST_CLONES
static void row_pool(const struct pool *pool, const struct pool_lines *lines, const struct pool_scratch *scratch,
                     int64_t row, int64_t *indices)
{
    struct place list[WINDOW_MAXIMUM];
    float *values = scratch->values;
    int32_t *places = scratch->places;
    int32_t stride = (int32_t)pool->stride, padding = (int32_t)pool->padding, vectors = lines->vectors;
    int64_t top = row * pool->stride - pool->padding;
    int64_t bottom = top + pool->kernel < pool->height ? top + pool->kernel : pool->height;
    top = top < 0 ? 0 : top;
    BODY_SIMD()
    for (int32_t k = 0; k < vectors * LANES; k++) {
        int32_t beside = padding - k * stride; /* the first that counts is the first within the plane */
        values[k] = -INFINITY;
        places[k] = beside > 0 ? beside : 0;
    }
    for (int64_t y = top; y < bottom; y++) {
        for (int64_t x = 0; x < pool->kernel; x++) {
            list[x].elements = scratch->lines + y * lines->line + lines->starts[x];
            list[x].at = (int32_t)((y - top) * pool->width + x);
        }
        places_meet(list, pool->kernel, vectors, values, places);
    }
    int64_t begin = top * pool->width - pool->padding;
    BODY_SIMD()
    for (int64_t k = 0; k < pool->pooled_width; k++) {
        indices[k] = begin + k * stride + places[k];
    }
}

/* Asks for a part of the next plane, so that it is on its way while this one is computed with. */
static void part_prefetch(const struct tensor *a, int64_t first, int64_t count)
{
    enum { CACHE_LINE_BYTES = 64 };
    const char *from = tensor_at(a, first);
    int64_t bytes = count * dtype_bytes(a->dtype);
    for (int64_t at = 0; at < bytes; at += CACHE_LINE_BYTES) {
        __builtin_prefetch(from + at);
    }
}

static void plane_pool(const struct operation_call *call, struct pool pool, const struct pool_lines *lines,
                       int64_t plane, float *part)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[1];
    struct pool_scratch scratch = pool_scratch_of(pool, lines, part);
    plane_lay_out(a, plane * pool.height * pool.width, pool, lines, &scratch);
    for (int64_t row = 0; row < pool.pooled_height; row++) {
        int64_t first = (plane * pool.pooled_height + row) * pool.pooled_width;
        if (plane + 1 < pool.planes) {
            int64_t ahead = pool.height / pool.pooled_height * pool.width;
            part_prefetch(a, (plane + 1) * pool.height * pool.width + row * ahead, ahead);
        }
        row_pool(&pool, lines, &scratch, row, (int64_t *)call->tensors[2].data + first);
        span_store(scratch.values, tensor_at(out, first), out->dtype, 1, pool.pooled_width);
    }
}

static const char *max_pool_by_rows(const struct operation_call *call, struct pool pool)
{
    struct pool_lines lines = pool_lines_of(pool);
    struct host_scratch scratch;
    if (!host_scratch_open(&scratch, pool_scratch_floats(pool, &lines))) {
        return host_no_memory;
    }
    HOST_PARALLEL_FOR(pool.planes * pool.height * pool.width >= PARALLEL_ELEMENTS)
    for (int64_t plane = 0; plane < pool.planes; plane++) {
        plane_pool(call, pool, &lines, plane, host_scratch_part(&scratch));
    }
    host_scratch_close(&scratch);
    return NULL;
}

/* Any windows, one by one. */
static void plane_pool_scalar(const struct operation_call *call, struct pool pool, int64_t plane, float *part)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[1];
    int64_t elements = pool.height * pool.width, pooled = pool.pooled_height * pool.pooled_width;
    int64_t *indices = (int64_t *)call->tensors[2].data + plane * pooled;
    struct span from = span_read(a, plane * elements, 1, elements, part);
    struct span to = span_target(out, plane * pooled, 1, part + elements);
    for (int64_t at = 0; at < pooled; at++) {
        struct pool_winner winner = pool_window(pool, from, at / pool.pooled_width, at % pool.pooled_width);
        to.data[at] = winner.value;
        indices[at] = winner.index;
    }
    span_write(to, out, plane * pooled, 1, pooled);
}

/* Windows give to their winners, in the order in which pool_gradient gathers: the sums are the same. */
static void plane_pool_backward(const struct operation_call *call, struct pool pool, int64_t plane, float *part)
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
    int64_t part_floats = pool.height * pool.width + pool.pooled_height * pool.pooled_width;
    if (!host_scratch_open(&scratch, part_floats)) {
        return host_no_memory;
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
    struct pool pool = pool_of(call);
    return pool_is_regular(pool) ? max_pool_by_rows(call, pool) : pool_run(call, plane_pool_scalar);
}

const char *host_max_pool_backward(const struct operation_call *call)
{
    return pool_run(call, plane_pool_backward);
}
