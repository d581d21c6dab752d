/* The reference's table, and the operations that treat each element by itself. */
#include "tests/kernels/reference.h"

#include <math.h>
#include <stddef.h>

#include "harness/kernels/body_random.h"

static reference_function *const references[OPCODE_COUNT] = {
#define TRIAL_REFERENCE(name, reference, plan) [OPCODE_##name] = (reference),
    TRIAL_TABLE(TRIAL_REFERENCE)
#undef TRIAL_REFERENCE
};

void reference_run(const struct operation_call *call, double *const *values)
{
    references[call->opcode](call, values);
}

static double lowest_of(enum dtype dtype)
{
    return dtype == DTYPE_FLOAT16    ? -65504.0
           : dtype == DTYPE_BFLOAT16 ? -3.3895313892515355e38
                                     : -3.4028234663852886e38;
}

void reference_attention_mask(const struct operation_call *call, double *const *values)
{
    int result = call->input_count;
    const struct tensor *out = &call->tensors[result];
    const int64_t *i = call->attributes.i;
    int64_t rows = out->size[2], columns = out->size[3];
    for (int64_t b = 0; b < out->size[0]; b++) {
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t c = 0; c < columns; c++) {
                bool seen = c - r <= i[0] && (i[1] <= 0 || c - r > i[0] - i[1]) &&
                            (result == 0 || values[0][b * columns + c] != 0.0);
                values[result][(b * rows + r) * columns + c] = seen ? 1.0 : 0.0;
            }
        }
    }
}

/* T5's _relative_position_bucket; positive: where the column comes later. */
void reference_position_buckets(const struct operation_call *call, double *const *values)
{
    const struct tensor *out = &call->tensors[0];
    const int64_t *i = call->attributes.i;
    for (int64_t k = 0; k < out->size[0] * out->size[1]; k++) {
        int64_t relative = k % out->size[1] - (i[0] + k / out->size[1]);
        int64_t buckets = i[3] == 1 ? i[1] / 2 : i[1], exact = buckets / 2;
        double later = i[3] == 1 && relative > 0 ? (double)buckets : 0.0;
        double distance = i[3] == 1 ? fabs((double)relative) : fmax(-(double)relative, 0.0);
        double far =
            (double)exact +
            floor(log(distance / (double)exact) / log((double)i[2] / (double)exact) * (double)(buckets - exact) + 1e-6);
        values[0][k] = later + (distance < (double)exact ? distance : fmin(far, (double)(buckets - 1)));
    }
}

void reference_create(const struct operation_call *call, double *const *values)
{
    const struct tensor *out = &call->tensors[0];
    const double *f = call->attributes.f;
    const int64_t *i = call->attributes.i;
    struct random_key key = random_key_of(i[0]);
    int64_t columns = out->rank > 0 ? out->size[out->rank - 1] : 1;
    int64_t rows = out->rank > 1 ? out->size[out->rank - 2] : 1;
    int64_t count = tensor_element_count(out);
    for (int64_t k = 0; k < count; k++) {
        uint64_t counter = (uint64_t)k;
        double *to = &values[0][k];
        if (call->opcode == OPCODE_FILL) {
            *to = f[0];
        } else if (call->opcode == OPCODE_RANDOM_NORMAL) {
            double uniform = (double)((random_bits(key, counter / 2 * 2) >> 8) + 1u) * 0x1p-24;
            double angle = 2.0 * 3.141592653589793 * (double)((int32_t)random_bits(key, counter | 1) >> 8) * 0x1p-24;
            *to = f[0] + f[1] * sqrt(-2.0 * log(uniform)) * (counter % 2 == 0 ? cos(angle) : sin(angle));
        } else if (call->opcode == OPCODE_RANDOM_INTEGER) {
            uint64_t bits = (uint64_t)random_bits(key, 2 * counter) << 32 | random_bits(key, 2 * counter + 1);
            *to = (double)(bits % (uint64_t)i[1]);
        } else if (call->opcode == OPCODE_SEQUENCE) {
            *to = (double)(i[0] + i[1] * (k % columns));
        } else {
            *to = k % columns <= k / columns % rows + i[0] ? 0.0 : lowest_of(out->dtype);
        }
    }
}

static double gelu(double x, bool with_tanh)
{
    double t = with_tanh ? tanh(sqrt(2.0 / 3.141592653589793) * (x + 0.044715 * x * x * x)) : erf(x / sqrt(2.0));
    return 0.5 * x * (1.0 + t);
}

