/* Launches of embedding and loss. */
#include "harness/kernels/launch_row.h"
#include "harness/kernels/loss.h"

typedef void lookup_kernel(const struct operation_call call, struct row_plan plan);

ROW_MEMORY_KERNEL embedding_kernel(const __grid_constant__ struct operation_call call, struct row_plan plan)
{
    const struct tensor *table = &call.tensors[0];
    ROW_TURNS(turn, plan, NULL)
    {
        int64_t id = turn.has ? ((const int64_t *)call.tensors[1].data)[turn.row] : 0;
        bool valid = id >= 0 && id < table->size[0];
        struct memory_row<unit> out = turn_row<unit>(turn, plan, &call.tensors[2]);
        struct memory_row<unit> from =
            memory_row_of<unit>(table, valid ? id * plan.columns : 0, turn.team, valid ? out.columns : 0);
        MEMORY_EACH(out, place, {
            struct group<unit> group = row_get(from, place);
            group = valid ? group : group_of(row_target(out, place), NAN);
            row_set(out, place, group);
        })
    }
}

const char *launch_embedding(const struct operation_call *call, cudaStream_t stream)
{
    const struct tensor *tensors[] = {&call->tensors[0], &call->tensors[2]};
    struct rows rows = {tensor_element_count(&call->tensors[1]), call->tensors[0].size[1]};
    struct row_plan plan = row_plan_of(rows, packet_unit(tensors, 2, rows.columns));
    lookup_kernel *kernel = UNIT_FORM(embedding_kernel, plan.unit);
    kernel<<<plan.blocks, plan.threads, 0, stream>>>(*call, plan);
    return launch_result();
}

struct scatter_launch {
    struct tensor grad, out;
    const int64_t *ids;
    int64_t tokens, table_rows, columns;
    int64_t skipped; /* the row that stays zero */
    bool by_token;   /* a block for each token and not for each row of the table */
};

enum { SCATTER_LANES = 256 };

/* Whether an id before `token` is the same. */
BODY bool token_is_repeated(const int64_t *ids, int64_t token)
{
    int found = 0;
    for (int64_t start = 0; start < token && found == 0; start += SCATTER_LANES) {
        int64_t other = start + (int)threadIdx.x;
        found = __syncthreads_or(other < token && ids[other] == ids[token]);
    }
    return found != 0;
}

/* sums += the rows of grad, from token `first` on, whose id is this row; in order. */
template <int unit>
BODY void tokens_add(const struct scatter_launch &launch, int64_t row, int64_t first, struct memory_place place,
                     struct memory_row<unit> grad, struct group<unit> *sums)
{
    __shared__ uint8_t matches[SCATTER_LANES];
    for (int64_t start = first; start < launch.tokens; start += SCATTER_LANES) {
        int64_t token = start + (int)threadIdx.x;
        bool match = token < launch.tokens && launch.ids[token] == row;
        matches[threadIdx.x] = match;
        if (__syncthreads_or(match) == 0) {
            continue;
        }
        for (int k = 0; k < SCATTER_LANES; k++) {
            if (matches[k] != 0) {
                grad.span = span_at(&launch.grad, (start + k) * launch.columns);
                struct group<unit> terms = row_get(grad, place);
#pragma unroll
                for (int n = 0; n < GROUP_ELEMENTS; n++) {
                    sums->at[n] += terms.at[n];
                }
            }
        }
        __syncthreads();
    }
}

/* A block makes one row of the table's gradient: it looks through the ids for its own and adds their rows in order. By
 * token, the first token of an id has its row and the others nothing; the table was filled with zeros before. */
ROW_MEMORY_KERNEL scatter_kernel(const __grid_constant__ struct scatter_launch launch)
{
    struct team team = {(int)threadIdx.x, SCATTER_LANES, NULL};
    int64_t count = launch.by_token ? launch.tokens : launch.table_rows;
    for (int64_t item = blockIdx.x; item < count; item += gridDim.x) {
        int64_t row = launch.by_token ? launch.ids[item] : item;
        bool outside = row < 0 || row >= launch.table_rows;
        if (launch.by_token && (outside || row == launch.skipped || token_is_repeated(launch.ids, item))) {
            continue;
        }
        int64_t first = row == launch.skipped ? launch.tokens : launch.by_token ? item : 0;
        struct memory_row<unit> out = memory_row_of<unit>(&launch.out, row * launch.columns, team, launch.columns);
        struct memory_row<unit> grad = memory_row_of<unit>(&launch.grad, 0, team, launch.columns);
        MEMORY_EACH(out, place, {
            struct group<unit> sums = group_of(row_target(out, place), 0.0f);
            tokens_add<unit>(launch, row, first, place, grad, &sums);
            row_set(out, place, sums);
        })
    }
}

typedef void scatter_function(const struct scatter_launch launch);

const char *launch_embedding_backward(const struct operation_call *call, cudaStream_t stream)
{
    const struct tensor *t = call->tensors, *tensors[] = {&t[0], &t[2]};
    struct scatter_launch launch = {t[0],         t[2],         (const int64_t *)t[1].data, tensor_element_count(&t[1]),
                                    t[2].size[0], t[2].size[1], call->attributes.i[0],      false};
    launch.by_token = launch.tokens < launch.table_rows;
    if (launch.by_token) {
        struct operation_call zeros = {};
        zeros.opcode = OPCODE_FILL;
        zeros.tensor_count = 1;
        zeros.tensors[0] = t[2];
        const char *wrong = launch_fill(&zeros, stream);
        if (wrong != NULL) {
            return wrong;
        }
    }
    scatter_function *kernel = UNIT_FORM(scatter_kernel, packet_unit(tensors, 2, launch.columns));
    int64_t count = launch.by_token ? launch.tokens : launch.table_rows;
    if (count > 0) {
        kernel<<<grid_blocks(count, 1), SCATTER_LANES, 0, stream>>>(launch);
    }
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

ROW_MEMORY_KERNEL nll_loss_backward_kernel(const __grid_constant__ struct operation_call call, struct row_plan plan)
{
    float value = -tensor_get(&call.tensors[0], 0) / tensor_get(&call.tensors[2], 0);
    ROW_TURNS(turn, plan, NULL)
    {
        int64_t target = turn.has ? ((const int64_t *)call.tensors[1].data)[turn.row] : 0;
        struct memory_row<unit> out = turn_row<unit>(turn, plan, &call.tensors[3]);
        MEMORY_EACH(out, place, {
            struct group<unit> group = row_target(out, place);
#pragma unroll
            for (int k = 0; k < GROUP_ELEMENTS; k++) {
                group.at[k] = row_column(out, place, k) == target ? value : 0.0f;
            }
            row_set(out, place, group);
        })
    }
}

const char *launch_nll_loss_backward(const struct operation_call *call, cudaStream_t stream)
{
    const struct tensor *out = &call->tensors[3];
    struct rows rows = rows_of(out);
    struct row_plan plan = row_plan_of(rows, packet_unit(&out, 1, rows.columns));
    lookup_kernel *kernel = UNIT_FORM(nll_loss_backward_kernel, plan.unit);
    kernel<<<plan.blocks, plan.threads, 0, stream>>>(*call, plan);
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
    int64_t count = tensor_element_count(&call->tensors[0]);
    target_mask_kernel<<<1, row_lanes(count), 0, stream>>>(*call, count);
    return launch_result();
}
