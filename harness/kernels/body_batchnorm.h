/* Batch normalisation: what is done to the plane of one channel of one image, and to the sums of all its planes. The sums
 * are those of one lane; the caller joins them over the planes and then over the team. */
#ifndef ASSAY_KERNELS_BODY_BATCHNORM_H
#define ASSAY_KERNELS_BODY_BATCHNORM_H

#include "harness/kernels/body.h"

struct planes {
    int64_t images, channels, plane;
};

static inline struct planes planes_of(const struct tensor *tensor)
{
    struct planes planes = {tensor->size[0], tensor->size[1], 1};
    for (int d = 2; d < tensor->rank; d++) {
        planes.plane *= tensor->size[d];
    }
    return planes;
}

BODY float plane_sum(struct team team, struct span a, int64_t count)
{
    float sum = 0.0f;
    BODY_SIMD(reduction(+ : sum))
    for (int64_t k = team.lane; k < count; k += team.lanes) {
        sum += span_get(a, k);
    }
    return sum;
}

BODY float plane_squares(struct team team, struct span a, float mean, int64_t count)
{
    float sum = 0.0f;
    BODY_SIMD(reduction(+ : sum))
    for (int64_t k = team.lane; k < count; k += team.lanes) {
        float difference = span_get(a, k) - mean;
        sum += difference * difference;
    }
    return sum;
}

/* out = (a - mean) * scale + shift */
BODY void plane_scale(struct team team, struct span a, struct span out, float mean, float scale, float shift,
                      int64_t count)
{
    BODY_SIMD()
    for (int64_t k = team.lane; k < count; k += team.lanes) {
        span_set(out, k, (span_get(a, k) - mean) * scale + shift);
    }
}

/* The figures of one channel, and what the running ones become. */
struct channel_moments {
    float mean, reciprocal_deviation;
    float running_mean, running_variance;
};

/* In training, from the batch's mean and sum of squared differences; the running variance is the unbiased one. */
BODY struct channel_moments channel_moments_of(float mean, float squares, float count, float running_mean,
                                               float running_variance, float epsilon, float momentum)
{
    struct channel_moments moments;
    float unbiased = count > 1.0f ? squares / (count - 1.0f) : squares;
    moments.mean = mean;
    moments.reciprocal_deviation = 1.0f / sqrtf(squares / count + epsilon);
    moments.running_mean = (1.0f - momentum) * running_mean + momentum * mean;
    moments.running_variance = (1.0f - momentum) * running_variance + momentum * unbiased;
    return moments;
}

struct gradient_sums {
    float grad;    /* sum of the gradient: grad bias */
    float product; /* sum of the gradient times the normalised input: grad weight */
};

BODY struct gradient_sums plane_gradient_sums(struct team team, struct span grad, struct span a, float mean,
                                              float reciprocal, int64_t count)
{
    float sum = 0.0f;
    float product = 0.0f;
    BODY_SIMD(reduction(+ : sum, product))
    for (int64_t k = team.lane; k < count; k += team.lanes) {
        float g = span_get(grad, k);
        sum += g;
        product += g * ((span_get(a, k) - mean) * reciprocal);
    }
    struct gradient_sums sums = {sum, product};
    return sums;
}

/* weight reciprocal (grad - mean(grad) - x mean(grad x)), x the normalised input */
BODY void plane_gradient(struct team team, struct span grad, struct span a, struct span out, float mean,
                         float reciprocal, float weight, struct gradient_sums means, int64_t count)
{
    BODY_SIMD()
    for (int64_t k = team.lane; k < count; k += team.lanes) {
        float x = (span_get(a, k) - mean) * reciprocal;
        span_set(out, k, weight * reciprocal * (span_get(grad, k) - means.grad - x * means.product));
    }
}

#endif
