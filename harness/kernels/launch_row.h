/* Rows in registers: the CUDA half of body_row.h, and how rows are dealt to teams of lanes.
 *
 * A row is cut into packets of `unit` elements, 8 or 4 if memory allows, else 1, that are dealt to the lanes of a
 * team in turn, so that neighbouring lanes ask for neighbouring packets. A group is as many packets of a lane as make
 * eight elements. A lane keeps `parts` groups in registers. Short rows have a team of a part of a warp, long ones a
 * block.
 *
 * Worked: 768 columns of bfloat16 are 96 packets of 8; a lane keeps 4 groups of one packet, so 24 lanes are needed and
 * a warp has the row: lanes 0 to 31 hold the packets 0 to 31, 32 to 63, 64 to 95, and nothing in their last group. */
#ifndef ASSAY_KERNELS_LAUNCH_ROW_H
#define ASSAY_KERNELS_LAUNCH_ROW_H

#include "harness/kernels/launch_grid.h"
#include "harness/kernels/launch_packet.h"
#include "harness/kernels/plan_rows.h"

template <int unit> struct group {
    float at[GROUP_ELEMENTS];
    bool has[GROUP_ELEMENTS / unit]; /* packets that lie in the row */
};

template <int unit> struct memory_row {
    struct span span;
    struct team team;
    int64_t columns;
};

/* whole: nothing of the row is left to be read from memory again. */
template <int parts, int unit, bool whole> struct kept_row {
    struct memory_row<unit> memory;
    float kept[parts][GROUP_ELEMENTS];
};

/* A group of a lane: one that is kept, known to the compiler by its number, or one that is not. */
struct kept_place {
    int part;
};

struct memory_place {
    int64_t part;
};

