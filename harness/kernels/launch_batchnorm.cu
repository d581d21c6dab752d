/* Launches of batch normalisation, forward. */
#include "harness/kernels/launch_batchnorm.h"

/* Writes what the batch's statistics make of the running ones, and the channel's own. */
BODY struct channel_moments statistics_write(const struct batchnorm_launch &launch, struct team team, int64_t channel,
                                             struct moments batch)
{
    const struct operation_call *call = &launch.call;
    const struct tensor *t = call->tensors;
    struct channel_moments moments =
        channel_moments_of(batch.mean, batch.squares, batch.count, tensor_get(&t[3], channel),
                           tensor_get(&t[4], channel), (float)call->attributes.f[0], (float)call->attributes.f[1]);
    team_wait(team); /* every lane has read the running statistics */
    if (team.lane == 0) {
        tensor_set(&t[3], channel, moments.running_mean);
        tensor_set(&t[4], channel, moments.running_variance);
        ((float *)t[6].data)[channel] = moments.mean;
        ((float *)t[7].data)[channel] = moments.reciprocal_deviation;
    }
    return moments;
}

/* What a channel's elements are moved and scaled by. */
struct channel_scale {
    float mean, scale, shift;
};

BODY struct channel_scale channel_scale_of(const struct batchnorm_launch &launch, int64_t channel, float mean,
                                           float reciprocal)
{
    const struct tensor *t = launch.call.tensors;
    struct channel_scale scale = {mean, reciprocal * tensor_get(&t[1], channel), tensor_get(&t[2], channel)};
    return scale;
}

template <enum dtype dtype, int unit>
BODY struct moments part_moments(const struct batchnorm_launch &launch, struct team team,
                                 const struct channel_part &part)
{
    struct moments lane = {0.0f, 0.0f, 0.0f};
    channel_each<unit>(launch.plan, team, part, [&](const int64_t *places, const struct group<unit> &held) {
        lane = moments_join(lane, places_get<dtype, unit>(&launch.call.tensors[0], places, held));
    });
    return lane;
}

template <enum dtype dtype, int unit>
BODY void part_rescale(const struct batchnorm_launch &launch, struct team team, const struct channel_part &part,
                       struct channel_scale scale)
{
    const struct tensor *t = launch.call.tensors;
    channel_each<unit>(launch.plan, team, part, [&](const int64_t *places, const struct group<unit> &held) {
        struct group<unit> y = held;
        group_rescale(places_get<dtype, unit>(&t[0], places, held), &y, scale.mean, scale.scale, scale.shift);
        places_set<dtype, unit>(&t[5], places, y);
    });
}

/* All of a channel: read twice. */
template <enum dtype dtype, int unit>
BODY void forward_whole(const struct batchnorm_launch &launch, struct team team, const struct channel_part &part)
{
    struct moments batch =
        team_moments(team, part_moments<dtype, unit>(launch, team, part), channel_count(launch.plan));
    struct channel_moments moments = statistics_write(launch, team, part.channel, batch);
    part_rescale<dtype, unit>(launch, team, part,
                              channel_scale_of(launch, part.channel, moments.mean, moments.reciprocal_deviation));
}

/* All of a channel: kept in registers, read once. */
template <enum dtype dtype, int unit>
BODY void forward_kept(const struct batchnorm_launch &launch, struct team team, const struct channel_part &part)
{
    const struct tensor *t = launch.call.tensors;
    constexpr int groups = unit == 1 ? 2 : CHANNEL_GROUPS; /* groups_kept */
    struct group<unit> kept[groups];
    struct moments lane = {0.0f, 0.0f, 0.0f};
    int64_t places[GROUP_ELEMENTS / unit], step = (int64_t)team.lanes * (GROUP_ELEMENTS / unit);
#pragma unroll
    for (int k = 0; k < groups; k++) {
        kept[k] = group_place<unit>(launch.plan, team, part, team.lane + k * step, places);
        kept[k] = places_get_present<dtype, unit>(&t[0], places, kept[k]);
    }
#pragma unroll
    for (int k = 0; k < groups; k++) {
        lane = moments_join(lane, kept[k]);
    }
    struct moments batch = team_moments(team, lane, channel_count(launch.plan));
    struct channel_moments moments = statistics_write(launch, team, part.channel, batch);
    struct channel_scale scale = channel_scale_of(launch, part.channel, moments.mean, moments.reciprocal_deviation);
#pragma unroll
    for (int k = 0; k < groups; k++) {
        struct group<unit> y = group_place<unit>(launch.plan, team, part, team.lane + k * step, places);
        group_rescale(kept[k], &y, scale.mean, scale.scale, scale.shift);
        places_set<dtype, unit>(&t[5], places, y);
    }
}

/* The sums of a part go to where its result will be. */
template <enum dtype dtype, int unit>
BODY void forward_sum(const struct batchnorm_launch &launch, struct team team, const struct channel_part &part)
{
    float count = (float)((part.end - part.first) * unit);
    struct moments moments = team_moments(team, part_moments<dtype, unit>(launch, team, part), count);
    if (team.lane == 0) {
        pair_put(&launch.call.tensors[5], packet_start(launch.plan, part.channel, part.first, unit), moments.mean,
                 moments.squares);
    }
}

