/* Layer normalisation on the host, row by row. The sums down the columns that the backward needs are made in the same
 * pass, block by block of the rows, so that no order depends on the number of threads. */
#include "harness/kernels/body_layernorm.h"
#include "harness/kernels/body_rows.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

#include <stdlib.h>
#include <string.h>

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
    if (!host_scratch_open(&job->scratch, 5 * columns)) {
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
    return layernorm_row(team_of_one, row_of(a, columns), row_of(weight, columns), row_of(bias, columns),
                         row_of(out, columns), columns, epsilon);
}

const char *host_layernorm(const struct operation_call *call)
{
    struct layernorm_job job;
    if (!layernorm_open(&job, call, 0, 1, 2)) {
        return host_no_memory;
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
    layernorm_backward_row(team_of_one, row_of(grad, columns), row_of(a, columns), moments, row_of(weight, columns),
                           row_of(out, columns), columns);
}

/* The gradients of weight and bias are sums down the columns. Rows are cut into blocks whose number depends on their
 * count alone; within a block the sums of a few rows are kept apart before they join its total, so that the error grows
 * with the root of the rows and not with the rows. */
enum { BLOCKS_MAXIMUM = 64, JOINED_ROWS = 64 };

/* float [columns] each, of one block or of a few rows; NULL if they are not wanted. */
struct column_sums {
    float *weight, *bias;
};

HOST_CLONES
static void sums_add_row(struct column_sums sums, struct span grad, struct span a, struct row_moments moments,
                         int64_t columns)
{
    float *weight = sums.weight;
    float *bias = sums.bias;
    BODY_SIMD()
    for (int64_t k = 0; k < columns; k++) {
        float g = grad.data[k];
        weight[k] += g * ((a.data[k] - moments.mean) * moments.reciprocal_deviation);
        bias[k] += g;
    }
}

/* total += sums; sums = 0. */
HOST_CLONES
static void sums_join(float *total, float *sums, int64_t count)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        total[k] += sums[k];
        sums[k] = 0.0f;
    }
}

static void layernorm_backward_row_run(const struct layernorm_job *job, int64_t row, float *part,
                                       struct column_sums sums)
{
    const struct tensor *out = &job->tensors[5];
    int64_t columns = job->rows.columns;
    int64_t at = row * columns;
    struct span grad = span_read(&job->tensors[0], at, 1, columns, part);
    struct span a = span_read(&job->tensors[1], at, 1, columns, part + columns);
    struct span to = span_target(out, at, 1, part + 2 * columns);
    struct row_moments moments = {((const float *)job->tensors[2].data)[row],
                                  ((const float *)job->tensors[3].data)[row]};
    if (sums.weight != NULL) {
        sums_add_row(sums, grad, a, moments, columns);
    }
    layernorm_backward_loop(grad, a, moments, job->weight, to, columns);
    span_write(to, out, at, 1, columns);
}

/* Rows [first, end): writes the gradient of a, and the sums of the block to total[2 * columns]: first those of the
 * weight's gradient, then those of the bias's. */
static void block_run(const struct layernorm_job *job, int64_t first, int64_t end, float *total)
{
    int64_t columns = job->rows.columns;
    float *part = host_scratch_part(&job->scratch);
    struct column_sums sums = {part + 3 * columns, part + 4 * columns};
    memset(total, 0, (size_t)(2 * columns) * sizeof *total);
    memset(sums.weight, 0, (size_t)(2 * columns) * sizeof *total);
    for (int64_t row = first; row < end; row++) {
        layernorm_backward_row_run(job, row, part, sums);
        if ((row + 1 - first) % JOINED_ROWS == 0 || row + 1 == end) {
            sums_join(total, sums.weight, 2 * columns);
        }
    }
}

const char *host_layernorm_backward(const struct operation_call *call)
{
    struct layernorm_job job;
    if (!layernorm_open(&job, call, 1, 4, 4)) {
        return host_no_memory;
    }
    int64_t columns = job.rows.columns, rows = job.rows.count;
    int64_t block_rows = ((rows + BLOCKS_MAXIMUM - 1) / BLOCKS_MAXIMUM + JOINED_ROWS - 1) / JOINED_ROWS * JOINED_ROWS;
    int64_t blocks = rows > 0 ? (rows + block_rows - 1) / block_rows : 1; /* no rows: one block of zeros */
    float *totals = malloc((size_t)(blocks * 2 * columns + 1) * sizeof *totals);
    if (totals == NULL) {
        layernorm_close(&job);
        return host_no_memory;
    }
    HOST_PARALLEL_FOR(rows * columns >= PARALLEL_ELEMENTS)
    for (int64_t block = 0; block < blocks; block++) {
        int64_t first = block * block_rows;
        block_run(&job, first, first + block_rows < rows ? first + block_rows : rows, totals + block * 2 * columns);
    }
    for (int64_t block = 1; block < blocks; block++) {
        sums_join(totals, totals + block * 2 * columns, 2 * columns);
    }
    span_store(totals, call->tensors[6].data, call->tensors[6].dtype, 1, columns);
    span_store(totals + columns, call->tensors[7].data, call->tensors[7].dtype, 1, columns);
    free(totals);
    layernorm_close(&job);
    return NULL;
}

const char *host_layernorm_backward_input(const struct operation_call *call)
{
    struct layernorm_job job;
    if (!layernorm_open(&job, call, 1, 4, 4)) {
        return host_no_memory;
    }
    HOST_PARALLEL_FOR(job.rows.count * job.rows.columns >= PARALLEL_ELEMENTS)
    for (int64_t row = 0; row < job.rows.count; row++) {
        layernorm_backward_row_run(&job, row, host_scratch_part(&job.scratch), (struct column_sums){NULL, NULL});
    }
    layernorm_close(&job);
    return NULL;
}
