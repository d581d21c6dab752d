/* Launches of selection: a block of lanes for each row of TOP_K and ARGMAX, which reads it once; a thread for each
 * element of the others. A wrong id of GATHER, which nobody here can report, gives zeros. */
#include "harness/kernels/body_select.h"
#include "harness/kernels/launch_grid.h"
#include "harness/kernels/launch_packet.h"
#include "harness/kernels/plan_select.h"

struct select_launch {
    struct tensor a, values, indices;
    struct select_plan plan;
};

/* The best of what a warp's lanes have, in each of them. */
BODY struct ranked warp_best(struct ranked own)
{
    for (int step = 1; step < 32; step <<= 1) {
        struct ranked other;
        other.value = __shfl_xor_sync(0xffffffffu, own.value, step);
        other.index = __shfl_xor_sync(0xffffffffu, own.index, step);
        own = ranked_better(other, own) ? other : own;
    }
    return own;
}

/* The best element that follows `last` of the packets `first`, first + step, ... of a row. */
template <int unit>
BODY struct ranked packets_best(const struct select_launch &launch, int64_t row, int64_t first, int64_t step,
                                struct ranked last)
{
    int64_t columns = launch.plan.rows.columns;
    struct ranked best = {-INFINITY, columns};
    FLOATING_SWITCH(launch.a.dtype, unit, {
#pragma unroll 4
        for (int64_t packet = first; packet < columns / unit; packet += step) {
            float values[unit];
            packet_load<dtype, unit>(launch.a.data, row * columns + packet * unit, values);
#pragma unroll
            for (int n = 0; n < unit; n++) {
                struct ranked element = {ranked_value(values[n]), packet * unit + n};
                bool counts = ranked_follows(element.value, element.index, last) && ranked_better(element, best);
                best = counts ? element : best;
            }
        }
    });
    return best;
}

/* What each warp's best element is. */
struct select_shared {
    struct ranked best[ROW_LANES_MAXIMUM / 32];
};

/* The best of all warps, in each lane of them. */
BODY struct ranked block_best(const struct select_shared *shared, int64_t columns)
{
    struct ranked none = {-INFINITY, columns};
    int lane = (int)threadIdx.x & 31;
    return warp_best(lane < (int)blockDim.x / 32 ? shared->best[lane] : none);
}

/* Each lane has packets of its row and keeps the best element of them that was not picked; a warp tells its best. The
 * row is read once: if an element is picked, only the packets of its lane are looked through again, by all lanes of its
 * warp. */
template <int unit>
BODY void row_select(const struct select_launch &launch, int64_t row, struct select_shared *shared, int64_t *indices)
{
    int64_t columns = launch.plan.rows.columns;
    int lane = (int)threadIdx.x, lanes = (int)blockDim.x;
    struct ranked own = packets_best<unit>(launch, row, lane, lanes, ranked_first());
    struct ranked best = warp_best(own);
    for (int64_t k = 0; k < launch.plan.picked; k++) {
        if ((lane & 31) == 0) {
            shared->best[lane >> 5] = best;
        }
        __syncthreads();
        struct ranked picked = block_best(shared, columns);
        if (lane == 0) {
            indices[k] = picked.index;
        }
        __syncthreads(); /* all have read what the warps told, and see the index */
        int owner = (int)(picked.index / unit % lanes);
        if (owner >> 5 == lane >> 5 && k + 1 < launch.plan.picked) {
            struct ranked next = warp_best(
                packets_best<unit>(launch, row, owner + (int64_t)(lane & 31) * lanes, 32 * (int64_t)lanes, picked));
            own = lane == owner ? next : own;
            best = warp_best(own);
        }
    }
}

template <int unit>
static __global__ void __launch_bounds__(ROW_LANES_MAXIMUM)
    top_k_kernel(const __grid_constant__ struct select_launch launch)
{
    __shared__ struct select_shared shared;
    for (int64_t row = blockIdx.x; row < launch.plan.rows.count; row += gridDim.x) {
        int64_t first = row * launch.plan.picked;
        int64_t *indices = (int64_t *)launch.indices.data + first;
        row_select<unit>(launch, row, &shared, indices);
        for (int64_t k = (int)threadIdx.x; launch.plan.with_values && k < launch.plan.picked; k += (int)blockDim.x) {
            tensor_set(&launch.values, first + k, tensor_get(&launch.a, row * launch.plan.rows.columns + indices[k]));
        }
    }
}

typedef void select_function(const struct select_launch launch);

const char *launch_top_k(const struct operation_call *call, cudaStream_t stream)
{
    struct select_launch launch;
    launch.a = call->tensors[0];
    launch.values = call->tensors[1];
    launch.indices = call->tensors[call->tensor_count - 1];
    const struct tensor *tensors[] = {&call->tensors[0]};
    int unit = packet_unit(tensors, 1, rows_of(&launch.a).columns);
    launch.plan = select_plan_of(call, unit);
    select_function *kernel = UNIT_FORM(top_k_kernel, unit);
    kernel<<<launch.plan.blocks, launch.plan.lanes, 0, stream>>>(launch);
    return launch_result();
}

/* 16 bytes that are read and written at once. */
struct alignas(16) wide_unit {
    uint64_t halves[2];
};

