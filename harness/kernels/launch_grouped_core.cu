/* Grouped products on tensor cores: which calls fit, and the kernels. A warp has 64 rows and 32 columns of its block's
 * tile of 128 by 128; factors pass through shared memory, those of the next terms while these are multiplied. */
#include "harness/kernels/body_grouped_tile.h"
#include "harness/kernels/launch_core.h"

/* Strips of 16 rows and groups of 8 columns of a warp. A line of a tile is the side's factors of one term, or one row's
 * or column's of all terms, with a gap so that 8 lines lie in different banks. */
enum {
    SIDE = GROUPED_CORE_SIDE,
    TERMS = GROUPED_TERMS,
    STRIPS = 4,
    COLUMN_GROUPS = 4,
    ALONG_TERMS_PITCH = TERMS + 8,
    ACROSS_PITCH = SIDE + 8,
    TILE_NUMBERS = SIDE * ALONG_TERMS_PITCH
};

static_assert(TERMS * ACROSS_PITCH <= TILE_NUMBERS, "both ways fit");

struct alignas(16) numbers_of_8 {
    uint16_t at[8];
};

typedef void grouped_kernel(const struct grouped_matmul matmul);

/* Begins to copy the factors of terms [term, term + TERMS). along_terms: those of one line lie side by side, else those
 * of one term. Groups of 8 are there or not as a whole. */
template <bool along_terms>
BODY void core_factors_fetch(uint16_t *to, const struct tensor *tensor, const struct grouped_factor *factor, int count,
                             int64_t term, int64_t terms)
{
    constexpr int groups = (along_terms ? TERMS : SIDE) / 8;
    const uint16_t *data = (const uint16_t *)tensor->data;
#pragma unroll
    for (int k = 0; k < SIDE * TERMS / 8 / LANES; k++) {
        int item = k * LANES + (int)threadIdx.x;
        int line = item / groups, within = item % groups * 8;
        int across = along_terms ? line : within, at = along_terms ? within : line;
        bool inside = across < count && term + at < terms;
        const uint16_t *from = data + factor->first + across * factor->step + (term + at) * factor->term_step;
        copy_begin_16(to + line * (along_terms ? ALONG_TERMS_PITCH : ACROSS_PITCH) + within, inside ? from : data,
                      inside);
    }
}

/* Four matrices of 8 by 8: from line or column `across` on, of which across_bit says which matrices are 8 further, and
 * from term `at` on likewise. */
template <bool along_terms>
BODY void core_factors_load(uint32_t (&pairs)[4], const uint16_t *tile, int across, int across_bit, int at, int at_bit)
{
    int lane = (int)threadIdx.x & 31, matrix = lane >> 3, line = lane & 7;
    across += (matrix >> across_bit & 1) * 8;
    at += (matrix >> at_bit & 1) * 8;
    if (along_terms) {
        matrices_load(pairs, tile + (across + line) * ALONG_TERMS_PITCH + at);
    } else {
        matrices_load_transposed(pairs, tile + (at + line) * ACROSS_PITCH + across);
    }
}

/* sums += the warp's rows times its columns. rows: how many of the tile's are left from the warp's first on. */
template <enum dtype dtype, bool a_along, bool b_along>
BODY void core_factors_multiply(float (&sum)[STRIPS][COLUMN_GROUPS][4], const uint16_t *a, const uint16_t *b,
                                int first_row, int first_column, int rows)
{
#pragma unroll
    for (int at = 0; at < TERMS; at += 16) {
        uint32_t right[COLUMN_GROUPS / 2][4];
#pragma unroll
        for (int pair = 0; pair < COLUMN_GROUPS / 2; pair++) {
            core_factors_load<b_along>(right[pair], b, first_column + pair * 16, 1, at, 0);
        }
#pragma unroll
        for (int strip = 0; strip < STRIPS; strip++) {
            if (strip * 16 < rows) {
                uint32_t left[4];
                core_factors_load<a_along>(left, a, first_row + strip * 16, 0, at, 1);
#pragma unroll
                for (int group = 0; group < COLUMN_GROUPS; group++) {
                    tensor_core_multiply<dtype>(sum[strip][group], left, right[group / 2][group % 2 * 2],
                                                right[group / 2][group % 2 * 2 + 1]);
                }
            }
        }
    }
}

/* Two neighbouring sums of a row. */
template <enum dtype dtype>
BODY void core_sums_store(const struct grouped_matmul *matmul, int64_t index, bool both, bool paired, float low,
                          float high)
{
    if (paired) {
        *(uint32_t *)(void *)((uint16_t *)matmul->out.data + index) = pair_of<dtype>(low, high);
        return;
    }
    tensor_set(&matmul->out, index, low);
    if (both) {
        tensor_set(&matmul->out, index + 1, high);
    }
}

