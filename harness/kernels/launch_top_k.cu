/* Launches of TOP_K and ARGMAX: a block of lanes for each row, or for each part of a row if there are few rows and the
 * call has a workspace for what the parts find (struct select_plan).
 *
 * Each lane keeps the best element of its own packets, so that what is looked through is read once. If few are picked,
 * the block finds them one after the other: where the lane was that had the last, its packets are looked through once
 * more by all lanes of its warp. If many are, the best elements of the lanes are sorted: that of place `picked` is no
 * better than the last that is picked, so only lanes with one as good are looked through again, and what they have that
 * is as good is sorted. These are seldom many more than are picked; if they are more than are sorted at once, they are
 * found one after the other too. */
#include "harness/kernels/body_select.h"
#include "harness/kernels/launch_grid.h"
#include "harness/kernels/launch_packet.h"
#include "harness/kernels/plan_select.h"

struct select_launch {
    struct tensor a, values, indices;
    uint64_t *found; /* the best of each part, in the workspace */
    struct select_plan plan;
};

struct select_shared {
    uint64_t ranks[2 * ROW_LANES_MAXIMUM];
    uint64_t least;
    int count;
};

/* -- what a block looks through: some packets of a row, or ranks that lie side by side */

template <int unit> struct row_ranks {
    const struct tensor *a;
    int64_t start, first, end; /* of the row, in elements; in packets of it */
};

struct list_ranks {
    const uint64_t *ranks;
    int64_t count;
};

/* A loop that is unrolled stands in a function: in the arguments of a macro nvcc unrolls none. */
template <enum dtype dtype, int unit, typename visitor>
BODY void packets_each(const struct row_ranks<unit> &row, int64_t from, int64_t step, visitor visit)
{
#pragma unroll 4
    for (int64_t packet = row.first + from; packet < row.end; packet += step) {
        float values[unit];
        packet_load<dtype, unit>(row.a->data, row.start + packet * unit, values);
#pragma unroll
        for (int n = 0; n < unit; n++) {
            visit(rank_of(values[n], packet * unit + n));
        }
    }
}

/* visit(rank) for the elements of packets from, from + step, ... */
template <int unit, typename visitor>
BODY void ranks_each(const struct row_ranks<unit> &row, int64_t from, int64_t step, visitor visit)
{
    FLOATING_SWITCH(row.a->dtype, unit, { packets_each<dtype, unit>(row, from, step, visit); });
}

template <typename visitor>
BODY void ranks_each(const struct list_ranks &list, int64_t from, int64_t step, visitor visit)
{
#pragma unroll 4
    for (int64_t k = from; k < list.count; k += step) {
        visit(list.ranks[k]);
    }
}

/* The best below a limit; 0: none. */
template <typename source> BODY uint64_t ranks_best(const source &from, int64_t first, int64_t step, uint64_t limit)
{
    uint64_t best = 0;
    ranks_each(from, first, step, [&](uint64_t rank) { best = rank > best && rank < limit ? rank : best; });
    return best;
}

/* The best of all of a lane's. Of a row the elements are compared as they are, which takes half the instructions. */
BODY uint64_t ranks_first(const struct list_ranks &list)
{
    return ranks_best(list, (int)threadIdx.x, (int)blockDim.x, UINT64_MAX);
}

template <enum dtype dtype, int unit> BODY uint64_t packets_first(const struct row_ranks<unit> &row)
{
    float best = NAN; /* nothing is less or equal */
    uint32_t index = 0;
#pragma unroll 8
    for (int64_t packet = row.first + (int)threadIdx.x; packet < row.end; packet += (int)blockDim.x) {
        float values[unit];
        packet_load<dtype, unit>(row.a->data, row.start + packet * unit, values);
#pragma unroll
        for (int n = 0; n < unit; n++) {
            float value = ranked_value(values[n]);
            bool is_better = !(value <= best);
            best = is_better ? value : best;
            index = is_better ? (uint32_t)(packet * unit + n) : index;
        }
    }
    return best != best ? 0 : rank_of(best, index);
}

template <int unit> BODY uint64_t ranks_first(const struct row_ranks<unit> &row)
{
    uint64_t first = 0;
    FLOATING_SWITCH(row.a->dtype, unit, { first = packets_first<dtype, unit>(row); });
    return first;
}

