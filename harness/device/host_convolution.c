/* Convolutions on the host: blocks of pixel columns times filters. A block fits the scratch memory of one thread, so
 * the whole matrix of columns never exists; blocks run in parallel, each as single-threaded OpenBLAS calls. Sums are
 * kept in float32 and rounded once. */
#include <limits.h>
#include <string.h>

#include "harness/device/float_panel.h"
#include "harness/device/host_device.h"
#include "harness/device/pixel_columns.h"
#include "harness/device/product_plan.h"

enum { BLOCKS_PER_THREAD = 2, BLOCK_PIXELS_MINIMUM = 96 };

/* One convolution cut into blocks. What is not cut by an opcode has one block. */
struct convolution_job {
    const struct host_device *host;
    struct convolution_plan plan;
    struct pixel_window image;    /* the windows of the convolution on the image */
    struct pixel_window result;   /* the result itself, pixel by pixel */
    int64_t taps;                 /* kernel^2 */
    int64_t image_step, row_step; /* of a block: several whole images, or some rows of one */
    int64_t image_blocks, row_blocks;
    int64_t filter_step, filter_blocks;
    int64_t channel_step, channel_blocks;
};

static int64_t count_up(int64_t size, int64_t step)
{
    return (size + step - 1) / step;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t at_least_one(int64_t value)
{
    return value > 1 ? value : 1;
}

/* size cut into nearly equal steps of at most limit; returns the step. */
static int64_t step_even(int64_t size, int64_t limit)
{
    return at_least_one(count_up(size, at_least_one(count_up(size, at_least_one(limit)))));
}

/* Filters [filter, filter + filters) as rows over channels [channel, channel + channels) x taps, as float32. */
static const float *weights_take(const struct convolution_job *job, int64_t filter, int64_t filters, int64_t channel,
                                 int64_t channels, float *scratch, int *leading)
{
    const struct tensor *weight = job->plan.weight;
    int64_t row = job->plan.channels * job->taps;
    const char *first = (const char *)weight->data + (filter * row + channel * job->taps) * dtype_bytes(weight->dtype);
    if (weight->dtype == DTYPE_FLOAT32) {
        *leading = (int)row;
        return (const float *)(const void *)first;
    }
    for (int64_t k = 0; k < filters; k++) {
        floats_load(scratch + k * channels * job->taps, first + k * row * dtype_bytes(weight->dtype), weight->dtype,
                    channels * job->taps);
    }
    *leading = (int)(channels * job->taps);
    return scratch;
}

static struct pixel_block block_make(const struct convolution_job *job, int64_t index)
{
    int64_t image = index / job->row_blocks * job->image_step;
    int64_t row = index % job->row_blocks * job->row_step;
    return (struct pixel_block){.image = image,
                                .image_count = smaller(job->image_step, job->plan.images - image),
                                .row = row,
                                .row_count = smaller(job->row_step, job->plan.rows - row)};
}

/* Pixels: whole images together where they are small, else rows of one image, at most `limit` pixels. */
static void pixels_cut(struct convolution_job *job, int64_t limit)
{
    int64_t plane = job->plan.rows * job->plan.columns;
    if (2 * plane <= limit) {
        job->image_step = step_even(job->plan.images, limit / plane);
        job->row_step = job->plan.rows;
    } else {
        job->image_step = 1;
        job->row_step = step_even(job->plan.rows, limit / job->plan.columns);
    }
    job->image_blocks = count_up(job->plan.images, job->image_step);
    job->row_blocks = count_up(job->plan.rows, job->row_step);
}

static void filters_cut(struct convolution_job *job, int64_t limit)
{
    job->filter_step = step_even(job->plan.filters, limit);
    job->filter_blocks = count_up(job->plan.filters, job->filter_step);
}

static void channels_cut(struct convolution_job *job, int64_t limit)
{
    job->channel_step = step_even(job->plan.channels, limit);
    job->channel_blocks = count_up(job->plan.channels, job->channel_step);
}

/* -- forward: result block [filters, pixels] = weight [filters, channels x taps] columns [channels x taps, pixels] */

static void result_store(const struct convolution_job *job, const struct pixel_block *block, int64_t filter,
                         int64_t filters, const float *sums)
{
    const struct tensor *result = job->plan.result;
    int64_t plane = job->plan.rows * job->plan.columns;
    int64_t run = block->row_count * job->plan.columns;
    for (int64_t o = filter; o < filter + filters; o++) {
        for (int64_t n = block->image; n < block->image + block->image_count; n++) {
            int64_t first = (n * job->plan.filters + o) * plane + block->row * job->plan.columns;
            floats_store((char *)result->data + first * dtype_bytes(result->dtype), result->dtype, sums, run);
            sums += run;
        }
    }
}

static void bias_spread(const struct convolution_job *job, int64_t filter, int64_t filters, int64_t pixels, float *sums)
{
    const struct tensor *bias = job->plan.bias;
    for (int64_t o = 0; o < filters; o++) {
        float value = 0.0f;
        if (bias != NULL) {
            floats_load(&value, (const char *)bias->data + (filter + o) * dtype_bytes(bias->dtype), bias->dtype, 1);
        }
        for (int64_t p = 0; p < pixels; p++) {
            sums[o * pixels + p] = value;
        }
    }
}

static void forward_block_run(const struct convolution_job *job, int64_t index, struct host_panels *scratch)
{
    int64_t filter = index % job->filter_blocks * job->filter_step;
    int64_t filters = smaller(job->filter_step, job->plan.filters - filter);
    struct pixel_block block = block_make(job, index / job->filter_blocks);
    int64_t pixels = pixel_count(&job->image, &block);
    bias_spread(job, filter, filters, pixels, scratch->sums);
    for (int64_t channel = 0; channel < job->plan.channels; channel += job->channel_step) {
        int64_t channels = smaller(job->channel_step, job->plan.channels - channel);
        struct sgemm product = {.m = (int)filters,
                                .n = (int)pixels,
                                .k = (int)(channels * job->taps),
                                .alpha = 1.0f,
                                .beta = 1.0f,
                                .c = scratch->sums,
                                .ldc = (int)pixels};
        product.a = weights_take(job, filter, filters, channel, channels, scratch->a, &product.lda);
        product.b = pixel_columns_take(&job->image, &block, channel, channels, scratch->b, &product.ldb);
        openblas_sgemm(&job->host->openblas, &product);
    }
    result_store(job, &block, filter, filters, scratch->sums);
}

/* Each cut of the pixels costs filters that are packed again, each cut of the filters columns that are built again: the
 * pixels are cut first, down to a width at which a product is still fast. */
static void forward_cut(struct convolution_job *job)
{
    int64_t wanted = (int64_t)job->host->thread_count * BLOCKS_PER_THREAD;
    int64_t pixels = job->plan.images * job->plan.rows * job->plan.columns;
    int64_t limit = count_up(pixels, wanted);
    limit = smaller(limit > BLOCK_PIXELS_MINIMUM ? limit : BLOCK_PIXELS_MINIMUM, PANEL_SIDE);
    pixels_cut(job, smaller(limit, PANEL_FLOATS / job->taps));
    const struct pixel_block largest = {.image_count = job->image_step, .row_count = job->row_step};
    int64_t block_pixels = at_least_one(pixel_count(&job->image, &largest));
    int64_t blocks = at_least_one(job->image_blocks * job->row_blocks);
    limit = smaller(smaller(PANEL_SIDE, PANEL_FLOATS / block_pixels), PANEL_FLOATS / job->taps);
    filters_cut(job, smaller(limit, count_up(job->plan.filters, count_up(wanted, blocks))));
    int64_t depth = smaller(PANEL_FLOATS / block_pixels, PANEL_FLOATS / job->filter_step);
    channels_cut(job, depth / job->taps);
}

/* -- backward, input: columns [channels x taps, pixels] = weight^T grad; the columns are added to the image */

/* The rows of the result whose windows meet image rows [row, row + rows). */
static void result_rows_meeting(const struct convolution_plan *plan, int64_t row, int64_t rows, int64_t *first,
                                int64_t *count)
{
    int64_t low = row + plan->padding - plan->kernel + 1;
    int64_t high = row + rows - 1 + plan->padding;
    *first = low > 0 ? count_up(low, plan->stride) : 0;
    int64_t end = smaller(high / plan->stride + 1, plan->rows);
    *count = end > *first ? end - *first : 0;
}

static void columns_multiply(const struct convolution_job *job, const struct pixel_block *block, int64_t channel,
                             int64_t channels, struct host_panels *scratch)
{
    int64_t pixels = pixel_count(&job->result, block);
    for (int64_t filter = 0; filter < job->plan.filters; filter += job->filter_step) {
        int64_t filters = smaller(job->filter_step, job->plan.filters - filter);
        struct sgemm product = {.a_transposed = true,
                                .m = (int)(channels * job->taps),
                                .n = (int)pixels,
                                .k = (int)filters,
                                .alpha = 1.0f,
                                .beta = filter == 0 ? 0.0f : 1.0f,
                                .c = scratch->sums,
                                .ldc = (int)pixels};
        product.a = weights_take(job, filter, filters, channel, channels, scratch->a, &product.lda);
        product.b = pixel_columns_take(&job->result, block, filter, filters, scratch->b, &product.ldb);
        openblas_sgemm(&job->host->openblas, &product);
    }
}

/* The part of the gradient that a block owns: float32 is summed where it lies, 16 bits in scratch. */
static struct image_part part_make(const struct convolution_job *job, const struct pixel_block *own, int64_t channel,
                                   int64_t channels, float *scratch)
{
    const struct convolution_plan *plan = &job->plan;
    int64_t plane = plan->height * plan->width;
    struct image_part part = {.row = own->row, .row_count = own->row_count, .width = plan->width};
    if (plan->image->dtype == DTYPE_FLOAT32) {
        part.channel_step = plane;
        part.image_step = plan->channels * plane;
        part.first =
            (float *)plan->image->data + (own->image * plan->channels + channel) * plane + own->row * plan->width;
    } else {
        part.image_step = own->row_count * plan->width;
        part.channel_step = own->image_count * part.image_step;
        part.first = scratch;
    }
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t n = 0; n < own->image_count; n++) {
            memset(part.first + c * part.channel_step + n * part.image_step, 0,
                   (size_t)(own->row_count * plan->width) * sizeof(float));
        }
    }
    return part;
}

