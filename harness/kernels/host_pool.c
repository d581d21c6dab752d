/* Max pooling on the host: planes are dealt to threads. */
#include "harness/kernels/body_pool.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

static const char no_memory[] = "the host has no memory for the planes in float32";

/* Floats of scratch for a plane and its result. */
static int64_t pool_floats(struct pool pool)
{
    return pool.height * pool.width + pool.pooled_height * pool.pooled_width;
}

static void pool_plane(const struct operation_call *call, struct pool pool, int64_t plane, float *part)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[1];
    int64_t *indices = call->tensors[2].data;
    int64_t elements = pool.height * pool.width;
    int64_t pooled = pool.pooled_height * pool.pooled_width;
    struct span from = span_read(a, plane * elements, 1, elements, part);
    struct span to = span_target(out, plane * pooled, 1, part + elements);
    for (int64_t row = 0; row < pool.pooled_height; row++) {
        for (int64_t column = 0; column < pool.pooled_width; column++) {
            struct pool_winner winner = pool_window(pool, from, row, column);
            int64_t at = row * pool.pooled_width + column;
            to.data[at] = winner.value;
            indices[plane * pooled + at] = winner.index;
        }
    }
    span_write(to, out, plane * pooled, 1, pooled);
}

static void pool_plane_backward(const struct operation_call *call, struct pool pool, int64_t plane, float *part)
{
    const struct tensor *grad = &call->tensors[0], *out = &call->tensors[2];
    int64_t elements = pool.height * pool.width;
    int64_t pooled = pool.pooled_height * pool.pooled_width;
    const int64_t *indices = (const int64_t *)call->tensors[1].data + plane * pooled;
    struct span from = span_read(grad, plane * pooled, 1, pooled, part);
    struct span to = span_target(out, plane * elements, 1, part + pooled);
    for (int64_t y = 0; y < pool.height; y++) {
        for (int64_t x = 0; x < pool.width; x++) {
            to.data[y * pool.width + x] = pool_gradient(pool, from, indices, y, x);
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