/* The best of what a warp's lanes have, in each of them. */
BODY uint64_t warp_best(uint64_t own)
{
    for (int step = 1; step < 32; step <<= 1) {
        uint64_t other = __shfl_xor_sync(0xffffffffu, own, step);
        own = other > own ? other : own;
    }
    return own;
}

/* -- one after the other */

/* write(k, rank) by one lane for each k below `picked`, which all lanes of the block see; rank 0 if there are fewer. */
template <typename source, typename writer>
BODY void block_pick(const source &from, int64_t picked, uint64_t *shared, writer write)
{
    int lane = (int)threadIdx.x, lanes = (int)blockDim.x;
    uint64_t own = ranks_first(from);
    uint64_t best = warp_best(own);
    for (int64_t k = 0; k < picked; k++) {
        if ((lane & 31) == 0) {
            shared[lane >> 5] = best;
        }
        __syncthreads();
        uint64_t last = warp_best((lane & 31) < lanes >> 5 ? shared[lane & 31] : 0);
        if (lane == 0) {
            write(k, last);
        }
        __syncthreads(); /* all have read what the warps told, and see what was written */
        unsigned owners = __ballot_sync(0xffffffffu, own == last && last != 0);
        if (owners != 0 && k + 1 < picked) {
            int owner = __ffs((int)owners) - 1;
            uint64_t next = warp_best(
                ranks_best(from, (lane & ~31) + owner + (int64_t)(lane & 31) * lanes, 32 * (int64_t)lanes, last));
            own = (lane & 31) == owner ? next : own;
            best = warp_best(own);
        }
    }
}

/* -- sorted */

/* Sorts what the first `width` lanes have, falling: bitonic, across warps through shared memory, 2 * width of it in
 * turn, so that one wait for each step is enough. */
BODY uint64_t block_sort(uint64_t own, int width, uint64_t *shared)
{
    int lane = (int)threadIdx.x, turn = 0;
    for (int size = 2; size <= width; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            uint64_t other = own;
            if (step < 32) {
                other = __shfl_xor_sync(0xffffffffu, own, step);
            } else {
                if (lane < width) {
                    shared[turn + lane] = own;
                }
                __syncthreads();
                if (lane < width) {
                    other = shared[turn + (lane ^ step)];
                }
                turn = width - turn;
            }
            bool larger = ((lane & step) == 0) == ((lane & size) == 0);
            own = larger == (other > own) ? other : own;
        }
    }
    return own;
}

/* The element of place `picked` of the lanes' best, of which `width` groups have one each; 0: there are fewer. */
BODY uint64_t block_least(uint64_t own, int64_t picked, int width, struct select_shared *shared)
{
    int lane = (int)threadIdx.x, lanes = (int)blockDim.x;
    uint64_t best = 0;
    shared->ranks[lane] = own;
    __syncthreads();
    for (int k = lane; lane < width && k < lanes; k += width) {
        best = shared->ranks[k] > best ? shared->ranks[k] : best;
    }
    __syncthreads(); /* the same memory is sorted in */
    best = block_sort(best, width, shared->ranks);
    if (lane + 1 == picked) {
        shared->least = best;
        shared->count = 0;
    }
    __syncthreads();
    return shared->least;
}

/* As block_pick, each rank written by the lane of its number. False, and nothing is written, if too many are as good as
 * the least. */
template <typename source, typename writer>
BODY bool block_sorted(const source &from, int64_t picked, int width, struct select_shared *shared, writer write)
{
    int lane = (int)threadIdx.x, lanes = (int)blockDim.x;
    uint64_t own = ranks_first(from);
    uint64_t least = block_least(own, picked, width, shared);
    unsigned holders = __ballot_sync(0xffffffffu, own != 0 && own >= least);
    for (; holders != 0; holders &= holders - 1) {
        int64_t holder = (lane & ~31) + __ffs((int)holders) - 1;
        ranks_each(from, holder + (int64_t)(lane & 31) * lanes, 32 * (int64_t)lanes, [&](uint64_t rank) {
            int place = rank >= least ? atomicAdd(&shared->count, 1) : width;
            if (place < width) {
                shared->ranks[place] = rank;
            }
        });
    }
    __syncthreads();
    int count = shared->count;
    uint64_t mine = lane < count && lane < width ? shared->ranks[lane] : 0;
    __syncthreads(); /* the same memory is sorted in, or counted in for the next row */
    if (count > width) {
        return false;
    }
    mine = block_sort(mine, width, shared->ranks);
    if (lane < picked) {
        write(lane, mine);
    }
    __syncthreads(); /* before the next row's */
    return true;
}