static void part_store(const struct convolution_job *job, const struct pixel_block *own, int64_t channel,
                       int64_t channels, const struct image_part *part)
{
    const struct convolution_plan *plan = &job->plan;
    enum dtype dtype = plan->image->dtype;
    for (int64_t c = 0; dtype != DTYPE_FLOAT32 && c < channels; c++) {
        for (int64_t n = 0; n < own->image_count; n++) {
            int64_t first = (((own->image + n) * plan->channels + channel + c) * plan->height + own->row) * plan->width;
            floats_store((char *)plan->image->data + first * dtype_bytes(dtype), dtype,
                         part->first + c * part->channel_step + n * part->image_step, own->row_count * plan->width);
        }
    }
}

static void input_block_run(const struct convolution_job *job, int64_t index, struct host_panels *scratch)
{
    int64_t channel = index % job->channel_blocks * job->channel_step;
    int64_t channels = smaller(job->channel_step, job->plan.channels - channel);
    int64_t place = index / job->channel_blocks;
    int64_t image = place / job->row_blocks * job->image_step;
    int64_t row = place % job->row_blocks * job->row_step;
    /* Here rows are those of the image, which the block owns alone. */
    struct pixel_block own = {.image = image,
                              .image_count = smaller(job->image_step, job->plan.images - image),
                              .row = row,
                              .row_count = smaller(job->row_step, job->plan.height - row)};
    struct pixel_block met = own;
    result_rows_meeting(&job->plan, own.row, own.row_count, &met.row, &met.row_count);
    struct image_part part = part_make(job, &own, channel, channels, scratch->image);
    if (met.row_count > 0 && job->plan.filters > 0) {
        columns_multiply(job, &met, channel, channels, scratch);
        pixel_columns_add(&job->image, &met, channels, scratch->sums, &part);
    }
    part_store(job, &own, channel, channels, &part);
}

