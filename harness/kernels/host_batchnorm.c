/* Batch normalisation on the host: channels are dealt to threads, each goes through its planes. */
#include "harness/kernels/body_batchnorm.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

struct batchnorm_job {
    const struct tensor *tensors;
    struct planes planes;
    float epsilon, momentum;
    bool training, tells; /* tells: mean and deviation are outputs */
    struct host_scratch scratch;
};

static bool batchnorm_open(struct batchnorm_job *job, const struct operation_call *call)
{
    job->tensors = call->tensors;
    job->planes = planes_of(&call->tensors[0]);
    job->epsilon = (float)call->attributes.f[0];
    job->momentum = (float)call->attributes.f[1];
    job->tells = call->opcode != OPCODE_BATCHNORM_INFERENCE;
    job->training = job->tells && call->attributes.i[0] == 1;
    return host_scratch_open(&job->scratch, 3 * job->planes.plane);
}

static int64_t plane_start(const struct batchnorm_job *job, int64_t image, int64_t channel)
{
    return (image * job->planes.channels + channel) * job->planes.plane;
}

static float channel_value(const struct tensor *tensor, int64_t channel)
{
    return float_load(tensor->data, tensor->dtype, channel);
}

HOST_CLONES
static struct moments moments_loop(struct moments total, struct span a, int64_t count)
{
    return moments_join(total, row_get(row_of(a, count), 0));
}

HOST_CLONES
static void scale_loop(struct span a, struct span out, float mean, float scale, float shift, int64_t count)
{
    struct group y = row_get(row_of(out, count), 0);
    group_rescale(row_get(row_of(a, count), 0), &y, mean, scale, shift);
}

/* Statistics of the batch; the running ones are written. */
static struct channel_moments channel_train(const struct batchnorm_job *job, int64_t channel)
{
    const struct tensor *a = &job->tensors[0], *running_mean = &job->tensors[3], *running_variance = &job->tensors[4];
    float *part = host_scratch_part(&job->scratch);
    int64_t plane = job->planes.plane;
    struct moments batch = {0.0f, 0.0f, 0.0f};
    for (int64_t image = 0; image < job->planes.images; image++) {
        batch = moments_loop(batch, span_read(a, plane_start(job, image, channel), 1, plane, part), plane);
    }
    struct channel_moments moments = channel_moments_of(
        batch.mean, batch.squares, (float)(job->planes.images * plane), channel_value(running_mean, channel),
        channel_value(running_variance, channel), job->epsilon, job->momentum);
    float_store(running_mean->data, running_mean->dtype, channel, moments.running_mean);
    float_store(running_variance->data, running_variance->dtype, channel, moments.running_variance);
    return moments;
}

static struct channel_moments channel_evaluate(const struct batchnorm_job *job, int64_t channel)
{
    float mean = channel_value(&job->tensors[3], channel);
    float variance = channel_value(&job->tensors[4], channel);
    return (struct channel_moments){mean, 1.0f / sqrtf(variance + job->epsilon), mean, variance};
}

static void channel_forward(const struct batchnorm_job *job, int64_t channel)
{
    const struct tensor *a = &job->tensors[0], *out = &job->tensors[5];
    int64_t plane = job->planes.plane;
    float *part = host_scratch_part(&job->scratch);
    struct channel_moments moments = job->training ? channel_train(job, channel) : channel_evaluate(job, channel);
    float scale = moments.reciprocal_deviation * channel_value(&job->tensors[1], channel);
    float shift = channel_value(&job->tensors[2], channel);
    for (int64_t image = 0; image < job->planes.images; image++) {
        int64_t at = plane_start(job, image, channel);
        struct span from = span_read(a, at, 1, plane, part);
        struct span to = span_target(out, at, 1, part + plane);
        scale_loop(from, to, moments.mean, scale, shift, plane);
        span_write(to, out, at, 1, plane);
    }
    if (job->tells) {
        ((float *)job->tensors[6].data)[channel] = moments.mean;
        ((float *)job->tensors[7].data)[channel] = moments.reciprocal_deviation;
    }
}

