/* Sums over any dimensions of a strided tensor on the host.
 *
 * Where neighbours in memory are kept, a strip of columns runs down all that is summed; where neighbours are summed,
 * each output has its own run. A sum with few outputs is cut into a fixed number of blocks, so that all threads have
 * work and the order of additions does not depend on how many there are. */
#include <stdlib.h>

#include "harness/kernels/body_sum.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"
#include "harness/kernels/host_walk.h"

enum { SUM_STRIP = 128, SUM_STRIP_ROWS = 64, SUM_BLOCKS = 64 };

struct sum_job {
    const struct tensor *a, *out;
    struct sum_plan plan;
    double factor;
};

HOST_CLONES
static void strip_add(float *sums, const float *row, int64_t count)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        sums[k] += row[k];
    }
}

/* Sums of a few rows are kept apart before they join the total, so that rounding errors do not pile up. */
static void strip_join(float *total, float *sums)
{
    for (int k = 0; k < SUM_STRIP; k++) {
        total[k] += sums[k];
        sums[k] = 0.0f;
    }
}

/* `count` neighbouring outputs whose inputs begin at offsets[0] in a; they go to offsets[1] in out. */
static void strip_run(const struct sum_job *job, const int64_t offsets[2], int64_t count)
{
    const struct walk *summed = &job->plan.summed;
    float total[SUM_STRIP] = {0}, sums[SUM_STRIP] = {0}, scratch[SUM_STRIP];
    int64_t rows = 0;
    for (int64_t line = 0; line < summed->line_count; line++) {
        int64_t at[WALK_TENSORS];
        walk_line(summed, line, at);
        for (int64_t k = 0; k < summed->line_length; k++) {
            int64_t first = offsets[0] + at[0] + k * walk_step(summed, 0);
            strip_add(sums, span_read(job->a, first, 1, count, scratch).data, count);
            if (++rows % SUM_STRIP_ROWS == 0) {
                strip_join(total, sums);
            }
        }
    }
    strip_join(total, sums);
    for (int64_t k = 0; k < count; k++) {
        total[k] = (float)(job->factor * (double)total[k]);
    }
    int64_t step = walk_step(&job->plan.kept, 1);
    span_store(total, tensor_at(job->out, offsets[1]), job->out->dtype, step, count);
}

static void sum_columns(const struct sum_job *job)
{
    const struct walk *kept = &job->plan.kept;
    int64_t strips = (kept->line_length + SUM_STRIP - 1) / SUM_STRIP;
    HOST_PARALLEL_FOR(tensor_element_count(job->a) >= PARALLEL_ELEMENTS)
    for (int64_t item = 0; item < kept->line_count * strips; item++) {
        int64_t offsets[WALK_TENSORS];
        walk_line(kept, item / strips, offsets);
        int64_t first = item % strips * SUM_STRIP;
        offsets[0] += first; /* neighbours in a */
        offsets[1] += first * walk_step(kept, 1);
        strip_run(job, offsets, kept->line_length - first < SUM_STRIP ? kept->line_length - first : SUM_STRIP);
    }
}

HOST_CLONES
static float run_sum(const float *values, int64_t count)
{
    float sum = 0.0f;
    BODY_SIMD(reduction(+ : sum))
    for (int64_t k = 0; k < count; k++) {
        sum += values[k];
    }
    return sum;
}

/* Part `block` of `blocks` of the sum that belongs to one output. */
static double block_sum(const struct sum_job *job, int64_t offset, int64_t block, int64_t blocks)
{
    const struct walk *summed = &job->plan.summed;
    float scratch[SPAN_ELEMENTS];
    int64_t cuts = (summed->line_length + SPAN_ELEMENTS - 1) / SPAN_ELEMENTS;
    int64_t pieces = cuts * summed->line_count;
    double sum = 0.0;
    for (int64_t piece = pieces * block / blocks; piece < pieces * (block + 1) / blocks; piece++) {
        int64_t at[WALK_TENSORS];
        walk_line(summed, piece / cuts, at);
        int64_t first = piece % cuts * SPAN_ELEMENTS;
        int64_t rest = summed->line_length - first;
        int64_t count = rest < SPAN_ELEMENTS ? rest : SPAN_ELEMENTS;
        int64_t step = walk_step(summed, 0);
        sum += (double)run_sum(span_read(job->a, offset + at[0] + first * step, step, count, scratch).data, count);
    }
    return sum;
}

static void output_offsets(const struct walk *kept, int64_t output, int64_t offsets[WALK_TENSORS])
{
    int64_t along = output % kept->line_length;
    walk_line(kept, output / kept->line_length, offsets);
    offsets[0] += along * walk_step(kept, 0);
    offsets[1] += along * walk_step(kept, 1);
}

static void output_write(const struct sum_job *job, int64_t offset, double sum)
{
    float_store(job->out->data, job->out->dtype, offset, (float)(job->factor * sum));
}

/* Many outputs: each is summed by one thread. */
static void sum_rows(const struct sum_job *job, int64_t outputs)
{
    HOST_PARALLEL_FOR(tensor_element_count(job->a) >= PARALLEL_ELEMENTS)
    for (int64_t output = 0; output < outputs; output++) {
        int64_t offsets[WALK_TENSORS];
        output_offsets(&job->plan.kept, output, offsets);
        output_write(job, offsets[1], block_sum(job, offsets[0], 0, 1));
    }
}

/* Few outputs: each is summed in SUM_BLOCKS parts. */
static void sum_blocks(const struct sum_job *job, int64_t outputs)
{
    double parts[SUM_BLOCKS][SUM_BLOCKS];
    HOST_PARALLEL_FOR(tensor_element_count(job->a) >= PARALLEL_ELEMENTS)
    for (int64_t item = 0; item < outputs * SUM_BLOCKS; item++) {
        int64_t offsets[WALK_TENSORS];
        output_offsets(&job->plan.kept, item / SUM_BLOCKS, offsets);
        parts[item / SUM_BLOCKS][item % SUM_BLOCKS] = block_sum(job, offsets[0], item % SUM_BLOCKS, SUM_BLOCKS);
    }
    for (int64_t output = 0; output < outputs; output++) {
        int64_t offsets[WALK_TENSORS];
        output_offsets(&job->plan.kept, output, offsets);
        double sum = 0.0;
        for (int block = 0; block < SUM_BLOCKS; block++) {
            sum += parts[output][block];
        }
        output_write(job, offsets[1], sum);
    }
}

const char *host_sum(const struct operation_call *call)
{
    struct sum_job job = {&call->tensors[0], &call->tensors[1], sum_plan_of(call), call->attributes.f[0]};
    int64_t outputs = job.plan.kept.line_count * job.plan.kept.line_length;
    if (outputs == 0) {
        return NULL;
    }
    if (sum_plan_is_columns(&job.plan)) {
        sum_columns(&job);
    } else if (outputs < SUM_BLOCKS && tensor_element_count(job.a) >= PARALLEL_ELEMENTS) {
        sum_blocks(&job, outputs);
    } else {
        sum_rows(&job, outputs);
    }
    return NULL;
}
