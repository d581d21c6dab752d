/* Launches of quantised storage: a team of lanes for each block with a scale of its own, for each gathered row, for each
 * output column. */
#include "harness/kernels/body_quantize.h"
#include "harness/kernels/launch_grid.h"

ROW_KERNEL_FUNCTION quantize_kernel(const __grid_constant__ struct operation_call call, int64_t count, int64_t blocks)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    int64_t block = call.attributes.i[0];
    enum dtype dtype = call.tensors[1].dtype;
    for (int64_t b = blockIdx.x; b < blocks; b += gridDim.x) {
        int64_t elements = count - b * block < block ? count - b * block : block;
        struct span a = span_at(&call.tensors[0], b * block);
        float scale = block_scale(dtype, block_magnitude(team, a, elements));
        block_codes(team, a, b * block, elements, call.tensors[1].data, dtype, scale);
        if (team.lane == 0) {
            ((float *)call.tensors[2].data)[b] = scale;
        }
    }
}

/* One scale for a whole tensor. The magnitude of a positive number orders as its bits do. */
static __global__ void magnitude_kernel(const __grid_constant__ struct operation_call call, int64_t count)
{
    float largest = 0.0f;
    for (int64_t k = thread_first(); k < count; k += thread_step()) {
        float magnitude = fabsf(tensor_get(&call.tensors[0], k));
        largest = magnitude > largest ? magnitude : largest;
    }
    for (int step = 16; step > 0; step >>= 1) {
        float other = __shfl_xor_sync(0xffffffffu, largest, step);
        largest = other > largest ? other : largest;
    }
    if ((threadIdx.x & 31) == 0) {
        atomicMax((int *)call.tensors[2].data, (int)float_bits(largest));
    }
}

static __global__ void scale_kernel(const __grid_constant__ struct operation_call call, bool begins)
{
    float *scale = (float *)call.tensors[2].data;
    *scale = begins ? 0.0f : block_scale(call.tensors[1].dtype, *scale);
}

static __global__ void codes_kernel(const __grid_constant__ struct operation_call call, int64_t count)
{
    float scale = *(const float *)call.tensors[2].data;
    struct team one = {0, 1, NULL};
    for (int64_t k = 2 * thread_first(); k < count; k += 2 * thread_step()) {
        block_codes(one, span_at(&call.tensors[0], k), k, count - k < 2 ? count - k : 2, call.tensors[1].data,
                    call.tensors[1].dtype, scale);
    }
}

const char *launch_quantize(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = elements_of(&call->tensors[0]), blocks = elements_of(&call->tensors[2]);
    if (blocks > 1 || count <= ROW_LANES_MAXIMUM) {
        quantize_kernel<<<grid_blocks(blocks, 1), row_lanes(call->attributes.i[0]), 0, stream>>>(*call, count, blocks);
        return launch_result();
    }
    scale_kernel<<<1, 1, 0, stream>>>(*call, true);
    magnitude_kernel<<<grid_blocks(count, 8 * LANES), LANES, 0, stream>>>(*call, count);
    scale_kernel<<<1, 1, 0, stream>>>(*call, false);
    codes_kernel<<<grid_blocks(count, 2 * LANES), LANES, 0, stream>>>(*call, count);
    return launch_result();
}

static __global__ void dequantize_kernel(const __grid_constant__ struct operation_call call, int64_t count,
                                         int64_t columns)
{
    const struct tensor *codes = &call.tensors[0], *out = &call.tensors[call.input_count];
    const float *scales = (const float *)call.tensors[1].data;
    const int64_t *ids = call.input_count == 3 ? (const int64_t *)call.tensors[2].data : NULL;
    int64_t block = call.attributes.i[0], rows = call.attributes.i[1];
    for (int64_t k = thread_first(); k < count; k += thread_step()) {
        int64_t from = k;
        bool valid = true;
        if (ids != NULL) {
            int64_t id = ids[k / columns];
            valid = id >= 0 && id < rows;
            from = id * columns + k % columns;
        }
        tensor_set(out, k, valid ? code_value(codes->data, codes->dtype, from, scales[from / block]) : NAN);
    }
}

const char *launch_dequantize(const struct operation_call *call, cudaStream_t stream)
{
    const struct tensor *out = &call->tensors[call->input_count];
    int64_t count = elements_of(out);
    dequantize_kernel<<<grid_blocks(count, LANES), LANES, 0, stream>>>(*call, count, rows_of(out).columns);
    return launch_result();
}

/* A team for each output column, so that a row of codes is read once for a row of a. */
ROW_KERNEL_FUNCTION quantized_linear_kernel(const __grid_constant__ struct operation_call call, struct rows a,
                                            int64_t outputs)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    const struct tensor *codes = &call.tensors[1], *out = &call.tensors[call.input_count];
    const float *scales = (const float *)call.tensors[2].data;
    for (int64_t column = blockIdx.x; column < outputs; column += gridDim.x) {
        float bias = call.input_count == 4 ? tensor_get(&call.tensors[3], column) : 0.0f;
        for (int64_t row = 0; row < a.count; row++) {
            struct span from = span_at(&call.tensors[0], row * a.columns);
            float sum = quantized_dot(team, from, codes->data, codes->dtype, scales, call.attributes.i[0],
                                      column * a.columns, a.columns);
            if (team.lane == 0) {
                tensor_set(out, row * outputs + column, sum + bias);
            }
        }
    }
}

const char *launch_quantized_linear(const struct operation_call *call, cudaStream_t stream)
{
    struct rows a = rows_of(&call->tensors[0]);
    int64_t outputs = rows_of(&call->tensors[call->input_count]).columns;
    quantized_linear_kernel<<<grid_blocks(outputs, 1), row_lanes(a.columns), 0, stream>>>(*call, a, outputs);
    return launch_result();
}

static __global__ void sums_kernel(const __grid_constant__ struct operation_call call, struct rows rows)
{
    const int32_t *sums = (const int32_t *)call.tensors[0].data;
    const float *row_scales = (const float *)call.tensors[1].data, *column_scales = (const float *)call.tensors[2].data;
    for (int64_t k = thread_first(); k < rows.count * rows.columns; k += thread_step()) {
        tensor_set(&call.tensors[3], k,
                   sum_value(sums[k], row_scales[k / rows.columns], column_scales[k % rows.columns]));
    }
}

const char *launch_dequantize_sums(const struct operation_call *call, cudaStream_t stream)
{
    struct rows rows = rows_of(&call->tensors[0]);
    sums_kernel<<<grid_blocks(rows.count * rows.columns, LANES), LANES, 0, stream>>>(*call, rows);
    return launch_result();
}
