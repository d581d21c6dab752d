/* Launches of max pooling: a thread for each element. */
#include "harness/kernels/body_pool.h"
#include "harness/kernels/launch_grid.h"

static __global__ void max_pool_kernel(const __grid_constant__ struct operation_call call, struct pool pool)
{
    int64_t pooled = pool.pooled_height * pool.pooled_width;
    int64_t *indices = (int64_t *)call.tensors[2].data;
    for (int64_t k = thread_first(); k < pool.planes * pooled; k += thread_step()) {
        struct span plane = span_at(&call.tensors[0], k / pooled * pool.height * pool.width);
        struct pool_winner winner = pool_window(pool, plane, k % pooled / pool.pooled_width, k % pool.pooled_width);
        tensor_set(&call.tensors[1], k, winner.value);
        indices[k] = winner.index;
    }
}

const char *launch_max_pool(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = tensor_element_count(&call->tensors[1]);
    max_pool_kernel<<<grid_blocks(count, LANES), LANES, 0, stream>>>(*call, pool_of(call));
    return launch_result();
}

static __global__ void max_pool_backward_kernel(const __grid_constant__ struct operation_call call, struct pool pool)
{
    int64_t elements = pool.height * pool.width;
    int64_t pooled = pool.pooled_height * pool.pooled_width;
    for (int64_t k = thread_first(); k < pool.planes * elements; k += thread_step()) {
        int64_t plane = k / elements;
        const int64_t *indices = (const int64_t *)call.tensors[1].data + plane * pooled;
        struct span grad = span_at(&call.tensors[0], plane * pooled);
        float sum = pool_gradient(pool, grad, indices, k % elements / pool.width, k % pool.width);
        tensor_set(&call.tensors[2], k, sum);
    }
}

const char *launch_max_pool_backward(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = tensor_element_count(&call->tensors[2]);
    max_pool_backward_kernel<<<grid_blocks(count, LANES), LANES, 0, stream>>>(*call, pool_of(call));
    return launch_result();
}
