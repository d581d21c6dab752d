/* Launches of softmax, log-softmax and layer normalisation: a block of lanes for each row; sums down the columns take a
 * block for 32 neighbouring columns. */
#include "harness/kernels/body_layernorm.h"
#include "harness/kernels/body_softmax.h"
#include "harness/kernels/launch_grid.h"

struct row_launch {
    struct tensor a, b, out;
    struct rows rows;
};

#define ROW_KERNEL(name, work)                                                                                         \
    ROW_KERNEL_FUNCTION name(const __grid_constant__ struct row_launch launch)                                         \
    {                                                                                                                  \
        __shared__ float shared[TEAM_SHARED_FLOATS];                                                                   \
        struct team team = block_team(shared);                                                                         \
        int64_t columns = launch.rows.columns;                                                                         \
        for (int64_t row = blockIdx.x; row < launch.rows.count; row += gridDim.x) {                                    \
            struct span a = span_at(&launch.a, row * columns);                                                         \
            struct span b = span_at(&launch.b, row * columns);                                                         \
            struct span out = span_at(&launch.out, row * columns);                                                     \
            (void)b;                                                                                                   \
            work;                                                                                                      \
        }                                                                                                              \
    }

ROW_KERNEL(softmax_kernel, softmax_row(team, a, out, columns))
ROW_KERNEL(log_softmax_kernel, log_softmax_row(team, a, out, columns))
ROW_KERNEL(softmax_backward_kernel, softmax_backward_row(team, a, b, out, columns))
ROW_KERNEL(log_softmax_backward_kernel, log_softmax_backward_row(team, a, b, out, columns))
#undef ROW_KERNEL

const char *launch_rows(const struct operation_call *call, cudaStream_t stream)
{
    struct row_launch launch;
    launch.a = call->tensors[0];
    launch.b = call->tensors[call->input_count - 1];
    launch.out = call->tensors[call->input_count];
    launch.rows = rows_of(&launch.out);
    unsigned blocks = grid_blocks(launch.rows.count, 1);
    unsigned lanes = row_lanes(launch.rows.columns);
    switch (call->opcode) {
    case OPCODE_SOFTMAX:
        softmax_kernel<<<blocks, lanes, 0, stream>>>(launch);
        break;
    case OPCODE_LOG_SOFTMAX:
        log_softmax_kernel<<<blocks, lanes, 0, stream>>>(launch);
        break;
    case OPCODE_SOFTMAX_BACKWARD:
        softmax_backward_kernel<<<blocks, lanes, 0, stream>>>(launch);
        break;
    default:
        log_softmax_backward_kernel<<<blocks, lanes, 0, stream>>>(launch);
    }
    return launch_result();
}

ROW_KERNEL_FUNCTION layernorm_kernel(const __grid_constant__ struct operation_call call, struct rows rows)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
        struct span a = span_at(&call.tensors[0], row * rows.columns);
        struct span out = span_at(&call.tensors[3], row * rows.columns);
        struct row_moments moments = layernorm_row(team, a, span_at(&call.tensors[1], 0), span_at(&call.tensors[2], 0),
                                                   out, rows.columns, (float)call.attributes.f[0]);
        if (team.lane == 0) {
            ((float *)call.tensors[4].data)[row] = moments.mean;
            ((float *)call.tensors[5].data)[row] = moments.reciprocal_deviation;
        }
    }
}

const char *launch_layernorm(const struct operation_call *call, cudaStream_t stream)
{
    struct rows rows = rows_of(&call->tensors[0]);
    layernorm_kernel<<<grid_blocks(rows.count, 1), row_lanes(rows.columns), 0, stream>>>(*call, rows);
    return launch_result();
}

BODY struct row_moments saved_moments(const struct operation_call *call, int64_t row)
{
    struct row_moments moments;
    moments.mean = ((const float *)call->tensors[2].data)[row];
    moments.reciprocal_deviation = ((const float *)call->tensors[3].data)[row];
    return moments;
}

ROW_KERNEL_FUNCTION layernorm_backward_kernel(const __grid_constant__ struct operation_call call, struct rows rows)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
        int64_t at = row * rows.columns;
        layernorm_backward_row(team, span_at(&call.tensors[0], at), span_at(&call.tensors[1], at),
                               saved_moments(&call, row), span_at(&call.tensors[4], 0), span_at(&call.tensors[5], at),
                               rows.columns);
    }
}

enum { COLUMN_LANES = 32, ROW_LANES = 8 };

/* The gradients of weight and bias: lanes of a warp take neighbouring columns, warps take rows in turn. */
static __global__ void layernorm_columns_kernel(const __grid_constant__ struct operation_call call, struct rows rows)
{
    __shared__ float sums[2][ROW_LANES][COLUMN_LANES];
    for (int64_t first = (int64_t)blockIdx.x * COLUMN_LANES; first < rows.columns;
         first += (int64_t)gridDim.x * COLUMN_LANES) {
        int64_t column = first + threadIdx.x;
        float weight = 0.0f, bias = 0.0f;
        for (int64_t row = threadIdx.y; row < rows.count && column < rows.columns; row += ROW_LANES) {
            struct row_moments moments = saved_moments(&call, row);
            float g = tensor_get(&call.tensors[0], row * rows.columns + column);
            float a = tensor_get(&call.tensors[1], row * rows.columns + column);
            weight += g * ((a - moments.mean) * moments.reciprocal_deviation);
            bias += g;
        }
        sums[0][threadIdx.y][threadIdx.x] = weight;
        sums[1][threadIdx.y][threadIdx.x] = bias;
        __syncthreads();
        if (threadIdx.y < 2 && column < rows.columns) {
            float sum = 0.0f;
            for (int lane = 0; lane < ROW_LANES; lane++) {
                sum += sums[threadIdx.y][lane][threadIdx.x];
            }
            tensor_set(&call.tensors[6 + threadIdx.y], column, sum);
        }
        __syncthreads();
    }
}

const char *launch_layernorm_backward(const struct operation_call *call, cudaStream_t stream)
{
    struct rows rows = rows_of(&call->tensors[1]);
    if (rows.count > 0) {
        layernorm_backward_kernel<<<grid_blocks(rows.count, 1), row_lanes(rows.columns), 0, stream>>>(*call, rows);
    }
    if (call->opcode == OPCODE_LAYERNORM_BACKWARD) {
        dim3 lanes(COLUMN_LANES, ROW_LANES);
        layernorm_columns_kernel<<<grid_blocks(rows.columns, COLUMN_LANES), lanes, 0, stream>>>(*call, rows);
    }
    return launch_result();
}