struct gather_launch {
    const void *from;
    const int64_t *ids;
    void *to;
    struct gather_shape shape;
    int64_t count;
};

#define GATHER_KERNEL(name, unit)                                                                                      \
    static __global__ void name(const __grid_constant__ struct gather_launch launch)                                   \
    {                                                                                                                  \
        for (int64_t k = thread_first(); k < launch.count; k += thread_step()) {                                       \
            int64_t source = gather_source(launch.ids, launch.shape, k);                                               \
            unit none = {};                                                                                            \
            ((unit *)launch.to)[k] = source >= 0 ? ((const unit *)launch.from)[source] : none;                         \
        }                                                                                                              \
    }

GATHER_KERNEL(gather_kernel_1, uint8_t)
GATHER_KERNEL(gather_kernel_2, uint16_t)
GATHER_KERNEL(gather_kernel_4, uint32_t)
GATHER_KERNEL(gather_kernel_8, uint64_t)
GATHER_KERNEL(gather_kernel_16, wide_unit)
#undef GATHER_KERNEL

/* If one id holds for a row and its bytes allow, 16 bytes are one element. */
static int64_t gather_widen(struct gather_launch *launch, int64_t bytes)
{
    uintptr_t places = (uintptr_t)launch->from | (uintptr_t)launch->to;
    int64_t row_bytes = launch->shape.columns * bytes;
    if (launch->shape.ids_step[2] != 0 || row_bytes % 16 != 0 || places % 16 != 0) {
        return bytes;
    }
    launch->count = launch->count / launch->shape.columns * (row_bytes / 16);
    launch->shape.columns = row_bytes / 16;
    return 16;
}

const char *launch_gather(const struct operation_call *call, cudaStream_t stream)
{
    const struct tensor *a = &call->tensors[0], *ids = &call->tensors[1], *out = &call->tensors[2];
    struct gather_launch launch;
    launch.from = a->data;
    launch.ids = (const int64_t *)ids->data;
    launch.to = out->data;
    launch.shape.rows = a->size[1];
    launch.shape.picked = out->size[1];
    launch.shape.columns = out->size[2];
    for (int d = 0; d < 3; d++) {
        launch.shape.ids_step[d] = ids->stride[d];
    }
    launch.count = tensor_element_count(out);
    int64_t unit = gather_widen(&launch, element_bytes(a->dtype));
    unsigned blocks = grid_blocks(launch.count, LANES);
    switch (unit) {
    case 1:
        gather_kernel_1<<<blocks, LANES, 0, stream>>>(launch);
        break;
    case 2:
        gather_kernel_2<<<blocks, LANES, 0, stream>>>(launch);
        break;
    case 4:
        gather_kernel_4<<<blocks, LANES, 0, stream>>>(launch);
        break;
    case 8:
        gather_kernel_8<<<blocks, LANES, 0, stream>>>(launch);
        break;
    default:
        gather_kernel_16<<<blocks, LANES, 0, stream>>>(launch);
    }
    return launch_result();
}

/* Each lane has a run of its row, and counts what stands before it. */
ROW_KERNEL_FUNCTION token_positions_kernel(const int64_t *ids, int64_t *out, struct rows rows,
                                           struct position_rule rule)
{
    int64_t run = (rows.columns + blockDim.x - 1) / blockDim.x;
    int64_t first = threadIdx.x * run;
    int64_t last = first + run < rows.columns ? first + run : rows.columns;
    for (int64_t row = blockIdx.x; row < rows.count && first < last; row += gridDim.x) {
        token_positions_span(ids + row * rows.columns, out + row * rows.columns, first, last, rule);
    }
}

const char *launch_token_positions(const struct operation_call *call, cudaStream_t stream)
{
    struct rows rows = rows_of(&call->tensors[0]);
    const int64_t *i = call->attributes.i;
    struct position_rule rule = {i[0], i[1], i[2]};
    token_positions_kernel<<<grid_blocks(rows.count, 1), row_lanes(rows.columns), 0, stream>>>(
        (const int64_t *)call->tensors[0].data, (int64_t *)call->tensors[1].data, rows, rule);
    return launch_result();
}

struct divide_launch {
    struct walk walk;
    const int64_t *from;
    int64_t *to;
    int64_t count, divisor;
    bool quotient;
};

static __global__ void divide_kernel(const __grid_constant__ struct divide_launch launch)
{
    for (int64_t k = thread_first(); k < launch.count; k += thread_step()) {
        int64_t at[WALK_TENSORS];
        walk_element(&launch.walk, k, at);
        int64_t a = launch.from[at[0]];
        launch.to[at[1]] = launch.quotient ? integer_quotient(a, launch.divisor) : integer_remainder(a, launch.divisor);
    }
}

const char *launch_divide(const struct operation_call *call, cudaStream_t stream)
{
    struct divide_launch launch;
    launch.walk = walk_of_call(call);
    launch.from = (const int64_t *)call->tensors[0].data;
    launch.to = (int64_t *)call->tensors[1].data;
    launch.count = launch.walk.line_count * launch.walk.line_length;
    launch.divisor = call->attributes.i[0];
    launch.quotient = call->opcode == OPCODE_QUOTIENT;
    divide_kernel<<<grid_blocks(launch.count, LANES), LANES, 0, stream>>>(launch);
    return launch_result();
}
