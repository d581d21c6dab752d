/* Reference of attention: every score is made, one row at a time. */
#include "tests/kernels/reference.h"

#include <math.h>
#include <stdlib.h>

#include "harness/kernels/body_random.h"

/* One row of scores of one head, and where its operands stand. */
struct score_row {
    const struct operation_call *call;
    const double *q, *k, *v, *mask;    /* of the row and the head; mask NULL: none */
    int64_t rows, columns, row, index; /* index: the row among all heads' rows */
    int64_t width, value_width;
    double *probability, *keep; /* [columns] */
    double lse;
};

static double score(const struct score_row *r, int64_t column)
{
    double sum = 0.0;
    for (int64_t d = 0; d < r->width; d++) {
        sum += r->q[d] * r->k[column * r->width + d];
    }
    sum = sum * r->call->attributes.f[0] + (r->mask != NULL ? r->mask[column] : 0.0);
    bool hidden = r->call->attributes.i[0] == 1 && column > r->row + (r->columns - r->rows);
    return hidden ? -INFINITY : sum;
}

static double row_lse(const struct score_row *r)
{
    double maximum = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < r->columns; j++) {
        maximum = fmax(maximum, score(r, j));
    }
    for (int64_t j = 0; j < r->columns && maximum != -INFINITY; j++) {
        sum += exp(score(r, j) - maximum);
    }
    return sum > 0.0 ? maximum + log(sum) : INFINITY;
}

/* lse: of the row, +infinity if none of its scores is finite. */
static void score_row_fill(struct score_row *r, double lse)
{
    double drop = r->call->attributes.f[1];
    struct random_key key = random_key_of(r->call->attributes.i[1]);
    for (int64_t j = 0; j < r->columns; j++) {
        uint64_t counter = (uint64_t)(r->index * r->columns + j);
        bool kept = (double)(random_bits(key, counter) >> 8) * 0x1p-24 >= (double)(float)drop;
        r->probability[j] = exp(score(r, j) - lse);
        r->keep[j] = kept ? 1.0 / (1.0 - drop) : 0.0;
    }
    r->lse = lse;
}

/* The row of a backward, whose lse is given, which is to say rounded. */
static void score_row_recall(struct score_row *r, double *const *values)
{
    int64_t length = r->call->tensors[5].size[2];
    score_row_fill(r, values[5][r->index / r->rows * length + r->row]);
}

struct positions {
    int64_t q, k, mask; /* first elements of the row of q, the head of k, the row of the mask */
    int64_t out, v;     /* of the row of the output, the head of v */
};

/* Fills *r for row `index` of all rows of all heads; buffers are there already. */
static struct positions score_row_at(struct score_row *r, const struct operation_call *call, double *const *values,
                                     int64_t index)
{
    bool in_parts = call->opcode == OPCODE_ATTENTION_IN_PARTS, forward = in_parts || call->opcode == OPCODE_ATTENTION;
    int first = forward ? 0 : 1, base = forward ? 3 : 6;
    const struct tensor *q = &call->tensors[first], *k = &call->tensors[first + 1];
    r->call = call;
    r->rows = q->size[2];
    r->columns = k->size[2];
    r->width = q->size[3];
    r->value_width = call->tensors[first + 2].size[3];
    r->row = index % r->rows;
    r->index = index;
    int64_t head = index / r->rows % q->size[1], batch = index / r->rows / q->size[1];
    int64_t group = head / (q->size[1] / k->size[1]);
    int64_t columns_before = (batch * k->size[1] + group) * r->columns;
    struct positions at = {.q = index * r->width, .k = columns_before * r->width};
    at.out = index * r->value_width;
    at.v = columns_before * r->value_width;
    r->q = values[first] + at.q;
    r->k = values[first + 1] + at.k;
    r->v = values[first + 2] + at.v;
    r->mask = NULL;
    if (call->input_count > base && !in_parts) {
        const struct tensor *mask = &call->tensors[base];
        int64_t mask_head = mask->size[1] == 1 ? 0 : head;
        at.mask = ((batch * mask->size[1] + mask_head) * r->rows + r->row) * r->columns;
        r->mask = values[base] + at.mask;
    }
    return at;
}

void reference_attention(const struct operation_call *call, double *const *values)
{
    int out = call->input_count;
    const struct tensor *q = &call->tensors[0];
    int64_t lse_length = call->tensors[out + 1].size[2];
    struct score_row r;
    size_t columns = (size_t)call->tensors[1].size[2] + 1;
    r.probability = malloc(columns * sizeof(double));
    r.keep = malloc(columns * sizeof(double));
    for (int64_t k = 0; k < tensor_element_count(&call->tensors[out + 1]); k++) {
        values[out + 1][k] = INFINITY;
    }
    for (int64_t index = 0; index < q->size[0] * q->size[1] * q->size[2]; index++) {
        struct positions at = score_row_at(&r, call, values, index);
        score_row_fill(&r, row_lse(&r));
        if (lse_length > 0) {
            values[out + 1][index / r.rows * lse_length + r.row] = r.lse;
        }
        for (int64_t d = 0; d < r.value_width; d++) {
            double sum = 0.0;
            for (int64_t j = 0; j < r.columns; j++) {
                sum += r.probability[j] * r.keep[j] * r.v[j * r.value_width + d];
            }
            values[out][at.out + d] = sum;
        }
    }
    free(r.probability);
    free(r.keep);
}