const char *host_batchnorm(const struct operation_call *call)
{
    struct batchnorm_job job;
    if (!batchnorm_open(&job, call)) {
        return host_no_memory;
    }
    int64_t channels = job.planes.images * job.planes.plane > 0 ? job.planes.channels : 0;
    HOST_PARALLEL_FOR(tensor_element_count(&call->tensors[0]) >= PARALLEL_ELEMENTS)
    for (int64_t channel = 0; channel < channels; channel++) {
        channel_forward(&job, channel);
    }
    host_scratch_close(&job.scratch);
    return NULL;
}

HOST_CLONES
static struct gradient_sums gradient_sums_loop(struct span grad, struct span a, float mean, float reciprocal,
                                               int64_t count)
{
    struct gradient_sums none = {0.0f, 0.0f};
    return gradient_sums_join(none, row_get(row_of(grad, count), 0), row_get(row_of(a, count), 0), mean, reciprocal);
}

HOST_CLONES
static void gradient_loop(struct span grad, struct span a, struct span out, float mean, float reciprocal, float weight,
                          struct gradient_sums means, int64_t count)
{
    struct group y = row_get(row_of(out, count), 0);
    group_channel_gradient(row_get(row_of(grad, count), 0), row_get(row_of(a, count), 0), &y, mean, reciprocal, weight,
                           means);
}

static struct gradient_sums channel_gradient_sums(const struct batchnorm_job *job, int64_t channel, float mean,
                                                  float reciprocal)
{
    int64_t plane = job->planes.plane;
    float *part = host_scratch_part(&job->scratch);
    double sum = 0.0, product = 0.0;
    for (int64_t image = 0; image < job->planes.images; image++) {
        int64_t at = plane_start(job, image, channel);
        struct span grad = span_read(&job->tensors[0], at, 1, plane, part);
        struct span a = span_read(&job->tensors[1], at, 1, plane, part + plane);
        struct gradient_sums sums = gradient_sums_loop(grad, a, mean, reciprocal, plane);
        sum += (double)sums.grad;
        product += (double)sums.product;
    }
    return (struct gradient_sums){(float)sum, (float)product};
}

static void channel_backward(const struct batchnorm_job *job, int64_t channel)
{
    const struct tensor *t = job->tensors;
    int64_t plane = job->planes.plane;
    float *part = host_scratch_part(&job->scratch);
    float mean = ((const float *)t[3].data)[channel], reciprocal = ((const float *)t[4].data)[channel];
    float weight = channel_value(&t[2], channel);
    struct gradient_sums sums = channel_gradient_sums(job, channel, mean, reciprocal);
    float count = (float)(job->planes.images * plane);
    struct gradient_sums means = {sums.grad / count, sums.product / count};
    for (int64_t image = 0; image < job->planes.images; image++) {
        int64_t at = plane_start(job, image, channel);
        struct span grad = span_read(&t[0], at, 1, plane, part);
        struct span a = span_read(&t[1], at, 1, plane, part + plane);
        struct span to = span_target(&t[5], at, 1, part + 2 * plane);
        gradient_loop(grad, a, to, mean, reciprocal, weight, means, plane);
        span_write(to, &t[5], at, 1, plane);
    }
    float_store(t[6].data, t[6].dtype, channel, sums.product);
    float_store(t[7].data, t[7].dtype, channel, sums.grad);
}

const char *host_batchnorm_backward(const struct operation_call *call)
{
    struct batchnorm_job job;
    if (!batchnorm_open(&job, call)) {
        return host_no_memory;
    }
    HOST_PARALLEL_FOR(tensor_element_count(&call->tensors[0]) >= PARALLEL_ELEMENTS)
    for (int64_t channel = 0; channel < job.planes.channels; channel++) {
        channel_backward(&job, channel);
    }
    host_scratch_close(&job.scratch);
    return NULL;
}
