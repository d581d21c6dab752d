/* Launches of learned biases of attention: a thread for each bucket; a block of lanes for each block of rows of a head
 * whose scores have a bias with a gradient. */
#include "harness/kernels/body_attention_bias.h"
#include "harness/kernels/launch_attention.h"
#include "harness/kernels/plan_attention.h"

static __global__ void position_buckets_kernel(const __grid_constant__ struct bucket_shape shape, int64_t *out)
{
    for (int64_t k = thread_first(); k < shape.rows * shape.columns; k += thread_step()) {
        out[k] = position_bucket(k / shape.columns, k % shape.columns, shape);
    }
}

const char *launch_position_buckets(const struct operation_call *call, cudaStream_t stream)
{
    struct bucket_shape shape = bucket_shape_of(call);
    unsigned blocks = grid_blocks(shape.rows * shape.columns, LANES);
    position_buckets_kernel<<<blocks, LANES, 0, stream>>>(shape, (int64_t *)call->tensors[0].data);
    return launch_result();
}

static __global__ void bias_gradient_kernel(const __grid_constant__ struct attention attention,
                                            const __grid_constant__ struct tensor out)
{
    extern __shared__ __align__(16) float scratch[];
    struct team team = block_team(NULL);
    int64_t count = row_tile_count(&attention);
    for (int64_t item = blockIdx.x; item < count; item += gridDim.x) {
        attention_bias_rows(team, &attention, row_tile_place(&attention, item), &out, scratch);
    }
}

const char *launch_attention_bias_gradient(const struct operation_call *call, cudaStream_t stream)
{
    struct attention attention;
    attention_read(&attention, call);
    size_t bytes = attention_tiles_choose(&attention, TILES_BIAS, device_tile_room());
    if (bytes == 0) {
        return attention_head_too_wide;
    }
    cudaError_t error = cudaFuncSetAttribute((const void *)bias_gradient_kernel,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) {
        return cudaGetErrorString(error);
    }
    bias_gradient_kernel<<<grid_blocks(row_tile_count(&attention), 1), attention_lanes(&attention), bytes, stream>>>(
        attention, call->tensors[call->input_count]);
    return launch_result();
}
