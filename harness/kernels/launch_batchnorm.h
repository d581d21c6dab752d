/* What the launches of batch normalisation share: channels, and parts of them, whose planes are dealt to the lanes of a
 * block in packets (plan_batchnorm.h). CUDA only. */
#ifndef ASSAY_KERNELS_LAUNCH_BATCHNORM_H
#define ASSAY_KERNELS_LAUNCH_BATCHNORM_H

#include "harness/kernels/launch_row.h"
#include "harness/kernels/plan_batchnorm.h"

struct batchnorm_launch {
    struct operation_call call;
    struct batchnorm_plan plan;
    bool sums; /* the batch's own statistics count */
};

/* A channel, or the part of one that a block has: packets [first, end). */
struct channel_part {
    int64_t channel, part, first, end;
};

BODY struct channel_part channel_part_of(const struct batchnorm_plan &plan, int64_t item)
{
    struct channel_part part;
    part.channel = item / plan.parts;
    part.part = item % plan.parts;
    part.first = part.part * plan.part_packets;
    part.end = part.first + plan.part_packets < plan.packets ? part.first + plan.part_packets : plan.packets;
    return part;
}

/* Where a packet of a channel begins. Most channels are small enough for a division of 32 bits. */
BODY int64_t packet_start(const struct batchnorm_plan &plan, int64_t channel, int64_t packet, int unit)
{
    int64_t image =
        plan.packets < INT32_MAX ? (uint32_t)packet / (uint32_t)plan.plane_packets : packet / plan.plane_packets;
    int64_t along = (packet - image * plan.plane_packets) * unit;
    return (image * plan.planes.channels + channel) * plan.planes.plane + along;
}

/* A group of a lane: which of its packets there are, from packet `first` on, and where they begin. */
template <int unit>
BODY struct group<unit> group_place(const struct batchnorm_plan &plan, struct team team,
                                    const struct channel_part &part, int64_t first, int64_t *places) {
    struct group<unit> group;
#pragma unroll
    for (int n = 0; n < GROUP_ELEMENTS / unit; n++) {
        int64_t packet = first + n * team.lanes;
        group.has[n] = packet < part.end;
        places[n] = packet_start(plan, part.channel, group.has[n] ? packet : part.first, unit);
    }
    return group;
}

/* work(places, group) for each group of a lane, without elements yet. */
template <int unit, typename function>
BODY void channel_each(const struct batchnorm_plan &plan, struct team team, const struct channel_part &part,
                       function work)
{
    constexpr int count = GROUP_ELEMENTS / unit;
#pragma unroll 2
    for (int64_t first = part.first + team.lane; first < part.end; first += (int64_t)team.lanes * count) {
        int64_t places[count];
        struct group<unit> group = group_place<unit>(plan, team, part, first, places);
        work(places, group);
    }
}

/* A group with the elements of a tensor; what it lacks repeats the first packet. */
template <enum dtype dtype, int unit>
BODY struct group<unit> places_get(const struct tensor *tensor, const int64_t *places, struct group<unit> group) {
#pragma unroll
    for (int n = 0; n < GROUP_ELEMENTS / unit; n++) {
        packet_get<dtype, unit>(tensor, places[n], &group.at[n * unit]);
    }
    return group;
}

/* The same, but nothing is read for what it lacks, which is 0. */
template <enum dtype dtype, int unit>
BODY struct group<unit> places_get_present(const struct tensor *tensor, const int64_t *places,
                                           struct group<unit> group) {
#pragma unroll
    for (int n = 0; n < GROUP_ELEMENTS / unit; n++) {
#pragma unroll
        for (int k = 0; k < unit; k++) {
            group.at[n * unit + k] = 0.0f;
        }
        if (group.has[n]) {
            packet_get<dtype, unit>(tensor, places[n], &group.at[n * unit]);
        }
    }
    return group;
}

template <enum dtype dtype, int unit>
BODY void places_set(const struct tensor *tensor, const int64_t *places, const struct group<unit> &group)
{
#pragma unroll
    for (int n = 0; n < GROUP_ELEMENTS / unit; n++) {
        if (group.has[n]) {
            packet_set<dtype, unit>(tensor, places[n], &group.at[n * unit]);
        }
    }
}

