/* Sums over any dimensions of a strided tensor on the host.
 *
 * If neighbours in memory are kept, a strip of columns runs down what is summed; if neighbours are summed, each
 * output has its own run. A sum with few outputs is cut into blocks whose number depends on the shape alone, so that
 * all threads have work and the order of additions does not depend on how many there are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/kernels/body_sum.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"
#include "harness/kernels/host_walk.h"

enum { SUM_STRIP = 1024, SUM_STRIP_ROWS = 64, SUM_BLOCKS = 64 };

struct sum_job {
    const struct tensor *a, *out;
    struct sum_plan plan;
    double factor;
    bool is_norm; /* squares are summed, and the root is taken */
};

HOST_CLONES
static void strip_add(float *sums, const float *row, int64_t count)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        sums[k] += row[k];
    }
}

HOST_CLONES
static void strip_add_squares(float *sums, const float *row, int64_t count)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        sums[k] += row[k] * row[k];
    }
}

/* Sums of a few rows are kept apart before they join the total, so that rounding errors do not pile up. */
HOST_CLONES
static void strip_join(float *total, float *sums, int64_t count)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        total[k] += sums[k];
        sums[k] = 0.0f;
    }
}

/* Strips of neighbouring outputs, and the rows that belong to each cut into blocks if there are few strips. */
struct strip_grid {
    int64_t strips; /* of one line of outputs */
    int64_t rows;   /* that are summed */
    int64_t blocks, block_rows;
    int64_t item_count; /* strips of all lines, times blocks */
};

static struct strip_grid strip_grid_of(const struct sum_plan *plan)
{
    struct strip_grid grid;
    grid.strips = (plan->kept.line_length + SUM_STRIP - 1) / SUM_STRIP;
    grid.rows = plan->summed.line_count * plan->summed.line_length;
    int64_t wanted = SUM_BLOCKS / (plan->kept.line_count * grid.strips);
    int64_t least = wanted > 1 ? (grid.rows + wanted - 1) / wanted : grid.rows;
    grid.block_rows = (least + SUM_STRIP_ROWS - 1) / SUM_STRIP_ROWS * SUM_STRIP_ROWS;
    grid.blocks = grid.rows > 0 ? (grid.rows + grid.block_rows - 1) / grid.block_rows : 1;
    grid.item_count = plan->kept.line_count * grid.strips * grid.blocks;
    return grid;
}

/* A strip: `count` neighbouring outputs whose inputs begin at offsets[0] in a; they go to offsets[1] in out. */
struct strip {
    int64_t offsets[WALK_TENSORS];
    int64_t count;
};

static struct strip strip_at(const struct sum_plan *plan, const struct strip_grid *grid, int64_t index)
{
    const struct walk *kept = &plan->kept;
    struct strip strip;
    walk_line(kept, index / grid->strips, strip.offsets);
    int64_t first = index % grid->strips * SUM_STRIP;
    strip.offsets[0] += first; /* neighbours in a */
    strip.offsets[1] += first * walk_step(kept, 1);
    strip.count = kept->line_length - first < SUM_STRIP ? kept->line_length - first : SUM_STRIP;
    return strip;
}

/* total[0 .. SUM_STRIP): rows [row, end) of a strip. */
static void strip_block_run(const struct sum_job *job, const struct strip *strip, int64_t row, int64_t end,
                            float *total)
{
    const struct walk *summed = &job->plan.summed;
    float sums[SUM_STRIP] = {0}, scratch[SUM_STRIP];
    memset(total, 0, SUM_STRIP * sizeof *total);
    for (int64_t first = row; row < end; row++) {
        int64_t at[WALK_TENSORS];
        walk_line(summed, row / summed->line_length, at);
        int64_t index = strip->offsets[0] + at[0] + row % summed->line_length * walk_step(summed, 0);
        const float *values = span_read(job->a, index, 1, strip->count, scratch).data;
        if (job->is_norm) {
            strip_add_squares(sums, values, strip->count);
        } else {
            strip_add(sums, values, strip->count);
        }
        if ((row + 1 - first) % SUM_STRIP_ROWS == 0 || row + 1 == end) {
            strip_join(total, sums, strip->count);
        }
    }
}

