/* Grouped products in float32, of every dtype: a block makes a tile after the other, whose factors pass through shared
 * memory. What fits tensor cores goes there (launch_grouped_core.cu). */
#include "harness/kernels/body_grouped_tile.h"
#include "harness/kernels/launch_packet.h"

/* A lane has EACH by EACH sums. A line of a tile in shared memory has the factors of one term; PITCH lets neighbouring
 * lanes write to different banks. */
enum { SIDE = GROUPED_SIDE, TERMS = GROUPED_TERMS, EACH = 4, PITCH = SIDE + 4 };

typedef void grouped_kernel(const struct grouped_matmul matmul);

struct alignas(16) floats_of_4 {
    float at[EACH];
};

template <enum dtype dtype> BODY float factor_get(const struct tensor *tensor, int64_t index)
{
    float value;
    if (dtype == DTYPE_COUNT) {
        return tensor_get(tensor, index);
    }
    packet_load<dtype == DTYPE_COUNT ? DTYPE_FLOAT32 : dtype, 1>(tensor->data, index, &value);
    return value;
}

/* Factors of terms [term, term + TERMS), zeros where there are none. Neighbouring lanes read what lies side by side: 8
 * terms of 4 lines, or 32 lines of one term. */
template <enum dtype dtype>
BODY void factors_fetch(struct floats_of_4 (*to)[PITCH / EACH], const struct tensor *tensor,
                        const struct grouped_factor *factor, int count, int64_t term, int64_t terms)
{
    bool along_terms = factor->term_step == 1 && factor->step != 1;
#pragma unroll 4
    for (int k = 0; k < SIDE * TERMS / LANES; k++) {
        int item = k * LANES + (int)threadIdx.x;
        int line = along_terms ? (item >> 3) % SIDE : item % SIDE;
        int at = along_terms ? (item & 7) + (item / (8 * SIDE)) * 8 : item / SIDE;
        bool inside = line < count && term + at < terms;
        to[at][line / EACH].at[line % EACH] =
            inside ? factor_get<dtype>(tensor, factor->first + line * factor->step + (term + at) * factor->term_step)
                   : 0.0f;
    }
}

BODY void factors_multiply(float (&sum)[EACH][EACH], const struct floats_of_4 (*a)[PITCH / EACH],
                           const struct floats_of_4 (*b)[PITCH / EACH], int row, int column)
{
#pragma unroll 4
    for (int term = 0; term < TERMS; term++) {
        struct floats_of_4 left = a[term][row / EACH];
        struct floats_of_4 right = b[term][column / EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                sum[i][j] += left.at[i] * right.at[j];
            }
        }
    }
}

template <enum dtype dtype>
static __global__ void __launch_bounds__(LANES) tiles_kernel(const __grid_constant__ struct grouped_matmul matmul)
{
    __shared__ struct floats_of_4 a_tile[TERMS][PITCH / EACH];
    __shared__ struct floats_of_4 b_tile[TERMS][PITCH / EACH];
    int row = (int)threadIdx.x / (SIDE / EACH) * EACH, column = (int)threadIdx.x % (SIDE / EACH) * EACH;
    for (int64_t item = blockIdx.x; item < matmul.places * matmul.column_tiles; item += gridDim.x) {
        struct grouped_tile tile = grouped_tile_at(&matmul, item);
        float sum[EACH][EACH] = {};
        bool has_some = row < tile.rows && column < tile.columns;
        for (int64_t term = 0; tile.rows > 0 && term < tile.terms; term += TERMS) {
            factors_fetch<dtype>(a_tile, &matmul.a, &tile.a, tile.rows, term, tile.terms);
            factors_fetch<dtype>(b_tile, &matmul.b, &tile.b, tile.columns, term, tile.terms);
            __syncthreads();
            if (has_some) {
                factors_multiply(sum, a_tile, b_tile, row, column);
            }
            __syncthreads();
        }
#pragma unroll
        for (int k = 0; k < EACH * EACH; k++) {
            int i = k / EACH, j = k % EACH;
            if (row + i < tile.rows && column + j < tile.columns) {
                tensor_set(&matmul.out, tile.out + (row + i) * matmul.columns + column + j, sum[i][j]);
            }
        }
    }
}

const char *launch_grouped_matmul(const struct operation_call *call, cudaStream_t stream)
{
    if (grouped_matmul_fits_core(call)) {
        return grouped_matmul_core(call, stream);
    }
    struct grouped_matmul matmul = grouped_matmul_of(call, SIDE);
    enum dtype dtype = matmul.a.dtype == matmul.b.dtype ? matmul.a.dtype : DTYPE_COUNT;
    grouped_kernel *kernel = dtype == DTYPE_FLOAT32    ? tiles_kernel<DTYPE_FLOAT32>
                             : dtype == DTYPE_FLOAT16  ? tiles_kernel<DTYPE_FLOAT16>
                             : dtype == DTYPE_BFLOAT16 ? tiles_kernel<DTYPE_BFLOAT16>
                                                       : tiles_kernel<DTYPE_COUNT>;
    kernel<<<grid_blocks(matmul.places * matmul.column_tiles, 1), LANES, 0, stream>>>(matmul);
    return launch_result();
}
