/* Batch normalisation: what is done to a group of a channel's elements, on the host the plane of one image, and to the
 * sums of all of them. The sums are those of one lane; the caller joins them over the groups and then over the team. */
#ifndef ASSAY_KERNELS_BODY_BATCHNORM_H
#define ASSAY_KERNELS_BODY_BATCHNORM_H

#include "harness/kernels/body_moments.h"

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

/* y = (x - mean) * scale + shift */
GROUP_BODY void group_rescale(GROUP x, GROUP *y, float mean, float scale, float shift)
{
    GROUP_SIMD()
    for (int64_t k = 0; k < GROUP_SIZE(x); k++) {
        y->at[k] = (x.at[k] - mean) * scale + shift;
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

GROUP_BODY struct gradient_sums gradient_sums_join(struct gradient_sums total, GROUP grad, GROUP a, float mean,
                                                   float reciprocal)
{
    float sum = total.grad;
    float product = total.product;
    GROUP_SIMD(reduction(+ : sum, product))
    for (int64_t k = 0; k < GROUP_SIZE(grad); k++) {
        float g = grad.at[k];
        float x = (a.at[k] - mean) * reciprocal;
        if (group_has(grad, k)) {
            sum += g;
            product += g * x;
        }
    }
    struct gradient_sums sums = {sum, product};
    return sums;
}

/* weight reciprocal (grad - mean(grad) - x mean(grad x)), x the normalised input */
GROUP_BODY void group_channel_gradient(GROUP grad, GROUP a, GROUP *y, float mean, float reciprocal, float weight,
                                       struct gradient_sums means)
{
    GROUP_SIMD()
    for (int64_t k = 0; k < GROUP_SIZE(grad); k++) {
        float x = (a.at[k] - mean) * reciprocal;
        y->at[k] = weight * reciprocal * (grad.at[k] - means.grad - x * means.product);
    }
}

#endif