/* What softmax takes from each slope of a row: grad out times out, as out was given, which is to say rounded. */
static double row_delta(const struct score_row *r, const double *grad, const double *result)
{
    double delta = 0.0;
    for (int64_t d = 0; d < r->value_width; d++) {
        delta += grad[d] * result[d];
    }
    return delta;
}

/* Adds what one row gives to grad q, grad k, grad v. */
static void row_backward(const struct score_row *r, const double *grad, double delta, double *grad_q, double *grad_k,
                         double *grad_v)
{
    for (int64_t j = 0; j < r->columns; j++) {
        double product = 0.0;
        for (int64_t d = 0; d < r->value_width; d++) {
            product += grad[d] * r->v[j * r->value_width + d];
            grad_v[j * r->value_width + d] += r->probability[j] * r->keep[j] * grad[d];
        }
        double slope = r->probability[j] * (product * r->keep[j] - delta) * r->call->attributes.f[0];
        for (int64_t d = 0; d < r->width; d++) {
            grad_q[d] += slope * r->k[j * r->width + d];
            grad_k[j * r->width + d] += slope * r->q[d];
        }
    }
}

void reference_attention_backward(const struct operation_call *call, double *const *values)
{
    int out = call->input_count;
    const struct tensor *q = &call->tensors[1];
    struct score_row r;
    size_t columns = (size_t)call->tensors[2].size[2] + 1;
    r.probability = malloc(columns * sizeof(double));
    r.keep = malloc(columns * sizeof(double));
    for (int t = out; t < out + 3; t++) {
        for (int64_t k = 0; k < tensor_element_count(&call->tensors[t]); k++) {
            values[t][k] = 0.0;
        }
    }
    for (int64_t index = 0; index < q->size[0] * q->size[1] * q->size[2]; index++) {
        struct positions at = score_row_at(&r, call, values, index);
        score_row_recall(&r, values);
        row_backward(&r, values[0] + at.out, row_delta(&r, values[0] + at.out, values[4] + at.out), values[out] + at.q,
                     values[out + 1] + at.k, values[out + 2] + at.v);
    }
    free(r.probability);
    free(r.keep);
}

/* What one row gives to the gradients of its scores' biases. */
static void row_bias_gradient(const struct score_row *r, const double *grad, double delta, double *out)
{
    for (int64_t j = 0; j < r->columns; j++) {
        double product = 0.0;
        for (int64_t d = 0; d < r->value_width; d++) {
            product += grad[d] * r->keep[j] * r->v[j * r->value_width + d];
        }
        out[j] = r->probability[j] * (product - delta);
    }
}

void reference_attention_bias_gradient(const struct operation_call *call, double *const *values)
{
    const struct tensor *q = &call->tensors[1];
    struct score_row r;
    size_t columns = (size_t)call->tensors[2].size[2] + 1;
    r.probability = malloc(columns * sizeof(double));
    r.keep = malloc(columns * sizeof(double));
    for (int64_t index = 0; index < q->size[0] * q->size[1] * q->size[2]; index++) {
        struct positions at = score_row_at(&r, call, values, index);
        score_row_recall(&r, values);
        row_bias_gradient(&r, values[0] + at.out, row_delta(&r, values[0] + at.out, values[4] + at.out),
                          values[call->input_count] + index * r.columns);
    }
    free(r.probability);
    free(r.keep);
}

/* ---- how far a kernel with 16-bit factors may be off ----
 *
 * To first order. u is the unit roundoff of the dtype, 2^-11 for float16 and 2^-8 for bfloat16; h = 2^-25 is half the
 * step of float16's subnormal numbers, which a weight below 2^-14 is rounded to; e = 2^-22 stands for one float32
 * operation, four units, because tensor cores are not documented to round their sums to nearest.
 *
 *   score        |dx| <= e (D + 4) scale sum_d |q_d k_d| + e (|x| + |lse|)
 *   probability  |dp| <= p r,  r = |dx| + e (T + 8): the sum it is divided by has T terms
 *   out          sum_j ((u + r + e T) p_j + h) z_j |v_j|
 *   delta        |dd| <= e D sum_d |g_d out_d|
 *   slope        |ds| <= (u + r) |s| + h + p (e D z sum_d |g_d v_d| + |dd|)
 *   grad v       sum_i ((u + r + e N) p_i + h) z_i |g_i|, N rows of all the heads that read v
 *   grad q       scale sum_j (|ds| + e T |s|) |k_j|, and grad k likewise with N and q
 *
 * Worked: 64 columns of equal weight, |v| = 1.5, float16: out is off by at most (2^-11 + 64 * 2^-25) * 1.5 = 7.4e-4 and
 * what e adds. */
