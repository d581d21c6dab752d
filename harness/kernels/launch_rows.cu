/* Launches of softmax, log-softmax, cross entropy and layer normalisation: a team of lanes for each row (launch_row.h),
 * and for the gradients of weights sums down the columns (launch_columns.h). */
#include "harness/kernels/body_cross_entropy.h"
#include "harness/kernels/body_layernorm.h"
#include "harness/kernels/launch_columns.h"
#include "harness/kernels/launch_row.h"
#include "harness/kernels/loss.h"

struct row_launch {
    struct tensor a, b, out;
    struct row_plan plan;
};

#define ROW_KERNEL(name, ...)                                                                                          \
    ROW_TEAM_KERNEL name(const __grid_constant__ struct row_launch launch)                                             \
    {                                                                                                                  \
        __shared__ float shared[TEAM_SHARED_FLOATS];                                                                   \
        ROW_TURNS(turn, launch.plan, shared)                                                                           \
        {                                                                                                              \
            struct kept_row<parts, unit, whole> a, b, out;                                                             \
            a.memory = turn_row<unit>(turn, launch.plan, &launch.a);                                                   \
            b.memory = turn_row<unit>(turn, launch.plan, &launch.b);                                                   \
            out.memory = turn_row<unit>(turn, launch.plan, &launch.out);                                               \
            row_load(a);                                                                                               \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    }

ROW_KERNEL(softmax_kernel, softmax_row(turn.team, a, out))
ROW_KERNEL(log_softmax_kernel, log_softmax_row(turn.team, a, out))
ROW_KERNEL(softmax_backward_kernel, row_load(b); softmax_backward_row(turn.team, a, b, out.memory))
ROW_KERNEL(log_softmax_backward_kernel, row_load(b); log_softmax_backward_row(turn.team, a, b, out.memory))
#undef ROW_KERNEL

typedef void row_kernel(const struct row_launch launch);

const char *launch_rows(const struct operation_call *call, cudaStream_t stream)
{
    static row_kernel *const kernels[][ROW_FORM_COUNT] = {ROW_FORMS(softmax_kernel), ROW_FORMS(log_softmax_kernel),
                                                          ROW_FORMS(softmax_backward_kernel),
                                                          ROW_FORMS(log_softmax_backward_kernel)};
    const struct tensor *tensors[] = {&call->tensors[0], &call->tensors[call->input_count - 1],
                                      &call->tensors[call->input_count]};
    struct row_launch launch;
    launch.a = *tensors[0];
    launch.b = *tensors[1];
    launch.out = *tensors[2];
    struct rows rows = rows_of(&launch.out);
    launch.plan = row_plan_of(rows, packet_unit(tensors, 3, rows.columns));
    int function = call->opcode == OPCODE_SOFTMAX            ? 0
                   : call->opcode == OPCODE_LOG_SOFTMAX      ? 1
                   : call->opcode == OPCODE_SOFTMAX_BACKWARD ? 2
                                                             : 3;
    row_kernel *kernel = kernels[function][launch.plan.form];
    kernel<<<launch.plan.blocks, launch.plan.threads, 0, stream>>>(launch);
    return launch_result();
}

ROW_TEAM_KERNEL cross_entropy_kernel(const __grid_constant__ struct operation_call call, struct row_plan plan)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    const int64_t *targets = (const int64_t *)call.tensors[0].data;
    float share = 1.0f / (float)*(const int64_t *)call.tensors[1].data;
    ROW_TURNS(turn, plan, shared)
    {
        int64_t target = turn.has ? targets[turn.row] : LOSS_IGNORED;
        bool counts = target >= 0 && target < plan.columns;
        struct kept_row<parts, unit, whole> row;
        row.memory = turn_row<unit>(turn, plan, &call.tensors[2]);
        row.memory.columns = counts ? plan.columns : 0;
        row_load(row);
        float loss = cross_entropy_row(turn.team, row.memory.span, row, counts ? target : -1, share);
        for (int64_t k = turn.team.lane; turn.has && !counts && k < plan.columns; k += turn.team.lanes) {
            span_set(row.memory.span, k, 0.0f);
        }
        if (turn.has && turn.team.lane == 0) {
            tensor_set(&call.tensors[3], turn.row, counts ? loss : target == LOSS_IGNORED ? 0.0f : NAN);
        }
    }
}

typedef void call_kernel(const struct operation_call call, struct row_plan plan);

const char *launch_cross_entropy(const struct operation_call *call, cudaStream_t stream)
{
    static call_kernel *const kernels[ROW_FORM_COUNT] = ROW_FORMS(cross_entropy_kernel);
    const struct tensor *logits = &call->tensors[2];
    struct rows rows = rows_of(logits);
    struct row_plan plan = row_plan_of(rows, packet_unit(&logits, 1, rows.columns));
    kernels[plan.form]<<<plan.blocks, plan.threads, 0, stream>>>(*call, plan);
    return launch_result();
}

ROW_TEAM_KERNEL layernorm_kernel(const __grid_constant__ struct operation_call call, struct row_plan plan)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    ROW_TURNS(turn, plan, shared)
    {
        struct kept_row<parts, unit, whole> a;
        a.memory = turn_row<unit>(turn, plan, &call.tensors[0]);
        row_load(a);
        struct row_moments moments =
            layernorm_row(turn.team, a, shared_row<unit>(turn, plan, &call.tensors[1]),
                          shared_row<unit>(turn, plan, &call.tensors[2]), turn_row<unit>(turn, plan, &call.tensors[3]),
                          plan.columns, (float)call.attributes.f[0]);
        if (turn.has && turn.team.lane == 0) {
            ((float *)call.tensors[4].data)[turn.row] = moments.mean;
            ((float *)call.tensors[5].data)[turn.row] = moments.reciprocal_deviation;
        }
    }
}