template <enum dtype dtype>
BODY void core_tile_store(const struct grouped_matmul *matmul, const struct grouped_tile *tile,
                          const float (&sum)[STRIPS][COLUMN_GROUPS][4], int first_row, int first_column)
{
    int lane = (int)threadIdx.x & 31;
    bool paired =
        matmul->out.dtype == dtype && matmul->columns % 2 == 0 && (uintptr_t)matmul->out.data % sizeof(uint32_t) == 0;
#pragma unroll
    for (int k = 0; k < STRIPS * COLUMN_GROUPS * 2; k++) {
        int strip = k / (COLUMN_GROUPS * 2), group = k / 2 % COLUMN_GROUPS, half = k % 2;
        int row = first_row + strip * 16 + half * 8 + lane / 4, column = first_column + group * 8 + lane % 4 * 2;
        if (row < tile->rows && column < tile->columns) {
            core_sums_store<dtype>(matmul, tile->out + row * matmul->columns + column, column + 1 < tile->columns,
                                   paired, sum[strip][group][half * 2], sum[strip][group][half * 2 + 1]);
        }
    }
}

template <enum dtype dtype, bool a_along, bool b_along>
BODY void core_tile_make(const struct grouped_matmul *matmul, const struct grouped_tile *tile,
                         uint16_t (*tiles)[2][TILE_NUMBERS])
{
    int warp = (int)threadIdx.x >> 5, first_row = warp / 4 * 16 * STRIPS, first_column = warp % 4 * 8 * COLUMN_GROUPS;
    float sum[STRIPS][COLUMN_GROUPS][4] = {};
    for (int64_t term = -TERMS; term < tile->terms; term += TERMS) {
        int64_t next = term + TERMS;
        if (next < tile->terms) {
            uint16_t(*stage)[TILE_NUMBERS] = tiles[next / TERMS & 1];
            core_factors_fetch<a_along>(stage[0], &matmul->a, &tile->a, tile->rows, next, tile->terms);
            core_factors_fetch<b_along>(stage[1], &matmul->b, &tile->b, tile->columns, next, tile->terms);
        }
        copies_group();
        if (term >= 0) {
            const uint16_t(*stage)[TILE_NUMBERS] = tiles[term / TERMS & 1];
            copies_wait<1>();
            __syncthreads();
            core_factors_multiply<dtype, a_along, b_along>(sum, stage[0], stage[1], first_row, first_column,
                                                           tile->rows - first_row);
            __syncthreads();
        }
    }
    core_tile_store<dtype>(matmul, tile, sum, first_row, first_column);
}

template <enum dtype dtype, bool a_along, bool b_along>
static __global__ void __launch_bounds__(LANES, 2)
    core_tiles_kernel(const __grid_constant__ struct grouped_matmul matmul)
{
    TENSOR_CORE_CODE({
        __shared__ struct numbers_of_8 tiles[2][2][TILE_NUMBERS / 8];
        for (int64_t item = blockIdx.x; item < matmul.places * matmul.column_tiles; item += gridDim.x) {
            struct grouped_tile tile = grouped_tile_at(&matmul, item);
            if (tile.rows > 0) {
                core_tile_make<dtype, a_along, b_along>(&matmul, &tile, (uint16_t(*)[2][TILE_NUMBERS])(void *)tiles);
            }
        }
    })
}

bool grouped_matmul_fits_core(const struct operation_call *call)
{
    return grouped_factors_fit(call) && code_has_cores((const void *)core_tiles_kernel<DTYPE_FLOAT16, false, false>);
}

template <enum dtype dtype> static grouped_kernel *kernel_of(const struct operation_call *call)
{
    const struct tensor *b = &call->tensors[1];
    return b->rank == 2                ? core_tiles_kernel<dtype, false, false>
           : grouped_factor_fits(b, 1) ? core_tiles_kernel<dtype, true, true>
                                       : core_tiles_kernel<dtype, true, false>;
}

const char *grouped_matmul_core(const struct operation_call *call, cudaStream_t stream)
{
    struct grouped_matmul matmul = grouped_matmul_of(call, SIDE);
    grouped_kernel *kernel =
        matmul.a.dtype == DTYPE_FLOAT16 ? kernel_of<DTYPE_FLOAT16>(call) : kernel_of<DTYPE_BFLOAT16>(call);
    kernel<<<grid_blocks(matmul.places * matmul.column_tiles, 1), LANES, 0, stream>>>(matmul);
    return launch_result();
}
