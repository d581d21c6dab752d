/* Launches of sums: if neighbours in memory are kept, neighbouring lanes take neighbouring packets of them
 * (launch_columns.h); if neighbours are summed, a block of lanes makes one output. */
#include "harness/kernels/body_sum.h"
#include "harness/kernels/launch_columns.h"

struct sum_launch {
    struct tensor a, out;
    struct sum_plan plan;
    struct column_plan columns;
    int64_t outputs, summed;
    float factor;
    bool is_columns, is_norm;
};

/* What an element adds, and what becomes of the sum. */
BODY float sum_summand(const struct sum_launch &launch, float value)
{
    return launch.is_norm ? value * value : value;
}

BODY float sum_result(const struct sum_launch &launch, float sum)
{
    return launch.factor * (launch.is_norm ? sqrtf(sum) : sum);
}

/* load(index, values) brings a packet of a. */
template <int unit, typename loader> BODY void sum_columns(const struct sum_launch &launch, float *shared, loader load)
{
    columns_sum<unit, 1>(
        launch.columns, shared, [&](int64_t packet) { return walk_position(&launch.plan.kept, 0, packet * unit); },
        [&](int64_t start, int64_t row, float(&sum)[1][unit]) {
            float values[unit];
            load(start + walk_position(&launch.plan.summed, 0, row), values);
#pragma unroll
            for (int k = 0; k < unit; k++) {
                sum[0][k] += sum_summand(launch, values[k]);
            }
        },
        [&](int, int64_t column, float sum) {
            tensor_set(&launch.out, walk_position(&launch.plan.kept, 1, column), sum_result(launch, sum));
        });
}

/* A block of lanes for each output. */
template <int unit, typename loader> BODY void sum_rows(const struct sum_launch &launch, float *shared, loader load)
{
    struct team team = block_team(shared);
    for (int64_t output = blockIdx.x; output < launch.outputs; output += gridDim.x) {
        int64_t start = walk_position(&launch.plan.kept, 0, output);
        float sum = 0.0f;
#pragma unroll 4
        for (int64_t packet = team.lane; packet < launch.summed / unit; packet += team.lanes) {
            float values[unit];
            load(start + walk_position(&launch.plan.summed, 0, packet * unit), values);
#pragma unroll
            for (int k = 0; k < unit; k++) {
                sum += sum_summand(launch, values[k]);
            }
        }
        sum = team_sum(team, sum);
        if (team.lane == 0) {
            tensor_set(&launch.out, walk_position(&launch.plan.kept, 1, output), sum_result(launch, sum));
        }
    }
}

template <int unit, typename loader> BODY void sum_any(const struct sum_launch &launch, float *shared, loader load)
{
    if (launch.is_columns) {
        sum_columns<unit>(launch, shared, load);
    } else {
        sum_rows<unit>(launch, shared, load);
    }
}

template <int unit>
static __global__ void __launch_bounds__(COLUMN_THREADS_MAXIMUM)
    sum_kernel(const __grid_constant__ struct sum_launch launch)
{
    __shared__ struct column_shared<unit, 1> shared;
    const struct tensor *a = &launch.a;
    if (unit == 1 && !dtype_is_packed(a->dtype)) {
        sum_any<unit>(launch, shared.at, [&](int64_t index, float *to) { to[0] = tensor_get(a, index); });
        return;
    }
    FLOATING_SWITCH(a->dtype, unit, {
        sum_any<unit>(launch, shared.at,
                      [&](int64_t index, float *to) { packet_load<dtype, unit>(a->data, index, to); });
    });
}

typedef void sum_function(const struct sum_launch launch);

/* The largest packet of neighbours along the lines of `along`, on its boundary wherever both walks lead. */
static int sum_unit(const struct tensor *a, const struct walk *along, const struct walk *other)
{
    bool packed = dtype_is_packed(a->dtype) && along->stride[0][along->rank - 1] == 1;
    int unit = packed ? packet_unit(&a, 1, along->line_length) : 1;
    for (int d = 0; d < along->rank - 1; d++) {
        unit = unit_dividing(unit, along->stride[0][d]);
    }
    for (int d = 0; d < other->rank; d++) {
        unit = other->size[d] > 1 ? unit_dividing(unit, other->stride[0][d]) : unit;
    }
    return unit;
}

const char *launch_sum(const struct operation_call *call, cudaStream_t stream)
{
    struct sum_launch launch;
    launch.a = call->tensors[0];
    launch.out = call->tensors[1];
    launch.plan = sum_plan_of(call);
    const struct walk *kept = &launch.plan.kept, *summed = &launch.plan.summed;
    launch.outputs = kept->line_count * kept->line_length;
    launch.summed = summed->line_count * summed->line_length;
    launch.factor = (float)call->attributes.f[0];
    launch.is_norm = call->attributes.i[0] == 1;
    launch.is_columns = sum_plan_is_columns(&launch.plan);
    int unit = launch.is_columns ? sum_unit(&launch.a, kept, summed) : sum_unit(&launch.a, summed, kept);
    launch.columns = column_plan_of(launch.outputs, launch.summed, unit);
    unsigned blocks = launch.is_columns ? launch.columns.blocks : grid_blocks(launch.outputs, 1);
    unsigned threads = launch.is_columns ? (unsigned)launch.columns.threads : row_lanes(launch.summed / unit);
    sum_function *kernel = UNIT_FORM(sum_kernel, unit);
    kernel<<<blocks, threads, 0, stream>>>(launch);
    return launch_result();
}
