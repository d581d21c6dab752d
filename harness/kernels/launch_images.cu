/* Launches of batch normalisation (a block for each channel, whose planes are dealt to its lanes in packets) and max
 * pooling (a thread for each element). */
#include "harness/kernels/body_batchnorm.h"
#include "harness/kernels/body_pool.h"

struct batchnorm_launch {
    struct operation_call call;
    struct planes planes;
    int64_t plane_packets, packets; /* of a plane, and of all planes of a channel */
    bool alike;                     /* the large tensors are of one dtype */
};

/* Where a packet of a channel begins. Most channels are small enough for a division of 32 bits. */
BODY int64_t packet_start(const struct batchnorm_launch &launch, int64_t channel, int64_t packet, int unit)
{
    int64_t image =
        launch.packets < INT32_MAX ? (uint32_t)packet / (uint32_t)launch.plane_packets : packet / launch.plane_packets;
    int64_t along = (packet - image * launch.plane_packets) * unit;
    return (image * launch.planes.channels + channel) * launch.planes.plane + along;
}

/* work(places, group) for each group of a lane: where its packets begin, and which of them there are in
 * a group without elements yet. */
template <int unit, typename function>
BODY void channel_each(const struct batchnorm_launch &launch, struct team team, int64_t channel, function work)
{
    constexpr int count = GROUP_ELEMENTS / unit;
#pragma unroll 2
    for (int64_t first = team.lane; first < launch.packets; first += (int64_t)team.lanes * count) {
        int64_t places[count];
        struct group<unit> group;
#pragma unroll
        for (int n = 0; n < count; n++) {
            int64_t packet = first + n * team.lanes;
            group.has[n] = packet < launch.packets;
            places[n] = packet_start(launch, channel, group.has[n] ? packet : first, unit);
        }
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

template <enum dtype dtype, int unit>
BODY struct channel_moments channel_train(const struct batchnorm_launch &launch, struct team team, int64_t channel)
{
    const struct operation_call *call = &launch.call;
    const struct tensor *t = call->tensors;
    float count = (float)(launch.planes.images * launch.planes.plane);
    struct moments lane = {0.0f, 0.0f, 0.0f};
    channel_each<unit>(launch, team, channel, [&](const int64_t *places, const struct group<unit> &held) {
        lane = moments_join(lane, places_get<dtype, unit>(&t[0], places, held));
    });
    struct moments batch = team_moments(team, lane, count);
    struct channel_moments moments =
        channel_moments_of(batch.mean, batch.squares, count, tensor_get(&t[3], channel), tensor_get(&t[4], channel),
                           (float)call->attributes.f[0], (float)call->attributes.f[1]);
    team_wait(team); /* every lane has read the running statistics */
    if (team.lane == 0) {
        tensor_set(&t[3], channel, moments.running_mean);
        tensor_set(&t[4], channel, moments.running_variance);
    }
    return moments;
}

template <enum dtype dtype, int unit>
BODY void channel_forward(const struct batchnorm_launch &launch, struct team team, int64_t channel)
{
    const struct tensor *t = launch.call.tensors;
    bool tells = launch.call.opcode != OPCODE_BATCHNORM_INFERENCE; /* mean and deviation are outputs */
    float mean, reciprocal;
    if (tells && launch.call.attributes.i[0] == 1) {
        struct channel_moments moments = channel_train<dtype, unit>(launch, team, channel);
        mean = moments.mean;
        reciprocal = moments.reciprocal_deviation;
    } else {
        mean = tensor_get(&t[3], channel);
        reciprocal = 1.0f / sqrtf(tensor_get(&t[4], channel) + (float)launch.call.attributes.f[0]);
    }
    float scale = reciprocal * tensor_get(&t[1], channel);
    float shift = tensor_get(&t[2], channel);
    channel_each<unit>(launch, team, channel, [&](const int64_t *places, const struct group<unit> &held) {
        struct group<unit> y = held;
        group_rescale(places_get<dtype, unit>(&t[0], places, held), &y, mean, scale, shift);
        places_set<dtype, unit>(&t[5], places, y);
    });
    if (tells && team.lane == 0) {
        ((float *)t[6].data)[channel] = mean;
        ((float *)t[7].data)[channel] = reciprocal;
    }
}

template <enum dtype dtype, int unit>
BODY void channel_backward(const struct batchnorm_launch &launch, struct team team, int64_t channel)
{
    const struct tensor *t = launch.call.tensors;
    float mean = ((const float *)t[3].data)[channel], reciprocal = ((const float *)t[4].data)[channel];
    float weight = tensor_get(&t[2], channel);
    struct gradient_sums sums = {0.0f, 0.0f};
    channel_each<unit>(launch, team, channel, [&](const int64_t *places, const struct group<unit> &held) {
        sums = gradient_sums_join(sums, places_get<dtype, unit>(&t[0], places, held),
                                  places_get<dtype, unit>(&t[1], places, held), mean, reciprocal);
    });
    sums.grad = team_sum(team, sums.grad);
    sums.product = team_sum(team, sums.product);
    float count = (float)(launch.planes.images * launch.planes.plane);
    struct gradient_sums means = {sums.grad / count, sums.product / count};
    channel_each<unit>(launch, team, channel, [&](const int64_t *places, const struct group<unit> &held) {
        struct group<unit> y = held;
        group_channel_gradient(places_get<dtype, unit>(&t[0], places, held),
                               places_get<dtype, unit>(&t[1], places, held), &y, mean, reciprocal, weight, means);
        places_set<dtype, unit>(&t[5], places, y);
    });
    if (team.lane == 0) {
        tensor_set(&t[6], channel, sums.product);
        tensor_set(&t[7], channel, sums.grad);
    }
}

#define CHANNEL_KERNEL(name, work)                                                                                     \
    template <int unit>                                                                                                \
    static __global__ void __launch_bounds__(ROW_LANES_MAXIMUM, 1)                                                     \
        name(const __grid_constant__ struct batchnorm_launch launch)                                                   \
    {                                                                                                                  \
        __shared__ float shared[TEAM_SHARED_FLOATS];                                                                   \
        struct team team = block_team(shared);                                                                         \
        for (int64_t channel = blockIdx.x; channel < launch.planes.channels; channel += gridDim.x) {                   \
            if (launch.alike) {                                                                                        \
                FLOATING_SWITCH(launch.call.tensors[0].dtype, unit, { work<dtype, unit>(launch, team, channel); });    \
            } else {                                                                                                   \
                work<DTYPE_COUNT, unit>(launch, team, channel);                                                        \
            }                                                                                                          \
        }                                                                                                              \
    }

CHANNEL_KERNEL(batchnorm_kernel, channel_forward)
CHANNEL_KERNEL(batchnorm_backward_kernel, channel_backward)
#undef CHANNEL_KERNEL

typedef void batchnorm_function(const struct batchnorm_launch launch);

static const char *batchnorm_run(const struct operation_call *call, cudaStream_t stream)
{
    const struct tensor *t = call->tensors;
    bool backward = call->opcode == OPCODE_BATCHNORM_BACKWARD;
    const struct tensor *large[] = {&t[0], &t[5], &t[backward ? 1 : 0]};
    struct batchnorm_launch launch;
    launch.call = *call;
    launch.planes = planes_of(&t[0]);
    int unit = packet_unit(large, 3, launch.planes.plane);
    launch.plane_packets = launch.planes.plane / unit;
    launch.packets = launch.planes.images * launch.plane_packets;
    launch.alike = t[0].dtype == t[5].dtype && t[0].dtype == large[2]->dtype;
    batchnorm_function *kernel =
        backward ? UNIT_FORM(batchnorm_backward_kernel, unit) : UNIT_FORM(batchnorm_kernel, unit);
    kernel<<<grid_blocks(launch.planes.channels, 1), row_lanes(launch.packets), 0, stream>>>(launch);
    return launch_result();
}

const char *launch_batchnorm(const struct operation_call *call, cudaStream_t stream)
{
    return tensor_element_count(&call->tensors[0]) > 0 ? batchnorm_run(call, stream) : NULL;
}

const char *launch_batchnorm_backward(const struct operation_call *call, cudaStream_t stream)
{
    return batchnorm_run(call, stream);
}

static __global__ void max_pool_kernel(const __grid_constant__ struct operation_call call, struct pool pool)
{
    int64_t pooled = pool.pooled_height * pool.pooled_width;
    int64_t *indices = (int64_t *)call.tensors[2].data;
    for (int64_t k = thread_first(); k < pool.planes * pooled; k += thread_step()) {
        struct span plane = span_at(&call.tensors[0], k / pooled * pool.height * pool.width);
        struct pool_winner winner = pool_window(pool, plane, k % pooled / pool.pooled_width, k % pool.pooled_width);
        tensor_set(&call.tensors[1], k, winner.value);
        indices[k] = winner.index;
    }
}

const char *launch_max_pool(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = tensor_element_count(&call->tensors[1]);
    max_pool_kernel<<<grid_blocks(count, LANES), LANES, 0, stream>>>(*call, pool_of(call));
    return launch_result();
}

static __global__ void max_pool_backward_kernel(const __grid_constant__ struct operation_call call, struct pool pool)
{
    int64_t elements = pool.height * pool.width;
    int64_t pooled = pool.pooled_height * pool.pooled_width;
    for (int64_t k = thread_first(); k < pool.planes * elements; k += thread_step()) {
        int64_t plane = k / elements;
        const int64_t *indices = (const int64_t *)call.tensors[1].data + plane * pooled;
        struct span grad = span_at(&call.tensors[0], plane * pooled);
        float sum = pool_gradient(pool, grad, indices, k % elements / pool.width, k % pool.width);
        tensor_set(&call.tensors[2], k, sum);
    }
}

const char *launch_max_pool_backward(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = tensor_element_count(&call->tensors[2]);
    max_pool_backward_kernel<<<grid_blocks(count, LANES), LANES, 0, stream>>>(*call, pool_of(call));
    return launch_result();
}
