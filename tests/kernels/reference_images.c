/* Reference of batch normalisation and pooling. */
#include "tests/kernels/reference.h"

#include <math.h>

/* Elements of one channel: element k of image n stands at (n * channels + channel) * plane + k. */
struct planes {
    int64_t images, channels, plane;
};

static struct planes planes_of(const struct tensor *tensor)
{
    struct planes planes = {tensor->size[0], tensor->size[1], 1};
    for (int d = 2; d < tensor->rank; d++) {
        planes.plane *= tensor->size[d];
    }
    return planes;
}

void reference_batchnorm(const struct operation_call *call, double *const *v)
{
    struct planes p = planes_of(&call->tensors[0]);
    double count = (double)(p.images * p.plane);
    bool training = call->attributes.i[0] == 1;
    double momentum = call->attributes.f[1];
    for (int64_t c = 0; c < p.channels; c++) {
        double mean = 0.0, variance = 0.0;
        for (int64_t k = 0; k < p.images * p.plane; k++) {
            mean += v[0][(k / p.plane * p.channels + c) * p.plane + k % p.plane] / count;
        }
        for (int64_t k = 0; k < p.images * p.plane; k++) {
            double difference = v[0][(k / p.plane * p.channels + c) * p.plane + k % p.plane] - mean;
            variance += difference * difference / count;
        }
        if (training) {
            double unbiased = count > 1.0 ? variance * count / (count - 1.0) : variance;
            v[3][c] = (1.0 - momentum) * v[3][c] + momentum * mean;
            v[4][c] = (1.0 - momentum) * v[4][c] + momentum * unbiased;
        } else {
            mean = v[3][c];
            variance = v[4][c];
        }
        v[6][c] = mean;
        v[7][c] = 1.0 / sqrt(variance + call->attributes.f[0]);
        for (int64_t k = 0; k < p.images * p.plane; k++) {
            int64_t at = (k / p.plane * p.channels + c) * p.plane + k % p.plane;
            v[5][at] = (v[0][at] - mean) * v[7][c] * v[1][c] + v[2][c];
        }
    }
}

void reference_batchnorm_inference(const struct operation_call *call, double *const *v)
{
    struct planes p = planes_of(&call->tensors[0]);
    for (int64_t k = 0; k < p.images * p.channels * p.plane; k++) {
        int64_t c = k / p.plane % p.channels;
        v[5][k] = (v[0][k] - v[3][c]) / sqrt(v[4][c] + call->attributes.f[0]) * v[1][c] + v[2][c];
    }
}

void reference_batchnorm_backward(const struct operation_call *call, double *const *v)
{
    struct planes p = planes_of(&call->tensors[0]);
    double count = (double)(p.images * p.plane);
    for (int64_t c = 0; c < p.channels; c++) {
        double mean = v[3][c], reciprocal = v[4][c], sum = 0.0, product = 0.0;
        for (int64_t k = 0; k < p.images * p.plane; k++) {
            int64_t at = (k / p.plane * p.channels + c) * p.plane + k % p.plane;
            sum += v[0][at];
            product += v[0][at] * (v[1][at] - mean) * reciprocal;
        }
        for (int64_t k = 0; k < p.images * p.plane; k++) {
            int64_t at = (k / p.plane * p.channels + c) * p.plane + k % p.plane;
            double x = (v[1][at] - mean) * reciprocal;
            v[5][at] = v[2][c] * reciprocal * (v[0][at] - sum / count - x * product / count);
        }
        v[6][c] = product;
        v[7][c] = sum;
    }
}

void reference_max_pool(const struct operation_call *call, double *const *v)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[1];
    const int64_t *i = call->attributes.i;
    int64_t height = a->size[2], width = a->size[3];
    for (int64_t k = 0; k < tensor_element_count(out); k++) {
        int64_t plane = k / (out->size[2] * out->size[3]);
        int64_t top = k / out->size[3] % out->size[2] * i[1] - i[2], left = k % out->size[3] * i[1] - i[2];
        double best = -INFINITY;
        int64_t winner = -1;
        for (int64_t y = top; y < top + i[0]; y++) {
            for (int64_t x = left; x < left + i[0]; x++) {
                if (y < 0 || x < 0 || y >= height || x >= width) {
                    continue;
                }
                double value = v[0][(plane * height + y) * width + x];
                if (winner < 0 || value > best || (isnan(value) && !isnan(best))) {
                    best = value;
                    winner = y * width + x;
                }
            }
        }
        v[1][k] = best;
        v[2][k] = (double)winner;
    }
}

void reference_max_pool_backward(const struct operation_call *call, double *const *v)
{
    const struct tensor *grad = &call->tensors[0], *out = &call->tensors[2];
    for (int64_t k = 0; k < tensor_element_count(out); k++) {
        v[2][k] = 0.0;
    }
    for (int64_t k = 0; k < tensor_element_count(grad); k++) {
        int64_t plane = k / (grad->size[2] * grad->size[3]);
        v[2][plane * out->size[2] * out->size[3] + (int64_t)v[1][k]] += v[0][k];
    }
}