const char *launch_layernorm(const struct operation_call *call, cudaStream_t stream)
{
    static call_kernel *const kernels[ROW_FORM_COUNT] = ROW_FORMS(layernorm_kernel);
    const struct tensor *t = call->tensors;
    const struct tensor *tensors[] = {&t[0], &t[1], &t[2], &t[3]};
    struct rows rows = rows_of(&t[0]);
    struct row_plan plan = row_plan_of(rows, packet_unit(tensors, 4, rows.columns));
    kernels[plan.form]<<<plan.blocks, plan.threads, 0, stream>>>(*call, plan);
    return launch_result();
}

BODY struct row_moments saved_moments(const struct operation_call *call, int64_t row)
{
    struct row_moments moments;
    moments.mean = ((const float *)call->tensors[2].data)[row];
    moments.reciprocal_deviation = ((const float *)call->tensors[3].data)[row];
    return moments;
}

ROW_TEAM_KERNEL layernorm_backward_kernel(const __grid_constant__ struct operation_call call, struct row_plan plan)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    ROW_TURNS(turn, plan, shared)
    {
        struct kept_row<parts, unit, whole> grad, a;
        grad.memory = turn_row<unit>(turn, plan, &call.tensors[0]);
        a.memory = turn_row<unit>(turn, plan, &call.tensors[1]);
        row_load(grad);
        row_load(a);
        layernorm_backward_row(turn.team, grad, a, saved_moments(&call, turn.row),
                               shared_row<unit>(turn, plan, &call.tensors[4]),
                               turn_row<unit>(turn, plan, &call.tensors[5]), plan.columns);
    }
}

struct slope_launch {
    struct operation_call call;
    struct column_plan columns;
};

/* The gradients of weight and bias. load(tensor, index, values) brings a packet. */
template <int unit, typename loader>
BODY void layernorm_slopes(const struct slope_launch &launch, float *shared, loader load)
{
    const struct tensor *t = launch.call.tensors;
    int64_t columns = launch.columns.packets * unit;
    columns_sum<unit, 2>(
        launch.columns, shared, [&](int64_t packet) { return packet * unit; },
        [&](int64_t start, int64_t row, float(&sum)[2][unit]) {
            struct row_moments moments = saved_moments(&launch.call, row);
            float grad[unit], a[unit];
            load(&t[0], row * columns + start, grad);
            load(&t[1], row * columns + start, a);
#pragma unroll
            for (int k = 0; k < unit; k++) {
                sum[0][k] += grad[k] * ((a[k] - moments.mean) * moments.reciprocal_deviation);
                sum[1][k] += grad[k];
            }
        },
        [&](int which, int64_t column, float sum) { tensor_set(&t[6 + which], column, sum); });
}

template <int unit>
static __global__ void __launch_bounds__(COLUMN_THREADS_MAXIMUM)
    layernorm_slopes_kernel(const __grid_constant__ struct slope_launch launch)
{
    __shared__ struct column_shared<unit, 2> shared;
    const struct tensor *t = launch.call.tensors;
    if (t[0].dtype == t[1].dtype) {
        FLOATING_SWITCH(t[0].dtype, unit, {
            layernorm_slopes<unit>(launch, shared.at, [&](const struct tensor *from, int64_t index, float *to) {
                packet_load<dtype, unit>(from->data, index, to);
            });
        });
    } else {
        layernorm_slopes<unit>(launch, shared.at, [&](const struct tensor *from, int64_t index, float *to) {
            FLOATING_SWITCH(from->dtype, unit, { packet_load<dtype, unit>(from->data, index, to); });
        });
    }
}

typedef void slope_kernel(const struct slope_launch launch);

static void launch_layernorm_slopes(const struct operation_call *call, struct rows rows, cudaStream_t stream)
{
    const struct tensor *tensors[] = {&call->tensors[0], &call->tensors[1]};
    int unit = packet_unit(tensors, 2, rows.columns);
    struct slope_launch launch;
    launch.call = *call;
    launch.columns = column_plan_of(rows.columns, rows.count, unit);
    slope_kernel *kernel = UNIT_FORM(layernorm_slopes_kernel, unit);
    kernel<<<launch.columns.blocks, launch.columns.threads, 0, stream>>>(launch);
}

const char *launch_layernorm_backward(const struct operation_call *call, cudaStream_t stream)
{
    static call_kernel *const kernels[ROW_FORM_COUNT] = ROW_FORMS(layernorm_backward_kernel);
    struct rows rows = rows_of(&call->tensors[1]);
    if (rows.count > 0) {
        const struct tensor *t = call->tensors;
        const struct tensor *tensors[] = {&t[0], &t[1], &t[4], &t[5]};
        struct row_plan plan = row_plan_of(rows, packet_unit(tensors, 4, rows.columns));
        kernels[plan.form]<<<plan.blocks, plan.threads, 0, stream>>>(*call, plan);
    }
    if (call->opcode == OPCODE_LAYERNORM_BACKWARD) {
        launch_layernorm_slopes(call, rows, stream);
    }
    return launch_result();
}