#define GROUP_BODY          template <int unit> BODY
#define GROUP               struct group<unit>
#define GROUP_SIZE(group)   GROUP_ELEMENTS
#define GROUP_SIMD(clauses) _Pragma("unroll")
#define ROW_BODY            template <int parts, int unit, bool whole> BODY
#define ROW                 struct kept_row<parts, unit, whole> &
#define MEMORY_ROW          const struct memory_row<unit> &
#define ROW_EACH(row, place, ...)                                                                                      \
    do {                                                                                                               \
        _Pragma("unroll") for (int number = 0; number < parts; number++)                                               \
        {                                                                                                              \
            const struct kept_place place = {number};                                                                  \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
        for (int64_t number = parts; !whole && number < row_groups((row).memory); number++) {                          \
            const struct memory_place place = {number};                                                                \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    } while (0)

template <int unit>
BODY struct memory_row<unit> memory_row_of(const struct tensor *tensor, int64_t index, struct team team,
                                           int64_t columns) {
    struct memory_row<unit> row = {
        span_at(tensor, index), team, columns
    };
    return row;
}

/* The groups of a lane, whole or not. */
template <int unit>
BODY int64_t row_groups(const struct memory_row<unit> &row)
{
    int64_t step = (int64_t)row.team.lanes * GROUP_ELEMENTS;
    return (row.columns + step - 1) / step;
}

/* Where packet `packet` of a group begins. */
template <int unit, typename place> BODY auto packet_first(const struct memory_row<unit> &row, place at, int packet)
{
    return ((at.part * (GROUP_ELEMENTS / unit) + packet) * row.team.lanes + row.team.lane) * unit;
}

/* The column of element k of a group. */
template <int unit, typename place> BODY int64_t row_column(const struct memory_row<unit> &row, place at, int64_t k)
{
    return packet_first(row, at, (int)k / unit) + k % unit;
}

/* The elements of a group that lie in the row. */
template <int unit> BODY float group_count(const struct group<unit> &group)
{
    float count = 0.0f;
#pragma unroll
    for (int n = 0; n < GROUP_ELEMENTS / unit; n++) {
        count += group.has[n] ? (float)unit : 0.0f;
    }
    return count;
}

template <int unit> BODY bool group_has(const struct group<unit> &group, int64_t k)
{
    return group.has[k / unit];
}

template <int unit, typename place> BODY struct group<unit> row_target(const struct memory_row<unit> &row, place at) {
    struct group<unit> group;
#pragma unroll
    for (int n = 0; n < GROUP_ELEMENTS / unit; n++) {
        group.has[n] = packet_first(row, at, n) < row.columns;
    }
    return group;
}

template <int unit>
BODY struct group<unit> group_of(struct group<unit> group, float value) {
#pragma unroll
    for (int k = 0; k < GROUP_ELEMENTS; k++) {
        group.at[k] = value;
    }
    return group;
}

/* Elements beyond the row are 0. */
template <int unit, typename place>
BODY struct group<unit> row_get(const struct memory_row<unit> &row, place at) {
    struct group<unit> group = row_target(row, at);
    FLOATING_SWITCH(row.span.dtype, unit, {
#pragma unroll
        for (int n = 0; n < GROUP_ELEMENTS / unit; n++) {
            float *to = &group.at[n * unit];
            for (int k = 0; k < unit; k++) {
                to[k] = 0.0f;
            }
            if (group.has[n]) {
                packet_load<dtype, unit>(row.span.data, packet_first(row, at, n), to);
            }
        }
    });
    return group;
}

template <int unit, typename place>
BODY void row_set(const struct memory_row<unit> &row, place at, const struct group<unit> &group)
{
    FLOATING_SWITCH(row.span.dtype, unit, {
#pragma unroll
        for (int n = 0; n < GROUP_ELEMENTS / unit; n++) {
            if (group.has[n]) {
                packet_store<dtype, unit>(row.span.data, packet_first(row, at, n), &group.at[n * unit]);
            }
        }
    });
}

/* A row whose first groups are read and kept. All loads are on their way before the first is waited for. */
template <int parts, int unit, bool whole> BODY void row_load(struct kept_row<parts, unit, whole> &row)
{
    FLOATING_SWITCH(row.memory.span.dtype, unit, {
#pragma unroll
        for (int part = 0; part < parts; part++) {
#pragma unroll
            for (int n = 0; n < GROUP_ELEMENTS / unit; n++) {
                const struct kept_place at = {part};
                float *to = &row.kept[part][n * unit];
                for (int k = 0; k < unit; k++) {
                    to[k] = 0.0f;
                }
                if (packet_first(row.memory, at, n) < row.memory.columns) {
                    packet_load<dtype, unit>(row.memory.span.data, packet_first(row.memory, at, n), to);
                }
            }
        }
    });
}

ROW_BODY GROUP row_kept(ROW row, struct kept_place at)
{
    GROUP group = row_target(row.memory, at);
#pragma unroll
    for (int k = 0; k < GROUP_ELEMENTS; k++) {
        group.at[k] = row.kept[at.part][k];
    }
    return group;
}

ROW_BODY GROUP row_kept(ROW row, struct memory_place at)
{
    return row_target(row.memory, at);
}

ROW_BODY GROUP row_get(ROW row, struct kept_place at)
{
    return row_kept(row, at);
}

ROW_BODY GROUP row_get(ROW row, struct memory_place at)
{
    return row_get(row.memory, at);
}

template <int parts, int unit, bool whole, typename place> BODY GROUP row_target(ROW row, place at)
{
    return row_target(row.memory, at);
}

template <int parts, int unit, bool whole, typename place> BODY void row_set(ROW row, place at, const GROUP &group)
{
    row_set(row.memory, at, group);
}

ROW_BODY void row_keep(ROW row, struct kept_place at, const GROUP &group)
{
#pragma unroll
    for (int k = 0; k < GROUP_ELEMENTS; k++) {
        row.kept[at.part][k] = group.at[k];
    }
}

ROW_BODY void row_keep(ROW row, struct memory_place at, const GROUP &group)
{
    (void)row;
    (void)at;
    (void)group;
}

BODY constexpr bool row_keeps(struct kept_place)
{
    return true;
}

BODY constexpr bool row_keeps(struct memory_place)
{
    return false;
}

#define ROW_FORMS(kernel)                                                                                              \
    {                                                                                                                  \
        kernel<1, 1, true>, kernel<1, 1, false>, kernel<ROW_PARTS, 4, true>, kernel<ROW_PARTS, 4, false>,              \
            kernel<ROW_PARTS, 8, true>, kernel<ROW_PARTS, 8, false>                                                    \
    }

/* A statement for each group of a row that is not kept. */
#define MEMORY_EACH(row, place, ...)                                                                                   \
    for (int64_t number = 0; number < row_groups(row); number++) {                                                     \
        const struct memory_place place = {number};                                                                    \
        __VA_ARGS__                                                                                                    \
    }

#define ROW_MEMORY_KERNEL template <int unit> static __global__ void __launch_bounds__(ROW_TEAM_MAXIMUM, 1)

/* A kernel of rows, that is launched with a row_plan. */
#define ROW_TEAM_KERNEL                                                                                                \
    template <int parts, int unit, bool whole> static __global__ void __launch_bounds__(ROW_TEAM_MAXIMUM)

/* The rows of a team, one after the other. All teams of a block go through the loop as often, because lanes of one warp
 * wait for each other; a team without a row has one without columns. */
struct row_turn {
    struct team team;
    int64_t first, step; /* of the block's first team */
    int64_t row;
    bool has;
};

BODY void row_turn_set(struct row_turn *turn, const struct row_plan &plan)
{
    turn->row = turn->first + (int)threadIdx.x / plan.lanes;
    turn->has = turn->row < plan.count;
    turn->row = turn->has ? turn->row : 0;
}

BODY struct row_turn row_turn_first(const struct row_plan &plan, float *shared)
{
    struct row_turn turn;
    int teams = (int)blockDim.x / plan.lanes;
    turn.team = team{(int)threadIdx.x % plan.lanes, plan.lanes, shared};
    turn.first = (int64_t)blockIdx.x * teams;
    turn.step = (int64_t)gridDim.x * teams;
    row_turn_set(&turn, plan);
    return turn;
}

BODY void row_turn_next(struct row_turn *turn, const struct row_plan &plan)
{
    turn->first += turn->step;
    row_turn_set(turn, plan);
}

#define ROW_TURNS(turn, plan, shared)                                                                                  \
    for (struct row_turn turn = row_turn_first(plan, shared); turn.first < (plan).count; row_turn_next(&turn, plan))

template <int unit>
BODY struct memory_row<unit> turn_row(const struct row_turn &turn, const struct row_plan &plan,
                                      const struct tensor *tensor) {
    return memory_row_of<unit>(tensor, turn.row *plan.columns, turn.team, turn.has ? plan.columns : 0);
}

/* A row of a tensor that all rows share, as weights are. */
template <int unit>
BODY struct memory_row<unit> shared_row(const struct row_turn &turn, const struct row_plan &plan,
                                        const struct tensor *tensor) {
    return memory_row_of<unit>(tensor, 0, turn.team, turn.has ? plan.columns : 0);
}

#endif
