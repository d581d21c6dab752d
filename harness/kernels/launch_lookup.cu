/* Launches of embedding and loss. */
#include "harness/kernels/launch_grid.h"
#include "harness/kernels/loss.h"

ROW_KERNEL_FUNCTION embedding_kernel(const __grid_constant__ struct operation_call call, int64_t tokens)
{
    const int64_t *ids = (const int64_t *)call.tensors[1].data;
    int64_t table_rows = call.tensors[0].size[0];
    int64_t columns = call.tensors[0].size[1];
    for (int64_t token = blockIdx.x; token < tokens; token += gridDim.x) {
        int64_t id = ids[token];
        bool valid = id >= 0 && id < table_rows;
        for (int64_t k = threadIdx.x; k < columns; k += blockDim.x) {
            float value = valid ? tensor_get(&call.tensors[0], id * columns + k) : NAN;
            tensor_set(&call.tensors[2], token * columns + k, value);
        }
    }
}

const char *launch_embedding(const struct operation_call *call, cudaStream_t stream)
{
    int64_t tokens = elements_of(&call->tensors[1]);
    unsigned lanes = row_lanes(call->tensors[0].size[1]);
    embedding_kernel<<<grid_blocks(tokens, 1), lanes, 0, stream>>>(*call, tokens);
    return launch_result();
}

enum { GATHER_LANES = 256, GATHER_COLUMNS = 8 };

/* A block makes one row of the table's gradient: it looks through all ids for its own and adds their rows in order. Ids
 * are read again for every GATHER_LANES * GATHER_COLUMNS columns. */
static __global__ void embedding_backward_kernel(const __grid_constant__ struct operation_call call, int64_t tokens)
{
    __shared__ uint8_t matches[GATHER_LANES];
    const int64_t *ids = (const int64_t *)call.tensors[1].data;
    int64_t table_rows = call.tensors[2].size[0];
    int64_t columns = call.tensors[2].size[1];
    for (int64_t row = blockIdx.x; row < table_rows; row += gridDim.x) {
        int64_t looked_at = row == call.attributes.i[0] ? 0 : tokens;
        for (int64_t first = 0; first < columns; first += GATHER_LANES * GATHER_COLUMNS) {
            float sums[GATHER_COLUMNS] = {0};
            for (int64_t start = 0; start < looked_at; start += GATHER_LANES) {
                int64_t token = start + threadIdx.x;
                bool match = token < tokens && ids[token] == row;
                matches[threadIdx.x] = match;
                if (__syncthreads_or(match) == 0) {
                    continue;
                }
                for (int k = 0; k < GATHER_LANES; k++) {
                    for (int c = 0; matches[k] != 0 && c < GATHER_COLUMNS; c++) {
                        int64_t column = first + c * GATHER_LANES + threadIdx.x;
                        sums[c] +=
                            column < columns ? tensor_get(&call.tensors[0], (start + k) * columns + column) : 0.0f;
                    }
                }
                __syncthreads();
            }
            for (int c = 0; c < GATHER_COLUMNS; c++) {
                int64_t column = first + c * GATHER_LANES + threadIdx.x;
                if (column < columns) {
                    tensor_set(&call.tensors[2], row * columns + column, sums[c]);
                }
            }
        }
    }
}

const char *launch_embedding_backward(const struct operation_call *call, cudaStream_t stream)
{
    int64_t tokens = elements_of(&call->tensors[1]);
    unsigned blocks = grid_blocks(call->tensors[2].size[0], 1);
    embedding_backward_kernel<<<blocks, GATHER_LANES, 0, stream>>>(*call, tokens);
    return launch_result();
}

ROW_KERNEL_FUNCTION nll_loss_kernel(const __grid_constant__ struct operation_call call, struct rows rows)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    const int64_t *targets = (const int64_t *)call.tensors[1].data;
    float sum = 0.0f, counted = 0.0f;
    for (int64_t row = team.lane; row < rows.count; row += team.lanes) {
        int64_t target = targets[row];
        bool valid = target >= 0 && target < rows.columns;
        if (target != LOSS_IGNORED) {
            sum -= valid ? tensor_get(&call.tensors[0], row * rows.columns + target) : NAN;
            counted += 1.0f;
        }
    }
    sum = team_sum(team, sum);
    counted = team_sum(team, counted);
    if (team.lane == 0) {
        tensor_set(&call.tensors[2], 0, counted > 0.0f ? sum / counted : NAN);
        tensor_set(&call.tensors[3], 0, counted);
    }
}

const char *launch_nll_loss(const struct operation_call *call, cudaStream_t stream)
{
    struct rows rows = rows_of(&call->tensors[0]);
    nll_loss_kernel<<<1, row_lanes(rows.count), 0, stream>>>(*call, rows);
    return launch_result();
}

ROW_KERNEL_FUNCTION nll_loss_backward_kernel(const __grid_constant__ struct operation_call call, struct rows rows)
{
    const int64_t *targets = (const int64_t *)call.tensors[1].data;
    float value = -tensor_get(&call.tensors[0], 0) / tensor_get(&call.tensors[2], 0);
    for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
        for (int64_t k = threadIdx.x; k < rows.columns; k += blockDim.x) {
            tensor_set(&call.tensors[3], row * rows.columns + k, k == targets[row] ? value : 0.0f);
        }
    }
}

const char *launch_nll_loss_backward(const struct operation_call *call, cudaStream_t stream)
{
    struct rows rows = rows_of(&call->tensors[3]);
    nll_loss_backward_kernel<<<grid_blocks(rows.count, 1), row_lanes(rows.columns), 0, stream>>>(*call, rows);
    return launch_result();
}

/* One block: the count is a sum over all targets, whose partial sums a float32 holds exactly up to 2^24. */
ROW_KERNEL_FUNCTION target_mask_kernel(const __grid_constant__ struct operation_call call, int64_t count)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    const int64_t *targets = (const int64_t *)call.tensors[0].data;
    uint8_t *mask = (uint8_t *)call.tensors[1].data;
    int64_t *masked = (int64_t *)call.tensors[2].data;
    float counted = 0.0f;
    for (int64_t row = team.lane; row < count; row += team.lanes) {
        bool counts = targets[row] != LOSS_IGNORED;
        mask[row] = counts;
        masked[row] = counts ? targets[row] : 0;
        counted += counts ? 1.0f : 0.0f;
    }
    counted = team_sum(team, counted);
    if (team.lane == 0) {
        *(int64_t *)call.tensors[3].data = (int64_t)counted;
    }
}

const char *launch_target_mask(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = elements_of(&call->tensors[0]);
    target_mask_kernel<<<1, row_lanes(count), 0, stream>>>(*call, count);
    return launch_result();
}
