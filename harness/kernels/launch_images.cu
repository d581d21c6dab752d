/* Launches of batch normalisation (a block for each channel) and max pooling (a thread for each element). */
#include "harness/kernels/body_batchnorm.h"
#include "harness/kernels/body_pool.h"
#include "harness/kernels/launch_grid.h"

BODY int64_t plane_start(struct planes planes, int64_t image, int64_t channel)
{
    return (image * planes.channels + channel) * planes.plane;
}

BODY struct channel_moments channel_train(struct team team, const struct operation_call *call, struct planes planes,
                                          int64_t channel)
{
    const struct tensor *a = &call->tensors[0];
    float count = (float)(planes.images * planes.plane);
    float sum = 0.0f, squares = 0.0f;
    for (int64_t image = 0; image < planes.images; image++) {
        sum += plane_sum(team, span_at(a, plane_start(planes, image, channel)), planes.plane);
    }
    float mean = team_sum(team, sum) / count;
    for (int64_t image = 0; image < planes.images; image++) {
        squares += plane_squares(team, span_at(a, plane_start(planes, image, channel)), mean, planes.plane);
    }
    struct channel_moments moments = channel_moments_of(
        mean, team_sum(team, squares), count, tensor_get(&call->tensors[3], channel),
        tensor_get(&call->tensors[4], channel), (float)call->attributes.f[0], (float)call->attributes.f[1]);
    team_wait(team); /* every lane has read the running statistics */
    if (team.lane == 0) {
        tensor_set(&call->tensors[3], channel, moments.running_mean);
        tensor_set(&call->tensors[4], channel, moments.running_variance);
    }
    return moments;
}

ROW_KERNEL_FUNCTION batchnorm_kernel(const __grid_constant__ struct operation_call call, struct planes planes)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    for (int64_t channel = blockIdx.x; channel < planes.channels; channel += gridDim.x) {
        float mean, reciprocal;
        if (call.attributes.i[0] == 1) {
            struct channel_moments moments = channel_train(team, &call, planes, channel);
            mean = moments.mean;
            reciprocal = moments.reciprocal_deviation;
        } else {
            mean = tensor_get(&call.tensors[3], channel);
            reciprocal = 1.0f / sqrtf(tensor_get(&call.tensors[4], channel) + (float)call.attributes.f[0]);
        }
        float scale = reciprocal * tensor_get(&call.tensors[1], channel);
        float shift = tensor_get(&call.tensors[2], channel);
        for (int64_t image = 0; image < planes.images; image++) {
            int64_t at = plane_start(planes, image, channel);
            plane_scale(team, span_at(&call.tensors[0], at), span_at(&call.tensors[5], at), mean, scale, shift,
                        planes.plane);
        }
        if (team.lane == 0) {
            ((float *)call.tensors[6].data)[channel] = mean;
            ((float *)call.tensors[7].data)[channel] = reciprocal;
        }
    }
}

const char *launch_batchnorm(const struct operation_call *call, cudaStream_t stream)
{
    struct planes planes = planes_of(&call->tensors[0]);
    if (planes.images * planes.plane > 0) {
        batchnorm_kernel<<<grid_blocks(planes.channels, 1), row_lanes(planes.plane), 0, stream>>>(*call, planes);
    }
    return launch_result();
}

ROW_KERNEL_FUNCTION batchnorm_backward_kernel(const __grid_constant__ struct operation_call call, struct planes planes)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    const struct tensor *t = call.tensors;
    for (int64_t channel = blockIdx.x; channel < planes.channels; channel += gridDim.x) {
        float mean = ((const float *)t[3].data)[channel], reciprocal = ((const float *)t[4].data)[channel];
        float weight = tensor_get(&t[2], channel);
        struct gradient_sums sums = {0.0f, 0.0f};
        for (int64_t image = 0; image < planes.images; image++) {
            int64_t at = plane_start(planes, image, channel);
            struct gradient_sums part =
                plane_gradient_sums(team, span_at(&t[0], at), span_at(&t[1], at), mean, reciprocal, planes.plane);
            sums.grad += part.grad;
            sums.product += part.product;
        }
        sums.grad = team_sum(team, sums.grad);
        sums.product = team_sum(team, sums.product);
        float count = (float)(planes.images * planes.plane);
        struct gradient_sums means = {sums.grad / count, sums.product / count};
        for (int64_t image = 0; image < planes.images; image++) {
            int64_t at = plane_start(planes, image, channel);
            plane_gradient(team, span_at(&t[0], at), span_at(&t[1], at), span_at(&t[5], at), mean, reciprocal, weight,
                           means, planes.plane);
        }
        if (team.lane == 0) {
            tensor_set(&t[6], channel, sums.product);
            tensor_set(&t[7], channel, sums.grad);
        }
    }
}

const char *launch_batchnorm_backward(const struct operation_call *call, cudaStream_t stream)
{
    struct planes planes = planes_of(&call->tensors[0]);
    unsigned lanes = row_lanes(planes.plane);
    batchnorm_backward_kernel<<<grid_blocks(planes.channels, 1), lanes, 0, stream>>>(*call, planes);
    return launch_result();
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
    int64_t count = elements_of(&call->tensors[1]);
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
    int64_t count = elements_of(&call->tensors[2]);
    max_pool_backward_kernel<<<grid_blocks(count, LANES), LANES, 0, stream>>>(*call, pool_of(call));
    return launch_result();
}
