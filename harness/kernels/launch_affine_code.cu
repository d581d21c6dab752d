/* Launches of affine codes: a team of lanes for each row of EXTREME, a thread for each byte of the codes. */
#include "harness/kernels/body_affine_code.h"
#include "harness/kernels/launch_grid.h"

ROW_KERNEL_FUNCTION extreme_kernel(const __grid_constant__ struct operation_call call, struct rows rows, float sign)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
        float highest = span_highest(team, span_at(&call.tensors[0], row * rows.columns), rows.columns, sign);
        if (team.lane == 0) {
            tensor_set(&call.tensors[1], row, sign * highest);
        }
    }
}

const char *launch_extreme(const struct operation_call *call, cudaStream_t stream)
{
    struct rows rows = rows_of(&call->tensors[0]);
    float sign = call->attributes.i[0] == 1 ? 1.0f : -1.0f;
    extreme_kernel<<<grid_blocks(rows.count, 1), row_lanes(rows.columns), 0, stream>>>(*call, rows, sign);
    return launch_result();
}

static __global__ void pack_bits_kernel(const uint8_t *a, uint8_t *shifted, uint8_t *packed, int64_t count, int bits,
                                        int place)
{
    for (int64_t k = thread_first(); k < count; k += thread_step()) {
        shifted[k] = code_placed(a[k], bits, place);
        packed[k] |= shifted[k];
    }
}

const char *launch_pack_bits(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = tensor_element_count(&call->tensors[0]);
    pack_bits_kernel<<<grid_blocks(count, LANES), LANES, 0, stream>>>(
        (const uint8_t *)call->tensors[0].data, (uint8_t *)call->tensors[1].data, (uint8_t *)call->tensors[2].data,
        count, (int)call->attributes.i[0], (int)call->attributes.i[1]);
    return launch_result();
}

static __global__ void unpack_bits_kernel(const uint8_t *packed, uint8_t *out, int64_t count, int bits)
{
    for (int64_t k = thread_first(); k < count; k += thread_step()) {
        for (int place = 0; place < 8 / bits; place++) {
            out[place * count + k] = code_at(packed[k], bits, place);
        }
    }
}

const char *launch_unpack_bits(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = tensor_element_count(&call->tensors[0]);
    unpack_bits_kernel<<<grid_blocks(count, LANES), LANES, 0, stream>>>(
        (const uint8_t *)call->tensors[0].data, (uint8_t *)call->tensors[1].data, count, (int)call->attributes.i[0]);
    return launch_result();
}
