/* Launches of quantised storage: a team of lanes for each block with a scale of its own, for each gathered row, for
 * each output column. */
#include "harness/kernels/body_quantize.h"
#include "harness/kernels/launch_group.h"

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
    int64_t count = tensor_element_count(&call->tensors[0]), blocks = tensor_element_count(&call->tensors[2]);
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

/* Whether eight neighbouring elements share a scale and lie with their codes where they can be moved at once. */
static bool codes_group(const struct tensor *codes, const struct tensor *other, int64_t block, int64_t columns)
{
    bool whole = block % GROUP == 0 && columns % GROUP == 0;
    return whole && dtype_is_packed(other->dtype) && group_begins(other) && (uintptr_t)codes->data % GROUP == 0;
}

/* The worth of codes [index, index + GROUP), which share a scale. */
BODY struct element_group codes_get(const struct tensor *codes, int64_t index, float scale)
{
    struct element_group group;
    uint32_t word[2];
    if (codes->dtype == DTYPE_NF4X2) {
        words_load<GROUP / 2>((const char *)codes->data + index / 2, word);
    } else {
        words_load<GROUP>((const char *)codes->data + index, word);
    }
#pragma unroll
    for (int n = 0; n < GROUP; n++) {
        group.at[n] = code_value(word, codes->dtype, n, scale);
    }
    return group;
}

struct dequantize_launch {
    struct operation_call call;
    int64_t count, groups; /* groups of eight among the elements, the first */
    int64_t columns, block, table_rows;
    const int64_t *ids; /* NULL: none */
};

/* The element of the codes that element k of the result is; -1 for a wrong id. */
BODY int64_t dequantize_source(const struct dequantize_launch &launch, int64_t k)
{
    if (launch.ids == NULL) {
        return k;
    }
    int64_t id = launch.ids[k / launch.columns];
    return id >= 0 && id < launch.table_rows ? id * launch.columns + k % launch.columns : -1;
}

static __global__ void dequantize_kernel(const __grid_constant__ struct dequantize_launch launch)
{
    const struct tensor *codes = &launch.call.tensors[0], *out = &launch.call.tensors[launch.call.input_count];
    const float *scales = (const float *)launch.call.tensors[1].data;
    for (int64_t k = thread_first(); k < launch.groups; k += thread_step()) {
        int64_t from = dequantize_source(launch, k * GROUP);
        struct element_group group = group_alike(NAN);
        if (from >= 0) {
            group = codes_get(codes, from, scales[from / launch.block]);
        }
        group_set(out, k * GROUP, group);
    }
    for (int64_t k = launch.groups * GROUP + thread_first(); k < launch.count; k += thread_step()) {
        int64_t from = dequantize_source(launch, k);
        tensor_set(out, k, from < 0 ? NAN : code_value(codes->data, codes->dtype, from, scales[from / launch.block]));
    }
}

const char *launch_dequantize(const struct operation_call *call, cudaStream_t stream)
{
    const struct tensor *out = &call->tensors[call->input_count];
    struct dequantize_launch launch;
    launch.call = *call;
    launch.count = tensor_element_count(out);
    launch.block = call->attributes.i[0];
    launch.table_rows = call->attributes.i[1];
    launch.ids = call->input_count == 3 ? (const int64_t *)call->tensors[2].data : NULL;
    launch.columns = rows_of(out).columns;
    /* Without ids only what is left over at the end does not fill a group. */
    int64_t line = launch.ids == NULL ? GROUP : launch.columns;
    launch.groups = codes_group(&call->tensors[0], out, launch.block, line) ? launch.count / GROUP : 0;
    dequantize_kernel<<<group_blocks(launch.count, launch.groups), LANES, 0, stream>>>(launch);
    return launch_result();
}

/* quantized_dot, eight elements at a time. */
BODY float quantized_group_dot(struct team team, const struct tensor *a, int64_t a_first, const struct tensor *codes,
                               const struct block_scales *scales, int64_t first, int64_t columns)
{
    float sum = 0.0f;
    for (int64_t k = team.lane * GROUP; k < columns; k += (int64_t)team.lanes * GROUP) {
        struct element_group left = group_get(a, a_first + k);
        float scale = block_scale_at(scales, (first + k) / scales->length);
        struct element_group right = codes_get(codes, first + k, scale);
#pragma unroll
        for (int n = 0; n < GROUP; n++) {
            sum += left.at[n] * right.at[n];
        }
    }
    return team_sum(team, sum);
}

/* A team for each output column, so that a row of codes is read once for a row of a. */
ROW_KERNEL_FUNCTION quantized_linear_kernel(const __grid_constant__ struct operation_call call, struct rows a,
                                            int64_t outputs, bool groups)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    const struct tensor *codes = &call.tensors[1], *out = &call.tensors[call.input_count];
    struct block_scales scales = block_scales_of(&call);
    int biased = linear_bias_index(&call);
    for (int64_t column = blockIdx.x; column < outputs; column += gridDim.x) {
        float bias = biased >= 0 ? tensor_get(&call.tensors[biased], column) : 0.0f;
        for (int64_t row = 0; row < a.count; row++) {
            int64_t first = column * a.columns;
            float sum =
                groups ? quantized_group_dot(team, &call.tensors[0], row * a.columns, codes, &scales, first, a.columns)
                       : quantized_dot(team, span_at(&call.tensors[0], row * a.columns), codes->data, codes->dtype,
                                       &scales, first, a.columns);
            if (team.lane == 0) {
                tensor_set(out, row * outputs + column, sum + bias);
            }
        }
    }
}

const char *launch_quantized_linear(const struct operation_call *call, cudaStream_t stream)
{
    const struct tensor *t = call->tensors;
    struct rows a = rows_of(&t[0]);
    int64_t outputs = rows_of(&t[call->input_count]).columns;
    bool groups = codes_group(&t[1], &t[0], call->attributes.i[0], a.columns);
    unsigned lanes = row_lanes(groups ? a.columns / GROUP : a.columns);
    quantized_linear_kernel<<<grid_blocks(outputs, 1), lanes, 0, stream>>>(*call, a, outputs, groups);
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
