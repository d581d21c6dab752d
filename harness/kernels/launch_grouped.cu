/* Launches of grouped rows; their products are in launch_grouped_matmul.cu. A wrong id of SORT_IDS, GROUP_ENDS,
 * PLACE_IDS or SCATTER, which nobody here can report, is left out. */
#include "harness/kernels/body_grouped.h"
#include "harness/kernels/launch_grid.h"
#include "harness/kernels/plan_grouped.h"

struct grouped_launch {
    struct tensor tensors[4];
    int64_t count, groups;
    struct rows rows;
};

static struct grouped_launch grouped_launch_of(const struct operation_call *call)
{
    struct grouped_launch launch;
    for (int t = 0; t < call->tensor_count; t++) {
        launch.tensors[t] = call->tensors[t];
    }
    launch.count = tensor_element_count(&call->tensors[0]);
    launch.groups = call->attributes.i[0];
    return launch;
}

/* A block sorts SORTED_GROUPS neighbouring groups. Each of its warps has a part of the ids, which it reads twice: to
 * count them, then, knowing how many the other warps have in front of its own, to write them. A step reads
 * SORT_STEP ids before it looks at the first. Equal ids keep their order, as parts, steps and lanes follow one
 * another. */
enum { SORT_WARPS = SORT_LANES / 32, SORT_READS = 4, SORT_STEP = 32 * SORT_READS };

struct sort_part {
    int64_t first, end;
};

BODY struct sort_part sort_part_of(int warp, int64_t count)
{
    int64_t steps = (count + SORT_STEP - 1) / SORT_STEP, end = steps * (warp + 1) / SORT_WARPS * SORT_STEP;
    struct sort_part part = {steps * warp / SORT_WARPS * SORT_STEP, end < count ? end : count};
    return part;
}

/* The lane's ids of a step; beyond the part what is no group's. */
BODY void sort_read(int64_t (&own)[SORT_READS], const int64_t *ids, int64_t step, int64_t end)
{
    int lane = (int)threadIdx.x & 31;
#pragma unroll
    for (int r = 0; r < SORT_READS; r++) {
        own[r] = step + r * 32 + lane < end ? ids[step + r * 32 + lane] : INT64_MAX;
    }
}

/* How many ids of the warp's part are in each of the block's groups and, last, below the first of them; the same in
 * every lane. */
BODY void sort_count(const int64_t *ids, struct sort_part part, int64_t group, int64_t (&counts)[SORTED_GROUPS + 1])
{
    for (int64_t step = part.first; step < part.end; step += SORT_STEP) {
        int64_t own[SORT_READS];
        sort_read(own, ids, step, part.end);
#pragma unroll
        for (int r = 0; r < SORT_READS; r++) {
            counts[SORTED_GROUPS] += __popc(__ballot_sync(0xffffffffu, own[r] < group));
#pragma unroll
            for (int g = 0; g < SORTED_GROUPS; g++) {
                counts[g] += __popc(__ballot_sync(0xffffffffu, own[r] == group + g));
            }
        }
    }
}

/* Where the warp's first id of each group goes: behind all smaller ones, and those of the warps before it. */
BODY void sort_places(const int64_t (*counted)[SORTED_GROUPS + 1], int warp, int64_t (&places)[SORTED_GROUPS])
{
    int64_t below = 0;
#pragma unroll 1
    for (int other = 0; other < SORT_WARPS; other++) {
        below += counted[other][SORTED_GROUPS];
    }
#pragma unroll
    for (int g = 0; g < SORTED_GROUPS; g++) {
        places[g] = below;
#pragma unroll 1
        for (int other = 0; other < SORT_WARPS; other++) {
            places[g] += other < warp ? counted[other][g] : 0;
            below += counted[other][g];
        }
    }
}

BODY void sort_write(const struct grouped_launch *launch, struct sort_part part, int64_t group,
                     int64_t (&places)[SORTED_GROUPS])
{
    const int64_t *ids = (const int64_t *)launch->tensors[0].data;
    int64_t *sorted = (int64_t *)launch->tensors[1].data, *from = (int64_t *)launch->tensors[2].data;
    int lane = (int)threadIdx.x & 31;
    for (int64_t step = part.first; step < part.end; step += SORT_STEP) {
        int64_t own[SORT_READS];
        sort_read(own, ids, step, part.end);
#pragma unroll
        for (int k = 0; k < SORT_READS * SORTED_GROUPS; k++) {
            int r = k / SORTED_GROUPS, g = k % SORTED_GROUPS;
            unsigned lanes = __ballot_sync(0xffffffffu, own[r] == group + g);
            if ((lanes >> lane & 1) != 0 && group + g < launch->groups) {
                int64_t place = places[g] + __popc(lanes & ((1u << lane) - 1));
                sorted[place] = own[r];
                from[place] = step + r * 32 + lane;
            }
            places[g] += __popc(lanes);
        }
    }
}

