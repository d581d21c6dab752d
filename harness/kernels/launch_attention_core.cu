/* Launches of attention on tensor cores: which calls fit, in which form, and the kernels. */
#include "harness/kernels/launch_attention.h"

#include "harness/kernels/body_attention_core_backward.h"
#include "harness/kernels/body_attention_core_decode.h"
#include "harness/kernels/launch_core.h"
#include "harness/kernels/plan_attention.h"

/* What sm_86, sm_89 and sm_120 grant a block; the others grant more. */
enum { CORE_SHARED_BYTES_MAXIMUM = 99 * 1024 };

typedef void core_kernel(const struct attention attention);

/* The forms for tiles of one width. What limits the blocks of a multiprocessor is first the 65,536 registers: two
 * blocks, of 128 lanes with at most 255 a lane, of 256 lanes with at most 128. Nothing is spilled (nvcc 13.0,
 * --ptxas-options=-v, sm_80 to sm_120):
 *
 *     kernel   width  warps  lines still and moving  shared bytes  registers
 *     forward     64      4              128 and 32        24,576  208 to 255
 *     forward    128      4               64 and 64        49,152  222 to 240
 *     forward    256      4               64 and 16        49,152  198 to 248
 *     decode      64      8               16 and 32        68,608  120 to 127
 *     decode     128      8               16 and 16        70,656  125 to 128
 *     decode     256      4               16 and 16        74,240  208 to 255
 *     columns     64      4               64 and 64        50,176  238 to 244
 *     columns    128      4               64 and 32        66,048  244 to 255
 *     columns    256      4               64 and 16        98,560  196 to 249, grad k and grad v apart
 *     rows        64      4               64 and 64        50,176  206 to 222
 *     rows       128      4               64 and 32        66,048  206 to 232
 *     rows       256      4               64 and 16        98,560  200 to 255
 *
 * On sm_86, sm_89 and sm_120, whose 100 KiB of shared memory include 1 KiB for each block, one block of the forms with
 * more than 50,176 bytes; on sm_80 one of those with more than 82,944. */
template <enum dtype dtype, int width> struct core_forms {
    typedef core_form<dtype, width, CORE_FORWARD_STRIPS(width), CORE_FORWARD_MOVING(width)> forward;
    typedef core_form<dtype, width, 1, CORE_BACKWARD_MOVING(width)> rows, columns;
    typedef core_form<dtype, width, 1, CORE_DECODE_MOVING(width), CORE_DECODE_WARPS(width), true> decode;
};

template <typename form>
static __global__ void __launch_bounds__(CORE_LANES, 2) core_forward_kernel(const __grid_constant__ struct attention a)
{
    TENSOR_CORE_CODE({
        extern __shared__ __align__(16) float scratch[];
        lse_pad(&a);
        /* The last rows first: under a causal mask they see most. */
        for (int64_t item = row_tile_count(&a) - 1 - blockIdx.x; item >= 0; item -= gridDim.x) {
            core_forward<form>(&a, row_tile_place(&a, item), (uint16_t *)(void *)scratch);
        }
    })
}

template <typename form>
static __global__ void __launch_bounds__(form::lanes, 2) core_decode_kernel(const __grid_constant__ struct attention a)
{
    TENSOR_CORE_CODE({
        extern __shared__ __align__(16) float scratch[];
        lse_pad(&a);
        int64_t parts = a.parts.count > 0 ? a.parts.count : 1, count = row_tile_count(&a) * parts;
        for (int64_t item = blockIdx.x; item < count; item += gridDim.x) {
            core_decode<form>(&a, row_tile_place(&a, item / parts), (int)(item % parts), (uint16_t *)(void *)scratch);
        }
    })
}

/* A warp for each row. */
template <enum dtype dtype>
static __global__ void __launch_bounds__(CORE_JOIN_LANES) core_join_kernel(const __grid_constant__ struct attention a)
{
    TENSOR_CORE_CODE({
        int64_t count = a.batches * a.heads * a.rows;
        for (int64_t row = thread_first() / 32; row < count; row += thread_step() / 32) {
            int64_t head = row / a.rows;
            struct attention_place place = {head / a.heads, head % a.heads, row % a.rows, 0};
            core_join<dtype>(&a, place);
        }
    })
}

