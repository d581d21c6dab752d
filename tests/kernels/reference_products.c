/* Reference of the products: matrices and convolutions straight from their definitions. */
#include "tests/kernels/reference.h"

#include <stddef.h>

/* What comes behind the required inputs: a bias; a bool is the workspace. NULL: no bias. */
static const double *bias_of(const struct operation_call *call, double *const *values)
{
    int required = opcode_input_count(call->opcode);
    bool there = call->input_count > required && call->tensors[required].dtype != DTYPE_BOOL;
    return there ? values[required] : NULL;
}

/* out = alpha a b + beta out + bias */
static void matrices_multiply(const struct operation_call *call, double *const *values, double alpha, double beta)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[call->input_count];
    const double *bias = bias_of(call, values);
    int64_t m = out->size[out->rank - 2], n = out->size[out->rank - 1], k = a->size[a->rank - 1];
    double *result = values[call->input_count];
    int64_t count = tensor_element_count(out);
    for (int64_t at = 0; at < count; at++) {
        int64_t column = at % n, batch = at / n / m;
        const double *row = values[0] + at / n * k, *matrix = values[1] + batch * k * n + column;
        double sum = 0.0;
        for (int64_t term = 0; term < k; term++) {
            sum += row[term] * matrix[term * n];
        }
        double before = beta != 0.0 ? beta * result[at] : 0.0;
        result[at] = alpha * sum + before + (bias != NULL ? bias[column] : 0.0);
    }
}

void reference_matmul(const struct operation_call *call, double *const *values)
{
    matrices_multiply(call, values, call->attributes.f[0], call->attributes.f[1]);
}

void reference_integer_matmul(const struct operation_call *call, double *const *values)
{
    matrices_multiply(call, values, 1.0, 0.0);
}

void reference_scaled_matmul(const struct operation_call *call, double *const *values)
{
    matrices_multiply(call, values, call->attributes.f[0] * values[2][0] * values[3][0], call->attributes.f[1]);
}

/* The three tensors that every convolution joins, whichever of them it writes. */
struct convolution_parts {
    const struct tensor *image, *weight, *result;
    double *image_values, *weight_values, *result_values;
};

static struct convolution_parts parts_of(const struct operation_call *call, double *const *values)
{
    int out = call->input_count;
    int image = call->opcode == OPCODE_CONVOLUTION ? 0 : call->opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT ? 1 : out;
    int weight = call->opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT ? out : 1;
    int result = call->opcode == OPCODE_CONVOLUTION ? out : 0;
    return (struct convolution_parts){&call->tensors[image], &call->tensors[weight], &call->tensors[result],
                                      values[image],         values[weight],         values[result]};
}

/* All taps of one element of the result. */
static void element_walk(const struct operation_call *call, const struct convolution_parts *p, const int64_t place[4])
{
    const int64_t *image = p->image->size, *weight = p->weight->size, *result = p->result->size;
    int64_t at = ((place[0] * result[1] + place[1]) * result[2] + place[2]) * result[3] + place[3];
    for (int64_t tap = 0; tap < image[1] * weight[2] * weight[3]; tap++) {
        int64_t channel = tap / (weight[2] * weight[3]);
        int64_t row = place[2] * call->attributes.i[0] - call->attributes.i[1] + tap / weight[3] % weight[2];
        int64_t column = place[3] * call->attributes.i[0] - call->attributes.i[1] + tap % weight[3];
        if (row < 0 || column < 0 || row >= image[2] || column >= image[3]) {
            continue;
        }
        double *x = &p->image_values[((place[0] * image[1] + channel) * image[2] + row) * image[3] + column];
        double *y = &p->weight_values[place[1] * image[1] * weight[2] * weight[3] + tap];
        double *z = &p->result_values[at];
        if (call->opcode == OPCODE_CONVOLUTION) {
            *z += *x * *y;
        } else if (call->opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT) {
            *x += *z * *y;
        } else {
            *y += *z * *x;
        }
    }
}

void reference_convolution(const struct operation_call *call, double *const *values)
{
    struct convolution_parts p = parts_of(call, values);
    int out = call->input_count;
    const double *bias = bias_of(call, values);
    const int64_t *result = p.result->size;
    int64_t plane = result[2] * result[3];
    int64_t count = tensor_element_count(&call->tensors[out]);
    for (int64_t k = 0; k < count; k++) {
        values[out][k] = bias != NULL ? bias[k / plane % result[1]] : 0.0;
    }
    for (int64_t k = 0; k < result[0] * result[1] * plane; k++) {
        const int64_t place[4] = {k / plane / result[1], k / plane % result[1], k / result[3] % result[2],
                                  k % result[3]};
        element_walk(call, &p, place);
    }
}

/* The channels of a result's filter are those of its group: an ordinary convolution of a part of the image. */
void reference_grouped_convolution(const struct operation_call *call, double *const *values)
{
    bool forward = call->opcode == OPCODE_GROUPED_CONVOLUTION;
    bool to_weight = call->opcode == OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT;
    int out = call->input_count,
        image = forward     ? 0
                : to_weight ? 1
                            : out,
        filter = to_weight ? out : 1, result = forward ? out : 0;
    const int64_t *x = call->tensors[image].size, *w = call->tensors[filter].size, *y = call->tensors[result].size;
    const int64_t *i = call->attributes.i;
    for (int64_t k = 0; k < tensor_element_count(&call->tensors[out]); k++) {
        values[out][k] = forward && call->input_count > 2 ? values[2][k / (y[2] * y[3]) % y[1]] : 0.0;
    }
    for (int64_t at = 0; at < y[0] * y[1] * y[2] * y[3]; at++) {
        int64_t o = at / (y[2] * y[3]) % y[1], n = at / (y[1] * y[2] * y[3]);
        for (int64_t tap = 0; tap < w[1] * w[2] * w[3]; tap++) {
            int64_t channel = o / (w[0] / i[2]) * w[1] + tap / (w[2] * w[3]);
            int64_t row = at / y[3] % y[2] * i[0] - i[1] + tap / w[3] % w[2],
                    column = at % y[3] * i[0] - i[1] + tap % w[3];
            if (row < 0 || column < 0 || row >= x[2] || column >= x[3]) {
                continue;
            }
            double *a = &values[image][((n * x[1] + channel) * x[2] + row) * x[3] + column];
            double *b = &values[filter][o * w[1] * w[2] * w[3] + tap], *c = &values[result][at];
            double product = forward ? *a * *b : to_weight ? *c * *a : *c * *b;
            *(forward ? c : to_weight ? b : a) += product;
        }
    }
}
