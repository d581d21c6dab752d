/* Reference of the operations on rows, tables and losses. */
#include "tests/kernels/reference.h"

#include <math.h>

static int64_t columns_of(const struct tensor *tensor)
{
    return tensor->rank > 0 ? tensor->size[tensor->rank - 1] : 1;
}

static int64_t rows_count(const struct tensor *tensor)
{
    return columns_of(tensor) > 0 ? tensor_element_count(tensor) / columns_of(tensor) : 0;
}

void reference_sum(const struct operation_call *call, double *const *values)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[call->input_count];
    double *sums = values[call->input_count];
    int64_t outputs = tensor_element_count(out);
    bool is_norm = call->attributes.i[0] == 1;
    for (int64_t k = 0; k < outputs; k++) {
        sums[k] = 0.0;
    }
    int64_t count = tensor_element_count(a);
    for (int64_t k = 0; k < count; k++) {
        int64_t rest = k, to = 0, step = 1;
        for (int d = a->rank - 1; d >= 0; d--) {
            int64_t index = rest % a->size[d];
            rest /= a->size[d];
            to += out->size[d] == 1 ? 0 : index * step;
            step *= out->size[d];
        }
        sums[to] += is_norm ? values[0][k] * values[0][k] : values[0][k];
    }
    for (int64_t k = 0; k < outputs; k++) {
        sums[k] = call->attributes.f[0] * (is_norm ? sqrt(sums[k]) : sums[k]);
    }
}

void reference_softmax(const struct operation_call *call, double *const *values)
{
    int64_t columns = columns_of(&call->tensors[0]);
    for (int64_t row = 0; row < rows_count(&call->tensors[0]); row++) {
        const double *a = values[0] + row * columns;
        double *out = values[1] + row * columns;
        double maximum = -INFINITY, sum = 0.0;
        for (int64_t k = 0; k < columns; k++) {
            maximum = fmax(maximum, a[k]);
        }
        for (int64_t k = 0; k < columns; k++) {
            sum += exp(a[k] - maximum);
        }
        for (int64_t k = 0; k < columns; k++) {
            bool logarithm = call->opcode == OPCODE_LOG_SOFTMAX;
            out[k] = logarithm ? a[k] - maximum - log(sum) : exp(a[k] - maximum) / sum;
        }
    }
}

void reference_softmax_backward(const struct operation_call *call, double *const *values)
{
    int64_t columns = columns_of(&call->tensors[0]);
    bool logarithm = call->opcode == OPCODE_LOG_SOFTMAX_BACKWARD;
    for (int64_t row = 0; row < rows_count(&call->tensors[0]); row++) {
        const double *grad = values[0] + row * columns, *result = values[1] + row * columns;
        double sum = 0.0;
        for (int64_t k = 0; k < columns; k++) {
            sum += logarithm ? grad[k] : grad[k] * result[k];
        }
        for (int64_t k = 0; k < columns; k++) {
            values[2][row * columns + k] = logarithm ? grad[k] - exp(result[k]) * sum : result[k] * (grad[k] - sum);
        }
    }
}

void reference_loss(const struct operation_call *call, double *const *values)
{
    int64_t columns = columns_of(&call->tensors[0]);
    double sum = 0.0, weight = 0.0;
    for (int64_t row = 0; row < rows_count(&call->tensors[0]); row++) {
        if (values[1][row] != -100.0) {
            sum -= values[0][row * columns + (int64_t)values[1][row]];
            weight += 1.0;
        }
    }
    values[2][0] = sum / weight;
    values[3][0] = weight;
}

void reference_loss_backward(const struct operation_call *call, double *const *values)
{
    int64_t columns = columns_of(&call->tensors[3]);
    for (int64_t row = 0; row < rows_count(&call->tensors[3]); row++) {
        for (int64_t k = 0; k < columns; k++) {
            bool target = values[1][row] == (double)k;
            values[3][row * columns + k] = target ? -values[0][0] / values[2][0] : 0.0;
        }
    }
}

void reference_target_mask(const struct operation_call *call, double *const *values)
{
    values[3][0] = 0.0;
    for (int64_t row = 0; row < tensor_element_count(&call->tensors[0]); row++) {
        bool counts = values[0][row] != -100.0;
        values[1][row] = counts ? 1.0 : 0.0;
        values[2][row] = counts ? values[0][row] : 0.0;
        values[3][0] += values[1][row];
    }
}