template <enum dtype dtype>
static __global__ void __launch_bounds__(LANES) core_deltas_kernel(const __grid_constant__ struct attention a)
{
    TENSOR_CORE_CODE(core_deltas<dtype>(&a);)
}

template <typename form, enum core_goal goal>
static __global__ void __launch_bounds__(CORE_LANES, 2) core_columns_kernel(const __grid_constant__ struct attention a)
{
    TENSOR_CORE_CODE({
        extern __shared__ __align__(16) float scratch[];
        int64_t count = column_tile_count(&a);
        for (int64_t item = blockIdx.x; item < count; item += gridDim.x) {
            core_backward<form, goal>(&a, column_tile_place(&a, item), (uint16_t *)(void *)scratch);
        }
    })
}

template <typename form>
static __global__ void __launch_bounds__(CORE_LANES, 2) core_rows_kernel(const __grid_constant__ struct attention a)
{
    TENSOR_CORE_CODE({
        extern __shared__ __align__(16) float scratch[];
        for (int64_t item = row_tile_count(&a) - 1 - blockIdx.x; item >= 0; item -= gridDim.x) {
            core_backward<form, CORE_GRAD_Q>(&a, row_tile_place(&a, item), (uint16_t *)(void *)scratch);
        }
    })
}

/* Every row begins on a boundary of 16 bytes and is whole groups of 8 numbers of the dtype. */
static bool heads_fit(const struct tensor *tensor, enum dtype dtype)
{
    bool fit = tensor->dtype == dtype && (uintptr_t)tensor->data % 16 == 0 && tensor->stride[3] == 1;
    for (int d = 0; d < 3; d++) {
        fit = fit && (tensor->size[d] < 2 || tensor->stride[d] % 8 == 0);
    }
    return fit;
}

bool attention_fits_core(const struct attention *attention, bool backward)
{
    enum dtype dtype = attention->q.dtype;
    const struct tensor *const heads[] = {&attention->q,    &attention->k,      &attention->v,      &attention->out,
                                          &attention->grad, &attention->grad_q, &attention->grad_k, &attention->grad_v};
    size_t count = backward ? 8 : 4;
    bool fit = (dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16) && attention->width > 0 &&
               attention->width <= CORE_WIDTH_MAXIMUM && attention->width % 8 == 0 &&
               attention->value_width == attention->width;
    for (size_t t = 0; t < count && fit; t++) {
        fit = heads_fit(heads[t], dtype);
    }
    return fit && code_has_cores((const void *)core_deltas_kernel<DTYPE_FLOAT16>);
}

static const char *core_run(core_kernel *kernel, const struct attention *attention, int64_t items, int lanes,
                            size_t bytes, cudaStream_t stream)
{
    cudaError_t error =
        cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) {
        return cudaGetErrorString(error);
    }
    kernel<<<grid_blocks(items, 1), lanes, bytes, stream>>>(*attention);
    return launch_result();
}

/* One part needs no other kernel; what is left where a lane cannot store 16 bytes at a time is left alone. */
static void parts_choose(struct attention *attention)
{
    const struct attention_parts *parts = &attention->parts;
    bool fit = parts->count > 1 && parts->width % 8 == 0 && (uintptr_t)parts->out % 16 == 0;
    attention->parts.count = fit ? parts->count : 0;
}

/* One query to a head. */
template <typename form> static const char *decode_run(struct attention *attention, cudaStream_t stream)
{
    parts_choose(attention);
    attention->tile_rows = form::still;
    int64_t parts = attention->parts.count > 0 ? attention->parts.count : 1;
    const char *wrong = core_run(core_decode_kernel<form>, attention, row_tile_count(attention) * parts, form::lanes,
                                 core_decode_bytes<form>(), stream);
    if (wrong != NULL || parts == 1) {
        return wrong;
    }
    core_kernel *join = core_join_kernel<form::dtype>;
    int64_t rows = attention->batches * attention->heads * attention->rows;
    join<<<grid_blocks(rows, CORE_JOIN_LANES / 32), CORE_JOIN_LANES, 0, stream>>>(*attention);
    return launch_result();
}