/* The most pixels of the result that `rows` rows of the image can meet. */
static int64_t met_pixels(const struct convolution_plan *plan, int64_t rows)
{
    return smaller(plan->rows, (rows + plan->kernel - 2) / plan->stride + 1) * plan->columns;
}

/* Whole images while one channel of them fits, because the edges of a band are computed twice. */
static void input_cut(struct convolution_job *job)
{
    const struct convolution_plan *plan = &job->plan;
    int64_t plane = at_least_one(plan->height * plan->width);
    int64_t pixels = at_least_one(plan->rows * plan->columns);
    int64_t wanted = (int64_t)job->host->thread_count * BLOCKS_PER_THREAD;
    job->row_step = at_least_one(plan->height);
    job->image_step =
        step_even(plan->images, smaller(smaller(PANEL_SIDE, PANEL_FLOATS / job->taps) / pixels, PANEL_FLOATS / plane));
    while (job->row_step > 1 &&
           (met_pixels(plan, job->row_step) * job->taps > PANEL_FLOATS || job->row_step * plan->width > PANEL_FLOATS)) {
        job->row_step = count_up(job->row_step, 2);
    }
    job->image_blocks = count_up(plan->images, job->image_step);
    job->row_blocks = count_up(plan->height, job->row_step);
    int64_t block_pixels = at_least_one(job->image_step * met_pixels(plan, job->row_step));
    int64_t places = at_least_one(job->image_blocks * job->row_blocks);
    int64_t limit = smaller(PANEL_FLOATS / (block_pixels * job->taps),
                            PANEL_FLOATS / at_least_one(job->image_step * job->row_step * plan->width));
    limit = smaller(limit, PANEL_SIDE / job->taps);
    channels_cut(job, smaller(limit, count_up(plan->channels, count_up(wanted, places))));
    filters_cut(job, smaller(PANEL_FLOATS / block_pixels, PANEL_FLOATS / (job->channel_step * job->taps)));
}

