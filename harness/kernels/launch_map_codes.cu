/* Launches of codes of a map: a team of lanes for each block that shares a scale. */
#include "harness/kernels/body_quantize.h"
#include "harness/kernels/launch_grid.h"
#include "harness/kernels/launch_group.h"

ROW_KERNEL_FUNCTION map_quantize_kernel(const __grid_constant__ struct operation_call call, int64_t count,
                                        int64_t blocks)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    const float *map = (const float *)call.tensors[1].data;
    int64_t block = call.attributes.i[0];
    for (int64_t b = blockIdx.x; b < blocks; b += gridDim.x) {
        int64_t elements = count - b * block < block ? count - b * block : block;
        struct span a = span_at(&call.tensors[0], b * block);
        float scale = block_magnitude(team, a, elements);
        map_codes_write(team, a, elements, map, scale, (uint8_t *)call.tensors[2].data + b * block);
        if (team.lane == 0) {
            ((float *)call.tensors[3].data)[b] = scale;
        }
    }
}

const char *launch_map_quantize(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = tensor_element_count(&call->tensors[0]), blocks = tensor_element_count(&call->tensors[3]);
    map_quantize_kernel<<<grid_blocks(blocks, 1), row_lanes(call->attributes.i[0]), 0, stream>>>(*call, count, blocks);
    return launch_result();
}

static __global__ void map_dequantize_kernel(const __grid_constant__ struct operation_call call, int64_t count)
{
    const uint8_t *codes = (const uint8_t *)call.tensors[0].data;
    const float *scales = (const float *)call.tensors[1].data, *map = (const float *)call.tensors[2].data;
    for (int64_t k = thread_first(); k < count; k += thread_step()) {
        tensor_set(&call.tensors[3], k, map[codes[k]] * scales[k / call.attributes.i[0]]);
    }
}

const char *launch_map_dequantize(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = tensor_element_count(&call->tensors[3]);
    map_dequantize_kernel<<<grid_blocks(count, LANES), LANES, 0, stream>>>(*call, count);
    return launch_result();
}
