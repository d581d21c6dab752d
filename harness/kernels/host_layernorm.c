/* Layer normalisation on the host. Forward and the gradient of the input go row by row; the gradients of weight and
 * bias are sums down the columns: each thread takes a strip of columns through all rows, so that no order depends on
 * the number of threads. */
#include "harness/kernels/body_layernorm.h"
#include "harness/kernels/body_rows.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

#include <stdlib.h>

static const char no_memory[] = "the host has no memory for the rows in float32";

struct layernorm_job {
    const struct tensor *tensors;
    struct rows rows;
    struct span weight, bias; /* as float32, once for all rows */
    float *converted;         /* owns what weight and bias may point at */
    struct host_scratch scratch;
    float epsilon;
};

static bool layernorm_open(struct layernorm_job *job, const struct operation_call *call, int rows_tensor, int weight,
                           int bias)
{
    job->tensors = call->tensors;
    job->rows = rows_of(&call->tensors[rows_tensor]);
    job->epsilon = (float)call->attributes.f[0];
    int64_t columns = job->rows.columns;
    job->converted = malloc((size_t)(2 * columns + 1) * sizeof(float));
    if (job->converted == NULL) {
        return false;
    }
    if (!host_scratch_open(&job->scratch, 3 * columns)) {
        free(job->converted);
        return false;
    }
    job->weight = span_read(&call->tensors[weight], 0, 1, columns, job->converted);
    job->bias = span_read(&call->tensors[bias], 0, 1, columns, job->converted + columns);
    return true;
}

static void layernorm_close(struct layernorm_job *job)
{
    host_scratch_close(&job->scratch);
    free(job->converted);
}

HOST_CLONES
static struct row_moments layernorm_loop(struct span a, struct span weight, struct span bias, struct span out,
                                         int64_t columns, float epsilon)
{
    return layernorm_row(team_of_one, a, weight, bias, out, columns, epsilon);
}

const char *host_layernorm(const struct operation_call *call)
{
    struct layernorm_job job;
    if (!layernorm_open(&job, call, 0, 1, 2)) {
        return no_memory;
    }
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[3];
    float *means = call->tensors[4].data;
    float *reciprocals = call->tensors[5].data;
    int64_t columns = job.rows.columns;
    HOST_PARALLEL_FOR(job.rows.count * columns >= PARALLEL_ELEMENTS)
    for (int64_t row = 0; row < job.rows.count; row++) {
        float *part = host_scratch_part(&job.scratch);
        struct span from = span_read(a, row * columns, 1, columns, part);
        struct span to = span_target(out, row * columns, 1, part + columns);
        struct row_moments moments = layernorm_loop(from, job.weight, job.bias, to, columns, job.epsilon);
        span_write(to, out, row * columns, 1, columns);
        means[row] = moments.mean;
        reciprocals[row] = moments.reciprocal_deviation;
    }
    layernorm_close(&job);
    return NULL;
}

HOST_CLONES
static void layernorm_backward_loop(struct span grad, struct span a, struct row_moments moments, struct span weight,
                                    struct span out, int64_t columns)
{
    layernorm_backward_row(team_of_one, grad, a, moments, weight, out, columns);
}

static void layernorm_grad_input(const struct layernorm_job *job)
{
    const struct tensor *grad = &job->tensors[0], *a = &job->tensors[1], *out = &job->tensors[5];
    const float *means = job->tensors[2].data;
    const float *reciprocals = job->tensors[3].data;
    int64_t columns = job->rows.columns;
    HOST_PARALLEL_FOR(job->rows.count * columns >= PARALLEL_ELEMENTS)
    for (int64_t row = 0; row < job->rows.count; row++) {
        float *part = host_scratch_part(&job->scratch);
        int64_t at = row * columns;
        struct span from = span_read(grad, at, 1, columns, part);
        struct span input = span_read(a, at, 1, columns, part + columns);
        struct span to = span_target(out, at, 1, part + 2 * columns);
        struct row_moments moments = {means[row], reciprocals[row]};
        layernorm_backward_loop(from, input, moments, job->weight, to, columns);
        span_write(to, out, at, 1, columns);
    }
}

/* A strip of columns: sums of a few rows are kept apart before they join the total, so that the error grows with the
 * root of the rows and not with the rows. */
enum { STRIP_COLUMNS = 128, STRIP_ROWS = 64 };

struct strip {
    float weight[STRIP_COLUMNS], bias[STRIP_COLUMNS];
};

HOST_CLONES
static void strip_add_row(struct strip *sums, struct span grad, struct span a, struct row_moments moments,
                          int64_t count)
{
    float *weight = sums->weight;
    float *bias = sums->bias;
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        float g = grad.data[k];
        weight[k] += g * ((a.data[k] - moments.mean) * moments.reciprocal_deviation);
        bias[k] += g;
    }
}

static void strip_join(struct strip *total, struct strip *sums)
{
    for (int k = 0; k < STRIP_COLUMNS; k++) {
        total->weight[k] += sums->weight[k];
        total->bias[k] += sums->bias[k];
        sums->weight[k] = 0.0f;
        sums->bias[k] = 0.0f;
    }
}

static void strip_run(const struct layernorm_job *job, int64_t first, int64_t count)
{
    const struct tensor *grad = &job->tensors[0], *a = &job->tensors[1];
    const float *means = job->tensors[2].data;
    const float *reciprocals = job->tensors[3].data;
    float scratch[2][STRIP_COLUMNS];
    struct strip total = {{0}, {0}};
    struct strip sums = {{0}, {0}};
    for (int64_t row = 0; row < job->rows.count; row++) {
        int64_t at = row * job->rows.columns + first;
        struct span from = span_read(grad, at, 1, count, scratch[0]);
        struct span input = span_read(a, at, 1, count, scratch[1]);
        strip_add_row(&sums, from, input, (struct row_moments){means[row], reciprocals[row]}, count);
        if ((row + 1) % STRIP_ROWS == 0) {
            strip_join(&total, &sums);
        }
    }
    strip_join(&total, &sums);
    const struct tensor *out_weight = &job->tensors[6], *out_bias = &job->tensors[7];
    span_store(total.weight, tensor_at(out_weight, first), out_weight->dtype, 1, count);
    span_store(total.bias, tensor_at(out_bias, first), out_bias->dtype, 1, count);
}

const char *host_layernorm_backward(const struct operation_call *call)
{
    struct layernorm_job job;
    if (!layernorm_open(&job, call, 1, 4, 4)) {
        return no_memory;
    }
    layernorm_grad_input(&job);
    int64_t columns = job.rows.columns;
    int64_t strips = (columns + STRIP_COLUMNS - 1) / STRIP_COLUMNS;
    HOST_PARALLEL_FOR(job.rows.count * columns >= PARALLEL_ELEMENTS)
    for (int64_t strip = 0; strip < strips; strip++) {
        int64_t first = strip * STRIP_COLUMNS;
        strip_run(&job, first, columns - first < STRIP_COLUMNS ? columns - first : STRIP_COLUMNS);
    }
    layernorm_close(&job);
    return NULL;
}