template <enum dtype dtype, int width> static const char *forward_run(struct attention *attention, cudaStream_t stream)
{
    typedef typename core_forms<dtype, width>::forward form;
    typedef typename core_forms<dtype, width>::decode decode;
    constexpr int bytes = core_forward_bytes<form>(), decode_bytes = core_decode_bytes<decode>();
    static_assert(bytes <= CORE_SHARED_BYTES_MAXIMUM && decode_bytes <= CORE_SHARED_BYTES_MAXIMUM, "shared memory");
    if (attention->queries == 1) {
        return decode_run<decode>(attention, stream);
    }
    attention->tile_rows = form::still;
    return core_run(core_forward_kernel<form>, attention, row_tile_count(attention), form::lanes, bytes, stream);
}

template <enum dtype dtype, int width> static const char *backward_run(struct attention *attention, cudaStream_t stream)
{
    typedef typename core_forms<dtype, width>::rows rows;
    typedef typename core_forms<dtype, width>::columns columns;
    constexpr int row_bytes = core_backward_bytes<rows>(), column_bytes = core_backward_bytes<columns>();
    static_assert(row_bytes <= CORE_SHARED_BYTES_MAXIMUM && column_bytes <= CORE_SHARED_BYTES_MAXIMUM, "shared memory");
    core_kernel *deltas = core_deltas_kernel<dtype>;
    int64_t row_count = attention->batches * attention->heads * attention->rows;
    attention->tile_rows = rows::still;
    attention->tile_columns = columns::still;
    deltas<<<grid_blocks(row_count, LANES / DELTA_LANES), LANES, 0, stream>>>(*attention);
    const char *wrong = launch_result();
    constexpr bool apart = CORE_BACKWARD_SWEEPS(width) == 2; /* a lane has no registers for both */
    constexpr enum core_goal first = apart ? CORE_GRAD_K : CORE_GRAD_K_AND_V, last = apart ? CORE_GRAD_V : first;
    core_kernel *const sweeps[] = {core_columns_kernel<columns, first>, core_columns_kernel<columns, last>};
    for (int k = 0; k < (apart ? 2 : 1) && wrong == NULL; k++) {
        wrong = core_run(sweeps[k], attention, column_tile_count(attention), columns::lanes, column_bytes, stream);
    }
    return wrong != NULL
               ? wrong
               : core_run(core_rows_kernel<rows>, attention, row_tile_count(attention), rows::lanes, row_bytes, stream);
}

template <enum dtype dtype> static const char *forward_run_of(struct attention *attention, cudaStream_t stream)
{
    return attention->width <= 64    ? forward_run<dtype, 64>(attention, stream)
           : attention->width <= 128 ? forward_run<dtype, 128>(attention, stream)
                                     : forward_run<dtype, 256>(attention, stream);
}

template <enum dtype dtype> static const char *backward_run_of(struct attention *attention, cudaStream_t stream)
{
    return attention->width <= 64    ? backward_run<dtype, 64>(attention, stream)
           : attention->width <= 128 ? backward_run<dtype, 128>(attention, stream)
                                     : backward_run<dtype, 256>(attention, stream);
}

const char *attention_core_forward(struct attention *attention, cudaStream_t stream)
{
    return attention->q.dtype == DTYPE_FLOAT16 ? forward_run_of<DTYPE_FLOAT16>(attention, stream)
                                               : forward_run_of<DTYPE_BFLOAT16>(attention, stream);
}

const char *attention_core_backward(struct attention *attention, cudaStream_t stream)
{
    return attention->q.dtype == DTYPE_FLOAT16 ? backward_run_of<DTYPE_FLOAT16>(attention, stream)
                                               : backward_run_of<DTYPE_BFLOAT16>(attention, stream);
}