void reference_cross_entropy(const struct operation_call *call, double *const *values)
{
    int64_t columns = columns_of(&call->tensors[2]);
    for (int64_t row = 0; row < rows_count(&call->tensors[2]); row++) {
        double *logits = values[2] + row * columns;
        bool counts = values[0][row] != -100.0;
        int64_t target = counts ? (int64_t)values[0][row] : -1;
        double maximum = -INFINITY, sum = 0.0;
        for (int64_t k = 0; k < columns; k++) {
            maximum = fmax(maximum, logits[k]);
        }
        for (int64_t k = 0; k < columns; k++) {
            sum += exp(logits[k] - maximum);
        }
        values[3][row] = counts ? (maximum + log(sum) - logits[target]) / values[1][0] : 0.0;
        for (int64_t k = 0; k < columns; k++) {
            double slope = exp(logits[k] - maximum) / sum - (k == target ? 1.0 : 0.0);
            logits[k] = counts ? slope / values[1][0] : 0.0;
        }
    }
}

void reference_layernorm(const struct operation_call *call, double *const *v)
{
    int64_t columns = columns_of(&call->tensors[0]);
    for (int64_t row = 0; row < rows_count(&call->tensors[0]); row++) {
        const double *a = v[0] + row * columns;
        double mean = 0.0, variance = 0.0;
        for (int64_t k = 0; k < columns; k++) {
            mean += a[k] / (double)columns;
        }
        for (int64_t k = 0; k < columns; k++) {
            variance += (a[k] - mean) * (a[k] - mean) / (double)columns;
        }
        double reciprocal = 1.0 / sqrt(variance + call->attributes.f[0]);
        for (int64_t k = 0; k < columns; k++) {
            v[3][row * columns + k] = (a[k] - mean) * reciprocal * v[1][k] + v[2][k];
        }
        v[4][row] = mean;
        v[5][row] = reciprocal;
    }
}

void reference_layernorm_backward(const struct operation_call *call, double *const *v)
{
    int64_t columns = columns_of(&call->tensors[0]);
    bool sloped = call->opcode == OPCODE_LAYERNORM_BACKWARD;
    for (int64_t k = 0; k < columns && sloped; k++) {
        v[6][k] = v[7][k] = 0.0;
    }
    for (int64_t row = 0; row < rows_count(&call->tensors[0]); row++) {
        const double *grad = v[0] + row * columns, *a = v[1] + row * columns;
        double mean = v[2][row], reciprocal = v[3][row], sum = 0.0, product = 0.0;
        for (int64_t k = 0; k < columns; k++) {
            double x = (a[k] - mean) * reciprocal;
            sum += grad[k] * v[4][k];
            product += grad[k] * v[4][k] * x;
            if (sloped) {
                v[6][k] += grad[k] * x;
                v[7][k] += grad[k];
            }
        }
        for (int64_t k = 0; k < columns; k++) {
            double x = (a[k] - mean) * reciprocal;
            v[5][row * columns + k] =
                reciprocal * (grad[k] * v[4][k] - sum / (double)columns - x * product / (double)columns);
        }
    }
}

void reference_embedding(const struct operation_call *call, double *const *values)
{
    int64_t columns = call->tensors[0].size[1];
    for (int64_t token = 0; token < tensor_element_count(&call->tensors[1]); token++) {
        for (int64_t k = 0; k < columns; k++) {
            values[2][token * columns + k] = values[0][(int64_t)values[1][token] * columns + k];
        }
    }
}

void reference_embedding_backward(const struct operation_call *call, double *const *values)
{
    int64_t columns = call->tensors[2].size[1];
    for (int64_t k = 0; k < tensor_element_count(&call->tensors[2]); k++) {
        values[2][k] = 0.0;
    }
    for (int64_t token = 0; token < tensor_element_count(&call->tensors[1]); token++) {
        int64_t id = (int64_t)values[1][token];
        for (int64_t k = 0; k < columns && id != call->attributes.i[0]; k++) {
            values[2][id * columns + k] += values[0][token * columns + k];
        }
    }
}
