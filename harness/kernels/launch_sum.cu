/* Launches of sums: if neighbours in memory are kept, neighbouring lanes take neighbouring packets of them
 * (launch_columns.h); if neighbours are summed, a block of lanes makes one output. If that is work for few blocks and
 * the call has a workspace, the sums of parts go there, and a second launch sums them (struct sum_parts). */
#include "harness/kernels/body_sum.h"
#include "harness/kernels/launch_columns.h"

/* Block y of the grid has a part, the first of all unless there are several. */
struct sum_launch {
    struct tensor a, out;
    struct sum_plan plan;
    struct column_plan columns;
    int64_t outputs, packets; /* of what is summed for an output */
    int64_t part_packets;     /* of these in a part */
    int64_t part_step;        /* in out */
    float factor;
    bool is_columns, squares, root;
};

/* What an element adds, what becomes of the sum, and where it goes. */
BODY float sum_summand(const struct sum_launch &launch, float value)
{
    return launch.squares ? value * value : value;
}

BODY float sum_result(const struct sum_launch &launch, float sum)
{
    return launch.factor * (launch.root ? sqrtf(sum) : sum);
}

BODY void sum_write(const struct sum_launch &launch, int64_t output, float sum)
{
    int64_t place = walk_position(&launch.plan.kept, 1, output) + blockIdx.y * launch.part_step;
    tensor_set(&launch.out, place, sum_result(launch, sum));
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
        [&](int, int64_t column, float sum) { sum_write(launch, column, sum); });
}

/* A block of lanes for each output, or part of one. */
template <int unit, typename loader> BODY void sum_rows(const struct sum_launch &launch, float *shared, loader load)
{
    struct team team = block_team(shared);
    int64_t first = blockIdx.y * launch.part_packets, rest = launch.packets - first;
    int64_t end = first + (rest < launch.part_packets ? rest : launch.part_packets);
    for (int64_t output = blockIdx.x; output < launch.outputs; output += gridDim.x) {
        int64_t start = walk_position(&launch.plan.kept, 0, output);
        float sum = 0.0f;
#pragma unroll 4
        for (int64_t packet = first + team.lane; packet < end; packet += team.lanes) {
            float values[unit];
            load(start + walk_position(&launch.plan.summed, 0, packet * unit), values);
#pragma unroll
            for (int k = 0; k < unit; k++) {
                sum += sum_summand(launch, values[k]);
            }
        }
        sum = team_sum(team, sum);
        if (team.lane == 0) {
            sum_write(launch, output, sum);
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

static int64_t walk_count(const struct walk *walk)
{
    return walk->line_count * walk->line_length;
}

/* The launch without parts; what is to be made of the sums is not said. */
static struct sum_launch sum_launch_of(struct tensor a, struct tensor out, const struct sum_plan *plan, bool is_columns,
                                       int *unit)
{
    struct sum_launch launch;
    launch.a = a;
    launch.out = out;
    launch.plan = *plan;
    launch.is_columns = is_columns;
    *unit = is_columns ? sum_unit(&a, &plan->kept, &plan->summed) : sum_unit(&a, &plan->summed, &plan->kept);
    launch.outputs = walk_count(&plan->kept);
    launch.packets = launch.part_packets = walk_count(&plan->summed) / (is_columns ? 1 : *unit);
    launch.part_step = 0;
    launch.columns = column_plan_of(launch.outputs, walk_count(&plan->summed), *unit);
    launch.factor = 1.0f;
    launch.squares = launch.root = false;
    return launch;
}

static unsigned sum_blocks(const struct sum_launch *launch)
{
    return launch->is_columns ? launch->columns.blocks : grid_blocks(launch->outputs, 1);
}

static void sum_start(const struct sum_launch *launch, int unit, int64_t parts, cudaStream_t stream)
{
    dim3 grid(sum_blocks(launch), (unsigned)parts);
    unsigned threads = launch->is_columns ? (unsigned)launch->columns.threads : row_lanes(launch->part_packets);
    sum_function *kernel = UNIT_FORM(sum_kernel, unit);
    kernel<<<grid, threads, 0, stream>>>(*launch);
}

/* Tensor t of the walk lies side by side, row-major. */
static void walk_make_dense(struct walk *walk, int t)
{
    int64_t step = 1;
    for (int d = walk->rank - 1; d >= 0; d--) {
        walk->stride[t][d] = step;
        step *= walk->size[d];
    }
}

/* The sums of parts into the workspace. */
static void sum_parts_start(struct sum_launch launch, const struct tensor *sums, struct sum_parts parts, int unit,
                            cudaStream_t stream)
{
    launch.out = *sums;
    walk_make_dense(&launch.plan.kept, 1);
    launch.part_packets = parts.packets;
    launch.part_step = launch.outputs;
    launch.columns = column_plan_in_parts(launch.columns, parts);
    sum_start(&launch, unit, parts.count, stream);
}

/* Sums the columns of [parts, outputs], which lie in the workspace. */
static struct sum_launch sum_join_of(const struct sum_launch *whole, const struct tensor *sums, int64_t parts,
                                     int *unit)
{
    struct sum_plan plan;
    plan.kept = whole->plan.kept;
    walk_make_dense(&plan.kept, 0);
    struct tensor rows = *sums;
    rows.rank = 1;
    rows.size[0] = parts;
    rows.stride[0] = whole->outputs;
    plan.summed = walk_of(&rows, 1);
    return sum_launch_of(*sums, whole->out, &plan, true, unit);
}

const char *launch_sum(const struct operation_call *call, cudaStream_t stream)
{
    struct sum_plan plan = sum_plan_of(call);
    int unit, join_unit;
    struct sum_launch launch =
        sum_launch_of(call->tensors[0], call->tensors[call->input_count], &plan, sum_plan_is_columns(&plan), &unit);
    bool is_norm = call->attributes.i[0] == 1;
    launch.squares = is_norm;
    struct sum_parts parts =
        sum_parts_of(sum_blocks(&launch), launch.packets, launch.is_columns ? PART_ROWS_LEAST : PART_PACKETS_LEAST,
                     launch.outputs, workspace_bytes_of(call, 1));
    struct sum_launch last = launch;
    if (parts.count > 1) {
        struct tensor sums = call->tensors[1];
        sums.dtype = DTYPE_FLOAT32;
        sum_parts_start(launch, &sums, parts, unit, stream);
        last = sum_join_of(&launch, &sums, parts.count, &join_unit);
        unit = join_unit;
    }
    last.factor = (float)call->attributes.f[0];
    last.root = is_norm;
    sum_start(&last, unit, 1, stream);
    return launch_result();
}
