/* Launches of selection by index: a thread for each element. A wrong id of GATHER, which nobody here can report, gives
 * zeros. TOP_K and ARGMAX: launch_top_k.cu. */
#include "harness/kernels/body_select.h"
#include "harness/kernels/launch_grid.h"

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
