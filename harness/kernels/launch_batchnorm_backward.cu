/* Launches of the gradients of batch normalisation. */
#include "harness/kernels/launch_batchnorm.h"

struct channel_figures {
    float mean, reciprocal, weight;
};

BODY struct channel_figures channel_figures_of(const struct batchnorm_launch &launch, int64_t channel)
{
    const struct tensor *t = launch.call.tensors;
    struct channel_figures figures = {((const float *)t[3].data)[channel], ((const float *)t[4].data)[channel],
                                      tensor_get(&t[2], channel)};
    return figures;
}

BODY struct gradient_sums team_gradient_sums(struct team team, struct gradient_sums sums)
{
    sums.grad = team_sum(team, sums.grad);
    sums.product = team_sum(team, sums.product);
    return sums;
}

BODY void gradients_write(const struct batchnorm_launch &launch, struct team team, int64_t channel,
                          struct gradient_sums sums)
{
    if (team.lane == 0) {
        tensor_set(&launch.call.tensors[6], channel, sums.product);
        tensor_set(&launch.call.tensors[7], channel, sums.grad);
    }
}

template <enum dtype dtype, int unit>
BODY struct gradient_sums part_gradient_sums(const struct batchnorm_launch &launch, struct team team,
                                             const struct channel_part &part, struct channel_figures figures)
{
    const struct tensor *t = launch.call.tensors;
    struct gradient_sums sums = {0.0f, 0.0f};
    channel_each<unit>(launch.plan, team, part, [&](const int64_t *places, const struct group<unit> &held) {
        sums = gradient_sums_join(sums, places_get<dtype, unit>(&t[0], places, held),
                                  places_get<dtype, unit>(&t[1], places, held), figures.mean, figures.reciprocal);
    });
    return team_gradient_sums(team, sums);
}

template <enum dtype dtype, int unit>
BODY void part_gradient(const struct batchnorm_launch &launch, struct team team, const struct channel_part &part,
                        struct channel_figures figures, struct gradient_sums sums)
{
    const struct tensor *t = launch.call.tensors;
    float count = channel_count(launch.plan);
    struct gradient_sums means = {sums.grad / count, sums.product / count};
    channel_each<unit>(launch.plan, team, part, [&](const int64_t *places, const struct group<unit> &held) {
        struct group<unit> y = held;
        group_channel_gradient(places_get<dtype, unit>(&t[0], places, held),
                               places_get<dtype, unit>(&t[1], places, held), &y, figures.mean, figures.reciprocal,
                               figures.weight, means);
        places_set<dtype, unit>(&t[5], places, y);
    });
}

template <enum dtype dtype, int unit>
BODY void backward_whole(const struct batchnorm_launch &launch, struct team team, const struct channel_part &part)
{
    struct channel_figures figures = channel_figures_of(launch, part.channel);
    struct gradient_sums sums = part_gradient_sums<dtype, unit>(launch, team, part, figures);
    gradients_write(launch, team, part.channel, sums);
    part_gradient<dtype, unit>(launch, team, part, figures, sums);
}

template <enum dtype dtype, int unit>
BODY void backward_kept(const struct batchnorm_launch &launch, struct team team, const struct channel_part &part)
{
    const struct tensor *t = launch.call.tensors;
    struct channel_figures figures = channel_figures_of(launch, part.channel);
    constexpr int groups = unit == 1 ? 1 : CHANNEL_PAIRS; /* groups_kept */
    struct group<unit> grad[groups], a[groups];
    struct gradient_sums sums = {0.0f, 0.0f};
    int64_t places[GROUP_ELEMENTS / unit], step = (int64_t)team.lanes * (GROUP_ELEMENTS / unit);
#pragma unroll
    for (int k = 0; k < groups; k++) {
        struct group<unit> held = group_place<unit>(launch.plan, team, part, team.lane + k * step, places);
        grad[k] = places_get_present<dtype, unit>(&t[0], places, held);
        a[k] = places_get_present<dtype, unit>(&t[1], places, held);
    }
#pragma unroll
    for (int k = 0; k < groups; k++) {
        sums = gradient_sums_join(sums, grad[k], a[k], figures.mean, figures.reciprocal);
    }
    sums = team_gradient_sums(team, sums);
    gradients_write(launch, team, part.channel, sums);
    float count = channel_count(launch.plan);
    struct gradient_sums means = {sums.grad / count, sums.product / count};
#pragma unroll
    for (int k = 0; k < groups; k++) {
        struct group<unit> y = group_place<unit>(launch.plan, team, part, team.lane + k * step, places);
        group_channel_gradient(grad[k], a[k], &y, figures.mean, figures.reciprocal, figures.weight, means);
        places_set<dtype, unit>(&t[5], places, y);
    }
}