static double absolute_product(const double *a, const double *b, int64_t count)
{
    double sum = 0.0;
    for (int64_t d = 0; d < count; d++) {
        sum += fabs(a[d] * b[d]);
    }
    return sum;
}

static const double operation_error = 0x1p-22, subnormal_error = 0x1p-25;

/* The relative error of a probability. */
static double probability_error(const struct score_row *r, int64_t j)
{
    double scale = fabs(r->call->attributes.f[0]);
    double x = score(r, j);
    double products = (double)(r->width + 4) * scale * absolute_product(r->q, r->k + j * r->width, r->width);
    double lse = isfinite(r->lse) ? fabs(r->lse) : 0.0;
    return operation_error * (products + (isfinite(x) ? fabs(x) : 0.0) + lse + (double)(r->columns + 8));
}

static void row_bound(const struct score_row *r, double u, double *out, double *lse)
{
    double sums = operation_error * (double)r->columns;
    *lse = 0.0;
    for (int64_t j = 0; j < r->columns; j++) {
        double error = probability_error(r, j), p = r->probability[j];
        *lse = p > 0.0 && error > *lse ? error : *lse;
        for (int64_t d = 0; d < r->value_width; d++) {
            out[d] += ((u + error + sums) * p + subnormal_error) * r->keep[j] * fabs(r->v[j * r->value_width + d]);
        }
    }
}

static void row_backward_bound(const struct score_row *r, double u, const double *grad, const double *result,
                               double *grad_q, double *grad_k, double *grad_v)
{
    double scale = fabs(r->call->attributes.f[0]), delta = row_delta(r, grad, result);
    double row_sums = operation_error * (double)r->columns;
    double column_sums = operation_error * (double)(r->rows * r->call->tensors[1].size[1]);
    double delta_error = operation_error * (double)r->value_width * absolute_product(grad, result, r->value_width);
    for (int64_t j = 0; j < r->columns; j++) {
        const double *k = r->k + j * r->width, *v = r->v + j * r->value_width;
        double p = r->probability[j], z = r->keep[j], error = probability_error(r, j), product = 0.0;
        for (int64_t d = 0; d < r->value_width; d++) {
            product += grad[d] * v[d];
        }
        double slope = fabs(p * (product * z - delta));
        double slope_error =
            (u + error) * slope + (p > 0.0 ? subnormal_error : 0.0) +
            p * (operation_error * (double)r->value_width * z * absolute_product(grad, v, r->value_width) +
                 delta_error);
        for (int64_t d = 0; d < r->width; d++) {
            grad_q[d] += scale * (slope_error + row_sums * slope) * fabs(k[d]);
            grad_k[j * r->width + d] += scale * (slope_error + column_sums * slope) * fabs(r->q[d]);
        }
        for (int64_t d = 0; d < r->value_width; d++) {
            grad_v[j * r->value_width + d] += ((u + error + column_sums) * p + subnormal_error) * z * fabs(grad[d]);
        }
    }
}

void reference_attention_bound(const struct operation_call *call, double *const *values, double *const *bounds)
{
    bool backward = call->opcode == OPCODE_ATTENTION_BACKWARD;
    int out = call->input_count;
    const struct tensor *q = &call->tensors[backward ? 1 : 0], *k = &call->tensors[backward ? 2 : 1];
    int64_t lse_length = call->tensors[backward ? 5 : out + 1].size[2];
    double u = q->dtype == DTYPE_FLOAT16 ? 0x1p-11 : q->dtype == DTYPE_BFLOAT16 ? 0x1p-8 : 0x1p-24;
    struct score_row r;
    r.probability = malloc(((size_t)k->size[2] + 1) * sizeof(double));
    r.keep = malloc(((size_t)k->size[2] + 1) * sizeof(double));
    for (int t = out; t < call->tensor_count; t++) {
        for (int64_t n = 0; n < tensor_element_count(&call->tensors[t]); n++) {
            bounds[t][n] = 0.0;
        }
    }
    for (int64_t index = 0; index < q->size[0] * q->size[1] * q->size[2]; index++) {
        struct positions at = score_row_at(&r, call, values, index);
        if (backward) {
            score_row_recall(&r, values);
            row_backward_bound(&r, u, values[0] + at.out, values[4] + at.out, bounds[out] + at.q,
                               bounds[out + 1] + at.k, bounds[out + 2] + at.v);
        } else {
            score_row_fill(&r, row_lse(&r));
            double unused;
            double *lse = lse_length > 0 ? &bounds[out + 1][index / r.rows * lse_length + r.row] : &unused;
            row_bound(&r, u, bounds[out] + at.out, lse);
        }
    }
    free(r.probability);
    free(r.keep);
}