static __global__ void __launch_bounds__(SORT_LANES)
    sort_ids_kernel(const __grid_constant__ struct grouped_launch launch)
{
    __shared__ int64_t counted[SORT_WARPS][SORTED_GROUPS + 1];
    const int64_t *ids = (const int64_t *)launch.tensors[0].data;
    int warp = (int)threadIdx.x >> 5;
    struct sort_part part = sort_part_of(warp, launch.count);
    for (int64_t group = (int64_t)blockIdx.x * SORTED_GROUPS; group < launch.groups;
         group += (int64_t)gridDim.x * SORTED_GROUPS) {
        int64_t counts[SORTED_GROUPS + 1] = {}, places[SORTED_GROUPS];
        sort_count(ids, part, group, counts);
        __syncthreads(); /* what the last groups had has been read */
        if ((threadIdx.x & 31) == 0) {
#pragma unroll
            for (int g = 0; g <= SORTED_GROUPS; g++) {
                counted[warp][g] = counts[g];
            }
        }
        __syncthreads();
        sort_places(counted, warp, places);
        sort_write(&launch, part, group, places);
    }
}

const char *launch_sort_ids(const struct operation_call *call, cudaStream_t stream)
{
    struct grouped_launch launch = grouped_launch_of(call);
    sort_ids_kernel<<<grid_blocks(launch.groups, SORTED_GROUPS), SORT_LANES, 0, stream>>>(launch);
    return launch_result();
}

/* The ids rise: where one begins is looked up. */
static __global__ void group_ends_kernel(const __grid_constant__ struct grouped_launch launch)
{
    const int64_t *ids = (const int64_t *)launch.tensors[0].data;
    int64_t widest = launch.count > launch.groups ? launch.count : launch.groups;
    for (int64_t k = thread_first(); k < widest; k += thread_step()) {
        if (k < launch.count) {
            ((int32_t *)launch.tensors[1].data)[k] = (int32_t)ids[k];
        }
        if (k < launch.groups) {
            int64_t end = rising_ids_below(ids, launch.count, k + 1);
            ((int32_t *)launch.tensors[2].data)[k] = (int32_t)(end - rising_ids_below(ids, launch.count, k));
            ((int32_t *)launch.tensors[3].data)[k] = (int32_t)end;
        }
    }
}

const char *launch_group_ends(const struct operation_call *call, cudaStream_t stream)
{
    struct grouped_launch launch = grouped_launch_of(call);
    launch.groups = tensor_element_count(&call->tensors[2]);
    int64_t widest = launch.count > launch.groups ? launch.count : launch.groups;
    group_ends_kernel<<<grid_blocks(widest, LANES), LANES, 0, stream>>>(launch);
    return launch_result();
}

static __global__ void place_ids_kernel(const __grid_constant__ struct grouped_launch launch)
{
    for (int64_t k = thread_first(); k < launch.count; k += thread_step()) {
        int64_t place = ((const int64_t *)launch.tensors[0].data)[k];
        if (place >= 0 && place < launch.count) {
            ((int64_t *)launch.tensors[2].data)[place] = ((const int64_t *)launch.tensors[1].data)[k];
        }
    }
}

const char *launch_place_ids(const struct operation_call *call, cudaStream_t stream)
{
    struct grouped_launch launch = grouped_launch_of(call);
    place_ids_kernel<<<grid_blocks(launch.count, LANES), LANES, 0, stream>>>(launch);
    return launch_result();
}

/* A thread has a group of a row. */
static __global__ void group_limit_kernel(const __grid_constant__ struct grouped_launch launch,
                                          struct group_choice choice)
{
    uint8_t *hidden = (uint8_t *)launch.tensors[1].data;
    int64_t width = choice.columns / choice.groups;
    for (int64_t k = thread_first(); k < launch.count; k += thread_step()) {
        bool hides = group_is_hidden(&launch.tensors[0], choice, k / choice.groups, k % choice.groups);
        for (int64_t column = k * width; column < (k + 1) * width; column++) {
            hidden[column] = hides ? 1 : 0;
        }
    }
}

const char *launch_group_limit(const struct operation_call *call, cudaStream_t stream)
{
    struct grouped_launch launch = grouped_launch_of(call);
    const int64_t *i = call->attributes.i;
    struct rows rows = rows_of(&call->tensors[0]);
    struct group_choice choice = {rows.columns, i[0], i[1], i[2]};
    launch.count = rows.count * choice.groups;
    group_limit_kernel<<<grid_blocks(launch.count, LANES), LANES, 0, stream>>>(launch, choice);
    return launch_result();
}

/* A thread has a row: it alone writes there. */
static __global__ void scatter_kernel(const __grid_constant__ struct grouped_launch launch)
{
    const int64_t *ids = (const int64_t *)launch.tensors[1].data;
    int64_t picked = launch.groups, columns = launch.rows.columns;
    for (int64_t row = thread_first(); row < launch.rows.count; row += thread_step()) {
        for (int64_t column = 0; column < columns; column++) {
            tensor_set(&launch.tensors[2], row * columns + column, 0.0f);
        }
        for (int64_t k = row * picked; k < (row + 1) * picked; k++) {
            if (ids[k] >= 0 && ids[k] < columns) {
                tensor_set(&launch.tensors[2], row * columns + ids[k], tensor_get(&launch.tensors[0], k));
            }
        }
    }
}

const char *launch_scatter(const struct operation_call *call, cudaStream_t stream)
{
    struct grouped_launch launch = grouped_launch_of(call);
    launch.rows = rows_of(&call->tensors[2]);
    launch.groups = rows_of(&call->tensors[0]).columns;
    scatter_kernel<<<grid_blocks(launch.rows.count, LANES), LANES, 0, stream>>>(launch);
    return launch_result();
}
