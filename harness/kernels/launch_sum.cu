/* Launches of sums: where neighbours in memory are kept, lanes of a warp take neighbouring outputs and warps take what
 * is summed in turn; where neighbours are summed, a block of lanes makes one output. The order of additions depends on
 * the shape alone. */
#include "harness/kernels/body_sum.h"
#include "harness/kernels/launch_grid.h"

struct sum_launch {
    struct tensor a, out;
    struct sum_plan plan;
    int64_t outputs, summed;
    float factor;
};

enum { COLUMN_LANES = 32, ROW_LANES = 8 };

static __global__ void sum_columns_kernel(const __grid_constant__ struct sum_launch launch)
{
    __shared__ float sums[ROW_LANES][COLUMN_LANES];
    for (int64_t first = (int64_t)blockIdx.x * COLUMN_LANES; first < launch.outputs;
         first += (int64_t)gridDim.x * COLUMN_LANES) {
        int64_t output = first + threadIdx.x;
        int64_t at[WALK_TENSORS], inner[WALK_TENSORS];
        float sum = 0.0f;
        walk_element(&launch.plan.kept, output < launch.outputs ? output : 0, at);
        for (int64_t k = threadIdx.y; k < launch.summed && output < launch.outputs; k += ROW_LANES) {
            walk_element(&launch.plan.summed, k, inner);
            sum += tensor_get(&launch.a, at[0] + inner[0]);
        }
        sums[threadIdx.y][threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.y == 0 && output < launch.outputs) {
            sum = 0.0f;
            for (int lane = 0; lane < ROW_LANES; lane++) {
                sum += sums[lane][threadIdx.x];
            }
            tensor_set(&launch.out, at[1], launch.factor * sum);
        }
        __syncthreads();
    }
}

ROW_KERNEL_FUNCTION sum_rows_kernel(const __grid_constant__ struct sum_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    for (int64_t output = blockIdx.x; output < launch.outputs; output += gridDim.x) {
        int64_t at[WALK_TENSORS], inner[WALK_TENSORS];
        walk_element(&launch.plan.kept, output, at);
        float sum = 0.0f;
        for (int64_t k = team.lane; k < launch.summed; k += team.lanes) {
            walk_element(&launch.plan.summed, k, inner);
            sum += tensor_get(&launch.a, at[0] + inner[0]);
        }
        sum = team_sum(team, sum);
        if (team.lane == 0) {
            tensor_set(&launch.out, at[1], launch.factor * sum);
        }
    }
}

const char *launch_sum(const struct operation_call *call, cudaStream_t stream)
{
    struct sum_launch launch;
    launch.a = call->tensors[0];
    launch.out = call->tensors[1];
    launch.plan = sum_plan_of(call);
    launch.outputs = launch.plan.kept.line_count * launch.plan.kept.line_length;
    launch.summed = launch.plan.summed.line_count * launch.plan.summed.line_length;
    launch.factor = (float)call->attributes.f[0];
    if (sum_plan_is_columns(&launch.plan)) {
        dim3 lanes(COLUMN_LANES, ROW_LANES);
        sum_columns_kernel<<<grid_blocks(launch.outputs, COLUMN_LANES), lanes, 0, stream>>>(launch);
    } else {
        sum_rows_kernel<<<grid_blocks(launch.outputs, 1), row_lanes(launch.summed), 0, stream>>>(launch);
    }
    return launch_result();
}