template <typename source, typename writer>
BODY void block_select(const source &from, const struct select_plan &plan, struct select_block block,
                       struct select_shared *shared, writer write)
{
    if (block.sorted == 0 || !block_sorted(from, plan.picked, block.sorted, shared, write)) {
        block_pick(from, plan.picked, shared->ranks, write);
    }
}

/* -- kernels */

/* What is picked of a row, by all lanes of a block: its columns, and its elements. */
template <typename source>
BODY void row_select(const struct select_launch &launch, int64_t row, const source &from, struct select_block block,
                     struct select_shared *shared)
{
    int64_t picked = launch.plan.picked;
    int64_t *indices = (int64_t *)launch.indices.data + row * picked;
    block_select(from, launch.plan, block, shared, [&](int64_t k, uint64_t rank) { indices[k] = rank_index(rank); });
    for (int64_t k = (int)threadIdx.x; launch.plan.with_values && k < picked; k += (int)blockDim.x) {
        tensor_set(&launch.values, row * picked + k,
                   tensor_get(&launch.a, row * launch.plan.rows.columns + indices[k]));
    }
}

/* One block of so many lanes for a processor is enough: as many registers as loads are on their way. */
#define SELECT_KERNEL static __global__ void __launch_bounds__(ROW_LANES_MAXIMUM, 1)

template <int unit> SELECT_KERNEL top_k_kernel(const __grid_constant__ struct select_launch launch)
{
    __shared__ struct select_shared shared;
    const struct select_plan &plan = launch.plan;
    int64_t packets = plan.rows.columns / unit;
    for (int64_t item = blockIdx.x; item < plan.rows.count * plan.parts; item += gridDim.x) {
        int64_t row = item / plan.parts, first = item % plan.parts * plan.part_packets;
        int64_t end = packets - first < plan.part_packets ? packets : first + plan.part_packets;
        struct row_ranks<unit> from = {
            &launch.a, row *plan.rows.columns, first, end
        };
        if (plan.parts == 1) {
            row_select(launch, row, from, plan.block, &shared);
        } else {
            uint64_t *found = launch.found + item * plan.picked;
            block_select(from, plan, plan.block, &shared, [&](int64_t k, uint64_t rank) { found[k] = rank; });
        }
    }
}

/* The best of what the parts of a row have found. */
SELECT_KERNEL top_k_join_kernel(const __grid_constant__ struct select_launch launch)
{
    __shared__ struct select_shared shared;
    int64_t count = launch.plan.parts * launch.plan.picked;
    for (int64_t row = blockIdx.x; row < launch.plan.rows.count; row += gridDim.x) {
        struct list_ranks from = {launch.found + row * count, count};
        row_select(launch, row, from, launch.plan.join, &shared);
    }
}

typedef void select_function(const struct select_launch launch);

const char *launch_top_k(const struct operation_call *call, cudaStream_t stream)
{
    struct select_launch launch;
    launch.a = call->tensors[0];
    launch.values = call->tensors[call->input_count];
    launch.indices = call->tensors[call->tensor_count - 1];
    launch.found = (uint64_t *)call->tensors[1].data;
    const struct tensor *tensors[] = {&call->tensors[0]};
    int unit = packet_unit(tensors, 1, rows_of(&launch.a).columns);
    launch.plan = select_plan_of(call, unit);
    if (launch.plan.rows.columns > UINT32_MAX) {
        return "a row has more than 4,294,967,295 elements";
    }
    select_function *kernel = UNIT_FORM(top_k_kernel, unit);
    kernel<<<launch.plan.blocks, launch.plan.block.lanes, 0, stream>>>(launch);
    if (launch.plan.parts > 1) {
        unsigned blocks = grid_blocks(launch.plan.rows.count, 1);
        top_k_join_kernel<<<blocks, launch.plan.join.lanes, 0, stream>>>(launch);
    }
    return launch_result();
}