/* ---- two numbers that parts tell each other, in the memory of the result: where the part begins ---- */

BODY void pair_put(const struct tensor *tensor, int64_t index, float a, float b)
{
    uint32_t bits[] = {float_bits(a), float_bits(b)};
#pragma unroll
    for (int k = 0; k < 2; k++) {
        if (element_bytes(tensor->dtype) == 4) {
            ((uint32_t *)tensor->data)[index + k] = bits[k];
        } else {
            ((uint16_t *)tensor->data)[index + 2 * k] = (uint16_t)bits[k];
            ((uint16_t *)tensor->data)[index + 2 * k + 1] = (uint16_t)(bits[k] >> 16);
        }
    }
}

BODY float pair_get(const struct tensor *tensor, int64_t index, int which)
{
    if (element_bytes(tensor->dtype) == 4) {
        return float_from_bits(((const uint32_t *)tensor->data)[index + which]);
    }
    const uint16_t *halves = (const uint16_t *)tensor->data + index + 2 * which;
    return float_from_bits(halves[0] | (uint32_t)halves[1] << 16);
}

BODY float channel_count(const struct batchnorm_plan &plan)
{
    return (float)(plan.planes.images * plan.planes.plane);
}

/* ---- launches ---- */

/* What a kernel does: work for each channel or part of one. mixed: the large tensors may be of several dtypes. */
#define CHANNELS_DO(work, mixed)                                                                                       \
    do {                                                                                                               \
        struct team team = block_team(shared);                                                                         \
        for (int64_t k = blockIdx.x; k < launch.plan.planes.channels * launch.plan.parts; k += gridDim.x) {            \
            struct channel_part part = channel_part_of(launch.plan, k);                                                \
            if ((mixed) && !launch.plan.alike) {                                                                       \
                work<(mixed) ? DTYPE_COUNT : DTYPE_FLOAT16, unit>(launch, team, part);                                 \
            } else {                                                                                                   \
                FLOATING_SWITCH(launch.call.tensors[0].dtype, unit, { work<dtype, unit>(launch, team, part); });       \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

typedef void batchnorm_function(const struct batchnorm_launch launch);

/* The kernels of a direction, for packets of one size. */
struct batchnorm_kernels {
    batchnorm_function *kept, *passes, *sum, *join, *apply;
};

enum { CHANNEL_STEPS = 3 };

/* A kernel of a form, and how it is launched. */
struct batchnorm_step {
    batchnorm_function *kernel;
    unsigned blocks, lanes;
};

/* One after the other; how many they are. */
static inline int batchnorm_steps_of(const struct batchnorm_plan *plan, const struct batchnorm_kernels *kernels,
                                     struct batchnorm_step steps[CHANNEL_STEPS])
{
    bool in_parts = plan->form == CHANNEL_PARTS;
    batchnorm_function *whole = plan->form == CHANNEL_KEPT     ? kernels->kept
                                : plan->form == CHANNEL_PASSES ? kernels->passes
                                                               : kernels->apply;
    steps[0] = batchnorm_step{in_parts ? kernels->sum : whole, plan->blocks, plan->lanes};
    steps[1] = batchnorm_step{kernels->join, grid_blocks(plan->planes.channels, 1), WARP_LANES};
    steps[2] = batchnorm_step{kernels->apply, plan->blocks, plan->lanes};
    return in_parts ? CHANNEL_STEPS : 1;
}

/* The launch of a call; *unit: elements of a packet. */
static inline struct batchnorm_launch batchnorm_launch_of(const struct operation_call *call, int *unit)
{
    const struct tensor *t = call->tensors;
    const struct tensor *large[] = {&t[0], &t[5], &t[call->opcode == OPCODE_BATCHNORM_BACKWARD ? 1 : 0]};
    struct batchnorm_launch launch;
    *unit = packet_unit(large, 3, planes_of(&t[0]).plane);
    launch.call = *call;
    launch.plan = batchnorm_plan_of(call, *unit);
    launch.sums = batchnorm_sums(call);
    return launch;
}

#endif
