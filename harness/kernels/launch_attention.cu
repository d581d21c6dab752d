/* Launches of attention: a block of lanes for each block of rows (or columns) of a head, its tiles in shared memory,
 * float32 throughout. What fits tensor cores goes to launch_attention_core.cu, what has one query to a head to
 * launch_attention_decode.cu. */
#include "harness/kernels/launch_attention.h"
#include "harness/kernels/plan_attention.h"

static_assert((int)CUDA_TILE_STEP == (int)TILE_STEP, "tiles are chosen in plain C too");

static __global__ void attention_kernel(const __grid_constant__ struct attention attention)
{
    extern __shared__ __align__(16) float scratch[];
    struct team team = block_team(NULL);
    lse_pad(&attention);
    int64_t count = row_tile_count(&attention);
    for (int64_t item = blockIdx.x; item < count; item += gridDim.x) {
        struct attention_place place = row_tile_place(&attention, item);
        attention_forward(team, &attention, place, scratch);
    }
}

static __global__ void attention_backward_rows_kernel(const __grid_constant__ struct attention attention)
{
    extern __shared__ __align__(16) float scratch[];
    struct team team = block_team(NULL);
    int64_t count = row_tile_count(&attention);
    for (int64_t item = blockIdx.x; item < count; item += gridDim.x) {
        struct attention_place place = row_tile_place(&attention, item);
        attention_backward_rows(team, &attention, place, scratch);
    }
}

static __global__ void attention_backward_columns_kernel(const __grid_constant__ struct attention attention)
{
    extern __shared__ __align__(16) float scratch[];
    struct team team = block_team(NULL);
    int64_t count = column_tile_count(&attention);
    for (int64_t item = blockIdx.x; item < count; item += gridDim.x) {
        struct attention_place place = column_tile_place(&attention, item);
        attention_backward_columns(team, &attention, place.batch, place.head, place.column, scratch);
    }
}

typedef void attention_kernel_function(const struct attention attention);

static const char *attention_run(attention_kernel_function *kernel, const struct attention *attention, int64_t items,
                                 size_t shared_bytes, cudaStream_t stream)
{
    cudaError_t error =
        cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
    if (error != cudaSuccess) {
        return cudaGetErrorString(error);
    }
    kernel<<<grid_blocks(items, 1), attention_lanes(attention), shared_bytes, stream>>>(*attention);
    return launch_result();
}

const char *launch_attention(const struct operation_call *call, cudaStream_t stream)
{
    struct attention attention;
    attention_read(&attention, call);
    attention_pack(&attention);
    if (attention_fits_core(&attention, false)) {
        return attention_core_forward(&attention, stream);
    }
    if (attention_fits_decode(&attention)) {
        return attention_decode(&attention, stream);
    }
    size_t shared_bytes = attention_tiles_choose(&attention, TILES_FORWARD, device_tile_room());
    if (shared_bytes == 0) {
        return attention_head_too_wide;
    }
    return attention_run(attention_kernel, &attention, row_tile_count(&attention), shared_bytes, stream);
}

const char *launch_attention_backward(const struct operation_call *call, cudaStream_t stream)
{
    struct attention attention;
    attention_read(&attention, call);
    if (attention_fits_core(&attention, true)) {
        return attention_core_backward(&attention, stream);
    }
    size_t shared_bytes = attention_tiles_choose(&attention, TILES_BACKWARD, device_tile_room());
    if (shared_bytes == 0) {
        return attention_head_too_wide;
    }
    const char *wrong =
        attention_run(attention_backward_rows_kernel, &attention, row_tile_count(&attention), shared_bytes, stream);
    if (wrong != NULL) {
        return wrong;
    }
    return attention_run(attention_backward_columns_kernel, &attention, column_tile_count(&attention), shared_bytes,
                         stream);
}