static void strip_write(const struct sum_job *job, const struct strip *strip, float *total)
{
    for (int64_t k = 0; k < strip->count; k++) {
        total[k] = (float)(job->factor * (job->is_norm ? sqrt((double)total[k]) : (double)total[k]));
    }
    span_store(total, tensor_at(job->out, strip->offsets[1]), job->out->dtype, walk_step(&job->plan.kept, 1),
               strip->count);
}

/* Enough strips for all threads: each is summed by one. */
static void sum_strips(const struct sum_job *job, const struct strip_grid *grid)
{
    HOST_PARALLEL_FOR(tensor_element_count(job->a) >= PARALLEL_ELEMENTS)
    for (int64_t index = 0; index < grid->item_count; index++) {
        float total[SUM_STRIP];
        struct strip strip = strip_at(&job->plan, grid, index);
        strip_block_run(job, &strip, 0, grid->rows, total);
        strip_write(job, &strip, total);
    }
}

/* Few strips: the rows of each are summed in blocks, at most SUM_BLOCKS over all strips. */
static const char *sum_strip_blocks(const struct sum_job *job, const struct strip_grid *grid)
{
    float *totals = malloc((size_t)(grid->item_count * SUM_STRIP) * sizeof *totals);
    if (totals == NULL) {
        return host_no_memory;
    }
    HOST_PARALLEL_FOR(tensor_element_count(job->a) >= PARALLEL_ELEMENTS)
    for (int64_t item = 0; item < grid->item_count; item++) {
        struct strip strip = strip_at(&job->plan, grid, item / grid->blocks);
        int64_t row = item % grid->blocks * grid->block_rows;
        int64_t end = row + grid->block_rows < grid->rows ? row + grid->block_rows : grid->rows;
        strip_block_run(job, &strip, row, end, totals + item * SUM_STRIP);
    }
    for (int64_t index = 0; index < grid->item_count / grid->blocks; index++) {
        struct strip strip = strip_at(&job->plan, grid, index);
        float *total = totals + index * grid->blocks * SUM_STRIP;
        for (int64_t block = 1; block < grid->blocks; block++) {
            strip_join(total, total + block * SUM_STRIP, strip.count);
        }
        strip_write(job, &strip, total);
    }
    free(totals);
    return NULL;
}

static const char *sum_columns(const struct sum_job *job)
{
    struct strip_grid grid = strip_grid_of(&job->plan);
    if (grid.blocks > 1) {
        return sum_strip_blocks(job, &grid);
    }
    sum_strips(job, &grid);
    return NULL;
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

HOST_CLONES
static float run_square_sum(const float *values, int64_t count)
{
    float sum = 0.0f;
    BODY_SIMD(reduction(+ : sum))
    for (int64_t k = 0; k < count; k++) {
        sum += values[k] * values[k];
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
        const float *values = span_read(job->a, offset + at[0] + first * step, step, count, scratch).data;
        sum += (double)(job->is_norm ? run_square_sum(values, count) : run_sum(values, count));
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
    float_store(job->out->data, job->out->dtype, offset, (float)(job->factor * (job->is_norm ? sqrt(sum) : sum)));
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
    struct sum_job job = {&call->tensors[0], &call->tensors[call->input_count], sum_plan_of(call),
                          call->attributes.f[0], call->attributes.i[0] == 1};
    int64_t outputs = job.plan.kept.line_count * job.plan.kept.line_length;
    if (outputs == 0) {
        return NULL;
    }
    if (sum_plan_is_columns(&job.plan)) {
        return sum_columns(&job);
    }
    if (outputs < SUM_BLOCKS && tensor_element_count(job.a) >= PARALLEL_ELEMENTS) {
        sum_blocks(&job, outputs);
    } else {
        sum_rows(&job, outputs);
    }
    return NULL;
}
