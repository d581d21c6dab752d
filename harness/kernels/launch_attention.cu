/* Launches of attention: a block of lanes for each block of rows (or columns) of a head, its tiles in shared memory,
 * float32 throughout. What fits tensor cores goes to launch_attention_core.cu, what has one query to a head to
 * launch_attention_decode.cu. */
#include "harness/kernels/body_attention_backward.h"
#include "harness/kernels/launch_attention.h"

/* Shared memory that every architecture from sm_75 on grants a block that asks for it. */
enum { SHARED_BYTES_MAXIMUM = 64 * 1024, TILE_MAXIMUM = 32, TILE_MINIMUM = 2 };

static __global__ void attention_kernel(const __grid_constant__ struct attention attention)
{
    extern __shared__ float scratch[];
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
    extern __shared__ float scratch[];
    struct team team = block_team(NULL);
    int64_t count = row_tile_count(&attention);
    for (int64_t item = blockIdx.x; item < count; item += gridDim.x) {
        struct attention_place place = row_tile_place(&attention, item);
        attention_backward_rows(team, &attention, place, scratch);
    }
}

static __global__ void attention_backward_columns_kernel(const __grid_constant__ struct attention attention)
{
    extern __shared__ float scratch[];
    struct team team = block_team(NULL);
    int64_t count = column_tile_count(&attention);
    for (int64_t item = blockIdx.x; item < count; item += gridDim.x) {
        struct attention_place place = column_tile_place(&attention, item);
        attention_backward_columns(team, &attention, place.batch, place.head, place.column, scratch);
    }
}

/* Chooses the largest tiles that fit; returns the bytes of shared memory, 0 if a head is too wide for any. */
static size_t tiles_choose(struct attention *attention, bool backward)
{
    bool masked = attention->mask.data != NULL;
    if (attention_widest(attention) > SHARED_BYTES_MAXIMUM) {
        return 0;
    }
    attention->tile_width = (int)((attention_widest(attention) + TILE_STEP - 1) / TILE_STEP) * TILE_STEP;
    for (int size = TILE_MAXIMUM; size >= TILE_MINIMUM; size /= 2) {
        int64_t floats = backward ? backward_floats(size, size, attention->tile_width, masked)
                                  : forward_floats(size, size, attention->tile_width, masked);
        if (floats * (int64_t)sizeof(float) <= SHARED_BYTES_MAXIMUM) {
            attention->tile_rows = attention->tile_columns = size;
            return (size_t)floats * sizeof(float);
        }
    }
    return 0;
}

typedef void attention_kernel_function(const struct attention attention);

static const char *attention_run(attention_kernel_function *kernel, const struct attention *attention, int64_t items,
                                 size_t shared_bytes, cudaStream_t stream)
{
    cudaError_t error =
        cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES_MAXIMUM);
    if (error != cudaSuccess) {
        return cudaGetErrorString(error);
    }
    kernel<<<grid_blocks(items, 1), LANES, shared_bytes, stream>>>(*attention);
    return launch_result();
}

static const char head_too_wide[] = "a head of attention is too wide for the shared memory of a block";

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
    size_t shared_bytes = tiles_choose(&attention, false);
    if (shared_bytes == 0) {
        return head_too_wide;
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
    size_t shared_bytes = tiles_choose(&attention, true);
    if (shared_bytes == 0) {
        return head_too_wide;
    }
    const char *wrong =
        attention_run(attention_backward_rows_kernel, &attention, row_tile_count(&attention), shared_bytes, stream);
    if (wrong != NULL) {
        return wrong;
    }
    return attention_run(attention_backward_columns_kernel, &attention, column_tile_count(&attention), shared_bytes,
                         stream);
}