/* -- backward, weight: grad weight [filters, channels x taps] = sum over pixels of grad columns^T */

static void weight_store(const struct convolution_job *job, int64_t filter, int64_t filters, int64_t channel,
                         int64_t channels, const float *sums)
{
    const struct tensor *weight = job->plan.weight;
    int64_t row = job->plan.channels * job->taps;
    for (int64_t o = 0; o < filters; o++) {
        int64_t first = (filter + o) * row + channel * job->taps;
        floats_store((char *)weight->data + first * dtype_bytes(weight->dtype), weight->dtype,
                     sums + o * channels * job->taps, channels * job->taps);
    }
}

static void weight_block_run(const struct convolution_job *job, int64_t index, struct host_panels *scratch)
{
    int64_t filter = index % job->filter_blocks * job->filter_step;
    int64_t filters = smaller(job->filter_step, job->plan.filters - filter);
    int64_t channel = index / job->filter_blocks * job->channel_step;
    int64_t channels = smaller(job->channel_step, job->plan.channels - channel);
    memset(scratch->sums, 0, (size_t)(filters * channels * job->taps) * sizeof(float));
    for (int64_t place = 0; place < job->image_blocks * job->row_blocks; place++) {
        struct pixel_block block = block_make(job, place);
        struct sgemm product = {.b_transposed = true,
                                .m = (int)filters,
                                .n = (int)(channels * job->taps),
                                .k = (int)pixel_count(&job->result, &block),
                                .alpha = 1.0f,
                                .beta = 1.0f,
                                .c = scratch->sums,
                                .ldc = (int)(channels * job->taps)};
        product.a = pixel_columns_take(&job->result, &block, filter, filters, scratch->a, &product.lda);
        product.b = pixel_columns_take(&job->image, &block, channel, channels, scratch->b, &product.ldb);
        openblas_sgemm(&job->host->openblas, &product);
    }
    weight_store(job, filter, filters, channel, channels, scratch->sums);
}