template <enum dtype dtype, int unit>
BODY void backward_sum(const struct batchnorm_launch &launch, struct team team, const struct channel_part &part)
{
    struct channel_figures figures = channel_figures_of(launch, part.channel);
    struct gradient_sums sums = part_gradient_sums<dtype, unit>(launch, team, part, figures);
    if (team.lane == 0) {
        pair_put(&launch.call.tensors[5], packet_start(launch.plan, part.channel, part.first, unit), sums.grad,
                 sums.product);
    }
}

template <enum dtype dtype, int unit>
BODY void backward_apply(const struct batchnorm_launch &launch, struct team team, const struct channel_part &part)
{
    const struct tensor *out = &launch.call.tensors[5];
    int64_t start = packet_start(launch.plan, part.channel, part.first, unit);
    struct gradient_sums sums = {pair_get(out, start, 0), pair_get(out, start, 1)};
    team_wait(team); /* every lane has read what the result will stand over */
    part_gradient<dtype, unit>(launch, team, part, channel_figures_of(launch, part.channel), sums);
}

template <int unit> BODY void backward_join(const struct batchnorm_launch &launch, struct team team, int64_t channel)
{
    const struct tensor *out = &launch.call.tensors[5];
    struct gradient_sums sums = {0.0f, 0.0f};
    for (int64_t k = team.lane; k < launch.plan.parts; k += team.lanes) {
        struct channel_part part = channel_part_of(launch.plan, channel * launch.plan.parts + k);
        int64_t start = packet_start(launch.plan, channel, part.first, unit);
        sums.grad += pair_get(out, start, 0);
        sums.product += pair_get(out, start, 1);
    }
    sums = team_gradient_sums(team, sums);
    gradients_write(launch, team, channel, sums);
    for (int64_t k = team.lane; k < launch.plan.parts; k += team.lanes) {
        struct channel_part part = channel_part_of(launch.plan, channel * launch.plan.parts + k);
        pair_put(out, packet_start(launch.plan, channel, part.first, unit), sums.grad, sums.product);
    }
}

/* ---- launches ---- */

template <int unit>
static __global__ void __launch_bounds__(CHANNEL_LANES_MAXIMUM, 1)
    batchnorm_backward_kept_kernel(const __grid_constant__ struct batchnorm_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    CHANNELS_DO(backward_kept, false);
}

template <int unit>
static __global__ void __launch_bounds__(ROW_LANES_MAXIMUM, 1)
    batchnorm_backward_kernel(const __grid_constant__ struct batchnorm_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    CHANNELS_DO(backward_whole, true);
}

template <int unit>
static __global__ void __launch_bounds__(ROW_LANES_MAXIMUM, 1)
    batchnorm_backward_sum_kernel(const __grid_constant__ struct batchnorm_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    CHANNELS_DO(backward_sum, true);
}

template <int unit>
static __global__ void __launch_bounds__(ROW_LANES_MAXIMUM, 1)
    batchnorm_backward_apply_kernel(const __grid_constant__ struct batchnorm_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    CHANNELS_DO(backward_apply, true);
}

/* A warp for each channel. */
template <int unit>
static __global__ void batchnorm_backward_join_kernel(const __grid_constant__ struct batchnorm_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    for (int64_t channel = blockIdx.x; channel < launch.plan.planes.channels; channel += gridDim.x) {
        backward_join<unit>(launch, team, channel);
    }
}

template <int unit> static struct batchnorm_kernels kernels_of(void)
{
    struct batchnorm_kernels kernels = {batchnorm_backward_kept_kernel<unit>, batchnorm_backward_kernel<unit>,
                                        batchnorm_backward_sum_kernel<unit>, batchnorm_backward_join_kernel<unit>,
                                        batchnorm_backward_apply_kernel<unit>};
    return kernels;
}

const char *launch_batchnorm_backward(const struct operation_call *call, cudaStream_t stream)
{
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