/* Mean and deviation come from there, or are the running ones. */
template <enum dtype dtype, int unit>
BODY void forward_apply(const struct batchnorm_launch &launch, struct team team, const struct channel_part &part)
{
    const struct tensor *t = launch.call.tensors;
    int64_t start = packet_start(launch.plan, part.channel, part.first, unit);
    float mean, reciprocal;
    if (launch.sums) {
        mean = pair_get(&t[5], start, 0);
        reciprocal = pair_get(&t[5], start, 1);
        team_wait(team); /* every lane has read what the result will stand over */
    } else {
        mean = tensor_get(&t[3], part.channel);
        reciprocal = 1.0f / sqrtf(tensor_get(&t[4], part.channel) + (float)launch.call.attributes.f[0]);
        if (team.lane == 0 && part.part == 0 && launch.call.opcode == OPCODE_BATCHNORM) {
            ((float *)t[6].data)[part.channel] = mean;
            ((float *)t[7].data)[part.channel] = reciprocal;
        }
    }
    part_rescale<dtype, unit>(launch, team, part, channel_scale_of(launch, part.channel, mean, reciprocal));
}

/* Those of all parts, joined by a warp for each channel and told to all of them. */
BODY struct moments moments_merge(struct moments total, struct moments other)
{
    float count = total.count + other.count, step = other.mean - total.mean, share = other.count / count;
    struct moments both = {count, total.mean + step * share,
                           total.squares + other.squares + step * step * total.count * share};
    return both;
}

template <int unit> BODY void forward_join(const struct batchnorm_launch &launch, struct team team, int64_t channel)
{
    const struct tensor *out = &launch.call.tensors[5];
    struct moments lane = {0.0f, 0.0f, 0.0f};
    for (int64_t k = team.lane; k < launch.plan.parts; k += team.lanes) {
        struct channel_part part = channel_part_of(launch.plan, channel * launch.plan.parts + k);
        int64_t start = packet_start(launch.plan, channel, part.first, unit);
        struct moments other = {(float)((part.end - part.first) * unit), pair_get(out, start, 0),
                                pair_get(out, start, 1)};
        lane = moments_merge(lane, other);
    }
    struct channel_moments moments =
        statistics_write(launch, team, channel, team_moments(team, lane, channel_count(launch.plan)));
    for (int64_t k = team.lane; k < launch.plan.parts; k += team.lanes) {
        struct channel_part part = channel_part_of(launch.plan, channel * launch.plan.parts + k);
        pair_put(out, packet_start(launch.plan, channel, part.first, unit), moments.mean, moments.reciprocal_deviation);
    }
}

/* ---- launches ---- */

template <int unit>
static __global__ void __launch_bounds__(CHANNEL_LANES_MAXIMUM, 1)
    batchnorm_kept_kernel(const __grid_constant__ struct batchnorm_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    CHANNELS_DO(forward_kept, false);
}

template <int unit>
static __global__ void __launch_bounds__(ROW_LANES_MAXIMUM, 1)
    batchnorm_kernel(const __grid_constant__ struct batchnorm_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    CHANNELS_DO(forward_whole, true);
}

template <int unit>
static __global__ void __launch_bounds__(ROW_LANES_MAXIMUM, 1)
    batchnorm_sum_kernel(const __grid_constant__ struct batchnorm_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    CHANNELS_DO(forward_sum, true);
}

template <int unit>
static __global__ void __launch_bounds__(ROW_LANES_MAXIMUM, 1)
    batchnorm_apply_kernel(const __grid_constant__ struct batchnorm_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    CHANNELS_DO(forward_apply, true);
}

/* A warp for each channel. */
template <int unit> static __global__ void batchnorm_join_kernel(const __grid_constant__ struct batchnorm_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    for (int64_t channel = blockIdx.x; channel < launch.plan.planes.channels; channel += gridDim.x) {
        forward_join<unit>(launch, team, channel);
    }
}

template <int unit> static struct batchnorm_kernels kernels_of(void)
{
    struct batchnorm_kernels kernels = {batchnorm_kept_kernel<unit>, batchnorm_kernel<unit>, batchnorm_sum_kernel<unit>,
                                        batchnorm_join_kernel<unit>, batchnorm_apply_kernel<unit>};
    return kernels;
}

const char *launch_batchnorm(const struct operation_call *call, cudaStream_t stream)
{
    if (tensor_element_count(&call->tensors[0]) == 0) {
        return NULL;
    }
    int unit;
    struct batchnorm_launch launch = batchnorm_launch_of(call, &unit);
    struct batchnorm_kernels kernels = unit == 8 ? kernels_of<8>() : unit == 4 ? kernels_of<4>() : kernels_of<1>();
    struct batchnorm_step steps[CHANNEL_STEPS];
    const char *wrong = NULL;
    int count = batchnorm_steps_of(&launch.plan, &kernels, steps);
    for (int k = 0; k < count && wrong == NULL; k++) {
        batchnorm_function *kernel = steps[k].kernel;
        kernel<<<steps[k].blocks, steps[k].lanes, 0, stream>>>(launch);
        wrong = launch_result();
    }
    return wrong;
}