static double gelu_slope(double x, bool with_tanh)
{
    if (!with_tanh) {
        return 0.5 * (1.0 + erf(x / sqrt(2.0))) + x * exp(-0.5 * x * x) / sqrt(2.0 * 3.141592653589793);
    }
    double factor = sqrt(2.0 / 3.141592653589793);
    double t = tanh(factor * (x + 0.044715 * x * x * x));
    return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * factor * (1.0 + 3.0 * 0.044715 * x * x);
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double copied(enum dtype from, enum dtype to, double a)
{
    if (from == to || (to != DTYPE_UINT8 && to != DTYPE_FLOAT8_E4M3FN)) {
        return a;
    }
    return to == DTYPE_UINT8 ? trunc(a) : reference_float8(a);
}

static double element(const struct operation_call *call, double a, double b)
{
    const double *f = call->attributes.f;
    bool form = call->attributes.i[0] == 1;
    switch (call->opcode) {
    case OPCODE_COPY:
        return copied(call->tensors[0].dtype, call->tensors[1].dtype, a);
    case OPCODE_ABSOLUTE:
        return fabs(a);
    case OPCODE_CLAMP:
        return fmin(fmax(form ? nearbyint(a) : a, (double)(float)f[0]), (double)(float)f[1]);
    case OPCODE_ADD:
        return a + f[0] * b;
    case OPCODE_MULTIPLY:
        return a * b;
    case OPCODE_AFFINE:
        return f[0] * a + f[1];
    case OPCODE_POWER:
        return pow(a, f[0]);
    case OPCODE_SQUARE_ROOT:
        return sqrt(a);
    case OPCODE_RECIPROCAL_ROOT:
        return 1.0 / sqrt(a);
    case OPCODE_TANH:
        return tanh(a);
    case OPCODE_COSINE:
        return f[0] * cos(a);
    case OPCODE_SINE:
        return f[0] * sin(a);
    case OPCODE_GELU:
        return gelu(a, form);
    case OPCODE_DIVIDE:
        return a / b;
    case OPCODE_BOUND:
        return fmax(fmin(a, b), -b);
    case OPCODE_WITHIN:
        return fabs(a) <= b ? 1.0 : 0.0;
    case OPCODE_SIGMOID:
        return sigmoid(a);
    case OPCODE_SIGMOID_BACKWARD:
        return a * b * (1.0 - b);
    case OPCODE_SILU:
        return a * sigmoid(a);
    case OPCODE_RELU:
        return a > 0.0 ? a : 0.0;
    case OPCODE_TANH_BACKWARD:
        return a * (1.0 - b * b);
    case OPCODE_RELU_BACKWARD:
        return b > 0.0 ? a : 0.0;
    case OPCODE_GELU_BACKWARD:
        return a * gelu_slope(b, form);
    case OPCODE_SILU_BACKWARD:
        return a * sigmoid(b) * (1.0 + b * (1.0 - sigmoid(b)));
    default: /* DROPOUT_BACKWARD */
        return a * b * f[0];
    }
}

void reference_element(const struct operation_call *call, double *const *values)
{
    int out = call->input_count;
    int64_t count = tensor_element_count(&call->tensors[out]);
    for (int64_t k = 0; k < count; k++) {
        values[out][k] = element(call, values[0][k], values[out - 1][k]);
    }
}

void reference_dropout(const struct operation_call *call, double *const *values)
{
    double probability = call->attributes.f[0];
    struct random_key key = random_key_of(call->attributes.i[0]);
    int64_t count = tensor_element_count(&call->tensors[1]);
    for (int64_t k = 0; k < count; k++) {
        bool kept = (double)(random_bits(key, (uint64_t)k) >> 8) * 0x1p-24 >= (double)(float)probability;
        values[1][k] = kept ? values[0][k] / (1.0 - probability) : 0.0;
        values[2][k] = kept ? 1.0 : 0.0;
    }
}

void reference_optimizer(const struct operation_call *call, double *const *v)
{
    const double *f = call->attributes.f;
    double step = (double)call->attributes.i[1];
    int required = opcode_input_count(call->opcode);
    int out = call->input_count;
    int64_t count = tensor_element_count(&call->tensors[out]);
    if (out > required && v[required][0] != 0.0) {
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        if (call->opcode == OPCODE_ADAM_MOMENTS) {
            v[out][k] = f[0] * v[out][k] + (1.0 - f[0]) * v[0][k];
            v[out + 1][k] = f[1] * v[out + 1][k] + (1.0 - f[1]) * v[0][k] * v[0][k];
        } else if (call->opcode == OPCODE_ADAM_APPLY) {
            v[out][k] -= f[0] * v[0][k] / v[1][k];
        } else if (call->opcode == OPCODE_ADAM) {
            bool decoupled = call->attributes.i[0] == 1;
            double grad = v[0][k] + (decoupled ? 0.0 : f[4] * v[out][k]);
            double m = f[1] * v[out + 1][k] + (1.0 - f[1]) * grad;
            double s = f[2] * v[out + 2][k] + (1.0 - f[2]) * grad * grad;
            double denominator = sqrt(s) / sqrt(1.0 - pow(f[2], step)) + f[3];
            v[out][k] -= decoupled ? f[0] * f[4] * v[out][k] : 0.0;
            v[out][k] -= f[0] / (1.0 - pow(f[1], step)) * m / denominator;
            v[out + 1][k] = m;
            v[out + 2][k] = s;
        } else if (call->opcode == OPCODE_SGD_MOMENTUM) {
            v[out + 1][k] = f[1] * v[out + 1][k] + v[0][k];
            v[out][k] -= f[0] * v[out + 1][k];
        } else if (call->opcode == OPCODE_SGD) {
            v[out][k] -= f[0] * v[0][k];
        } else { /* UNSCALE */
            v[1][0] = isfinite(v[0][k]) ? v[1][0] : 1.0;
            v[0][k] *= f[0];
        }
    }
}
