/* Each function of harness/kernels/tensor_core.h by its PTX, and by its stand-in, of the same random inputs. */
#include "tests/cuda_emulation/checked/planted.h"

#include <cuda_runtime.h>
#include <string.h>

#include "harness/kernels/body.h"
#include "harness/kernels/launch_grid.h"
#include "tests/cuda_emulation/checked/ptx.h"

#undef ASSAY_KERNELS_TENSOR_CORE_H
namespace ptx
{
#include "tests/cuda_emulation/checked/tensor_core_ptx.h"
}

namespace
{

enum { PTX_LANES = 64, ROUNDS = 200, PLACE_BYTES = 1024 };

BODY uint32_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) ^ (uint32_t)(*state >> 11);
}

/* Any bits, or those of a number that lies between two of 16 bits. */
BODY float random_float(uint64_t *state)
{
    uint32_t bits = random_next(state);
    return float_from_bits(random_next(state) % 2 == 0 ? bits : (bits & 0xbffff000u) | 0x30000000u);
}

/* A sum is one of many NaN. */
BODY int differs(float a, float b)
{
    return float_bits(a) != float_bits(b) && !(a != a && b != b);
}

BODY int pair_differs(uint32_t a, uint32_t b, bool half)
{
    int differing = 0;
    for (int k = 0; k < 32; k += 16) {
        uint16_t x = (uint16_t)(a >> k), y = (uint16_t)(b >> k);
        differing += half ? differs(float_from_float16(x), float_from_float16(y))
                          : differs(float_from_bfloat16(x), float_from_bfloat16(y));
    }
    return differing;
}

template <enum dtype dtype> BODY int products_differ(uint64_t *state)
{
    float sum[4], also[4];
    uint32_t left[4], right[2];
    int differing = 0;
    uint32_t mask = random_next(state) % 4 == 0 ? 0xffffffffu : 0xbfffbfffu; /* without what overflows */
    for (int k = 0; k < 4; k++) {
        sum[k] = also[k] = (float)(int32_t)random_next(state) * 0x1p-16f;
        left[k] = random_next(state) & mask;
    }
    right[0] = random_next(state) & mask;
    right[1] = random_next(state) & mask;
    tensor_core_multiply<dtype>(sum, left, right[0], right[1]);
    ptx::tensor_core_multiply<dtype>(also, left, right[0], right[1]);
    for (int k = 0; k < 4; k++) {
        differing += differs(sum[k], also[k]);
    }
    return differing;
}

template <enum dtype dtype> BODY int pairs_differ(uint64_t *state)
{
    float low = random_float(state), high = random_float(state);
    return pair_differs(pair_of<dtype>(low, high), ptx::pair_of<dtype>(low, high), dtype == DTYPE_FLOAT16);
}

/* scratch: a line of 16 bytes for each lane. */
BODY int matrices_differ(uint64_t *state, char *scratch, bool transposed)
{
    uint32_t own[4], also[4];
    int differing = 0, warp = (int)threadIdx.x / 32 * 32;
    uint32_t *line = (uint32_t *)(scratch + 16 * threadIdx.x);
    const uint16_t *row = (const uint16_t *)(scratch + 16 * (warp + (int)(threadIdx.x * 5 + 3) % 32));
    for (int k = 0; k < 4; k++) {
        line[k] = random_next(state);
    }
    __syncthreads();
    if (transposed) {
        matrices_load_transposed(own, row);
        ptx::matrices_load_transposed(also, row);
    } else {
        matrices_load(own, row);
        ptx::matrices_load(also, row);
    }
    for (int k = 0; k < 4; k++) {
        differing += own[k] != also[k];
    }
    __syncthreads();
    return differing;
}

/* Two groups of copies, the second waited for after the first; here by the stand-ins, behind that by PTX. */
BODY int copies_differ(uint64_t *state, char *scratch, const char *from)
{
    char *own = scratch + 16 * threadIdx.x, *also = own + 2 * PLACE_BYTES;
    bool inside = random_next(state) % 2 == 0;
    copy_begin_16(own, from + 16 * threadIdx.x, inside);
    ptx::copy_begin_16(also, from + 16 * threadIdx.x, inside);
    copies_group();
    ptx::copies_group();
    inside = random_next(state) % 2 == 0;
    for (int k = 0; k < 16; k += 4) {
        copy_begin_4(own + PLACE_BYTES + k, from + 16 * threadIdx.x + k, inside);
        ptx::copy_begin_4(also + PLACE_BYTES + k, from + 16 * threadIdx.x + k, inside);
    }
    copies_group();
    ptx::copies_group();
    copies_wait<1>();
    ptx::copies_wait<1>();
    int differing = 0;
    for (int k = 0; k < 16; k++) {
        differing += own[k] != also[k];
    }
    copies_wait<0>();
    ptx::copies_wait<0>();
    for (int k = 0; k < 16; k++) {
        differing += own[PLACE_BYTES + k] != also[PLACE_BYTES + k];
    }
    __syncthreads();
    return differing;
}

/* counts: [PTX_FUNCTIONS][PTX_LANES]. */
__global__ void ptx_compare(const float *from, float *counts, uint64_t seed)
{
    extern __shared__ float kept[];
    char *scratch = (char *)kept;
    uint64_t state = seed + threadIdx.x * 0x9e3779b97f4a7c15u;
    int differing[PTX_FUNCTIONS] = {};
    for (int round = 0; round < ROUNDS; round++) {
        differing[0] += products_differ<DTYPE_FLOAT16>(&state);
        differing[1] += products_differ<DTYPE_BFLOAT16>(&state);
        differing[2] += pairs_differ<DTYPE_FLOAT16>(&state);
        differing[3] += pairs_differ<DTYPE_BFLOAT16>(&state);
        differing[4] += matrices_differ(&state, scratch, false);
        differing[5] += matrices_differ(&state, scratch, true);
        differing[6] += copies_differ(&state, scratch, (const char *)from);
        differing[7] += ptx::value_here((int64_t)state) != (int64_t)state;
    }
    for (int k = 0; k < PTX_FUNCTIONS; k++) {
        counts[k * PTX_LANES + (int)threadIdx.x] = (float)differing[k];
    }
}

} // namespace

const char *ptx_compare_run(const struct operation_call *call)
{
    const float *from = (const float *)call->tensors[0].data;
    float *counts = (float *)call->tensors[call->input_count].data;
    if (tensor_element_count(&call->tensors[0]) < PTX_FUNCTIONS * PTX_LANES) {
        return "the tensors are too short";
    }
    ptx_compare<<<1, PTX_LANES, 4 * PLACE_BYTES>>>(from, counts, 12345u);
    return launch_result();
}
