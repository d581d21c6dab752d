/* Launches of learned biases of attention: a thread for each bucket, and for each score whose bias has a gradient. */
#include "harness/kernels/body_attention_bias.h"
#include "harness/kernels/launch_grid.h"

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
    struct random_key key = random_key_of(attention.seed);
    int64_t count = attention.batches * attention.heads * attention.rows * attention.columns;
    for (int64_t k = thread_first(); k < count; k += thread_step()) {
        int64_t row = k / attention.columns, head = row / attention.rows;
        struct attention_place place = {head / attention.heads, head % attention.heads, row % attention.rows,
                                        k % attention.columns};
        int64_t at = place.batch * out.stride[0] + place.head * out.stride[1] + place.row * out.stride[2] +
                     place.column * out.stride[3];
        tensor_set(&out, at, bias_gradient(&attention, place, key, bias_delta(&attention, place)));
    }
}

const char *launch_attention_bias_gradient(const struct operation_call *call, cudaStream_t stream)
{
    struct attention attention;
    attention_read(&attention, call);
    int64_t count = attention.batches * attention.heads * attention.rows * attention.columns;
    bias_gradient_kernel<<<grid_blocks(count, LANES), LANES, 0, stream>>>(attention, call->tensors[call->input_count]);
    return launch_result();
}