/* Each cut of the filters costs columns that are built again, so the channels are cut first. */
static void weight_cut(struct convolution_job *job)
{
    int64_t wanted = (int64_t)job->host->thread_count * BLOCKS_PER_THREAD;
    pixels_cut(job, smaller(PANEL_SIDE, PANEL_FLOATS / job->taps));
    const struct pixel_block largest = {.image_count = job->image_step, .row_count = job->row_step};
    int64_t depth = PANEL_FLOATS / at_least_one(pixel_count(&job->result, &largest));
    filters_cut(job, smaller(smaller(PANEL_SIDE, depth), PANEL_FLOATS / job->taps));
    int64_t limit = smaller(smaller(PANEL_SIDE, depth), PANEL_FLOATS / job->filter_step) / job->taps;
    channels_cut(job, smaller(limit, count_up(job->plan.channels, count_up(wanted, at_least_one(job->filter_blocks)))));
    if (job->channel_blocks < job->host->thread_count) {
        filters_cut(job, count_up(job->plan.filters, count_up(wanted, at_least_one(job->channel_blocks))));
    }
}

/* A step is at least one row, one channel, one filter. Kernels and image rows of which even that does not fit the
 * scratch memory (a window row of 3 x 3 taps over more than 9709 pixels) are refused. */
static bool job_fits(const struct convolution_job *job)
{
    const struct convolution_plan *plan = &job->plan;
    return met_pixels(plan, 1) * job->taps <= PANEL_FLOATS && plan->width <= PANEL_FLOATS &&
           plan->height * plan->width <= INT_MAX && plan->rows * plan->columns <= INT_MAX &&
           plan->channels <= INT_MAX / job->taps;
}

static void job_run(struct convolution_job *job, enum opcode opcode)
{
    void (*block_run)(const struct convolution_job *, int64_t, struct host_panels *) = forward_block_run;
    int64_t blocks = 0;
    if (opcode == OPCODE_CONVOLUTION) {
        forward_cut(job);
        blocks = job->image_blocks * job->row_blocks * job->filter_blocks;
    } else if (opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT) {
        input_cut(job);
        block_run = input_block_run;
        blocks = job->image_blocks * job->row_blocks * job->channel_blocks;
    } else {
        weight_cut(job);
        block_run = weight_block_run;
        blocks = job->filter_blocks * job->channel_blocks;
    }
#pragma omp parallel for num_threads(job->host->thread_count) schedule(dynamic, 1) if (blocks > 1)
    for (int64_t index = 0; index < blocks; index++) {
        block_run(job, index, &job->host->scratch[thread_index()]);
    }
}

enum status_code host_convolution(struct host_device *host, const struct operation_call *call, struct status *error)
{
    struct convolution_job job = {.host = host};
    char text[CALL_TEXT_BYTES];
    enum status_code code = convolution_plan(call, &job.plan, error);
    if (code != STATUS_OK) {
        return code;
    }
    job.taps = job.plan.kernel * job.plan.kernel;
    job.image = (struct pixel_window){.tensor = job.plan.image,
                                      .kernel = job.plan.kernel,
                                      .stride = job.plan.stride,
                                      .padding = job.plan.padding,
                                      .rows = job.plan.rows,
                                      .columns = job.plan.columns};
    job.result = (struct pixel_window){
        .tensor = job.plan.result, .kernel = 1, .stride = 1, .rows = job.plan.rows, .columns = job.plan.columns};
    if (!job_fits(&job)) {
        return status_set(error, STATUS_OVERFLOW, "host: %s: one row of windows is larger than the scratch memory",
                          call_describe(call, text));
    }
    job_run(&job, call->opcode);
    return STATUS_OK;
}
