/* Convolutions on CUDA where cuDNN does not compute them (cuda_cudnn.c): columns of pixels in the call's workspace, and
 * products with the filters. As many images as fit are done at once; where one image does not fit, its pixels or
 * channels are cut; where not even one pixel or channel fits, or there is no workspace, a kernel without columns does
 * the work, slowly. */
#include "harness/device/cuda/cuda_device.h"
#include "harness/device/cuda/product_kernels.h"

struct convolution_job {
    struct cuda_device *cuda;
    struct convolution_plan plan;
    enum opcode opcode;
    const char *doing;                 /* the call, for messages */
    struct product_workspace products; /* the first part of the workspace: for cuBLAS */
    struct product_workspace columns;  /* the rest */
    struct product_workspace parts; /* of a weight's gradient: the sums of each image that is done at once, or none */
    int64_t taps;                   /* kernel^2 */
    int64_t plane;                  /* pixels of the result */
    int64_t lines;                  /* channels * taps */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void *element_at(const struct tensor *tensor, int64_t index)
{
    return (char *)tensor->data + index * dtype_bytes(tensor->dtype);
}

/* [0, first_bytes) and what follows it, aligned. */
static void workspace_split(const struct product_workspace *whole, int64_t first_bytes, struct product_workspace *first,
                            struct product_workspace *rest)
{
    int64_t aligned = (first_bytes + CUBLAS_WORKSPACE_ALIGNMENT_BYTES - 1) / CUBLAS_WORKSPACE_ALIGNMENT_BYTES *
                      CUBLAS_WORKSPACE_ALIGNMENT_BYTES;
    struct product_workspace all = *whole;
    *first = (struct product_workspace){all.data, smaller(first_bytes, all.bytes)};
    *rest = (struct product_workspace){0};
    if (aligned < all.bytes) {
        *rest = (struct product_workspace){(char *)all.data + aligned, all.bytes - aligned};
    }
}

static enum status_code direct_run(const struct convolution_job *job, struct status *error)
{
    return cuda_check(job->cuda, convolution_any_launch(&job->plan, job->opcode), job->doing, error);
}

static enum status_code product_run(const struct convolution_job *job, struct matmul_plan *product,
                                    struct status *error)
{
    product->workspace = job->products;
    product->tf32_allowed = job->plan.tf32_allowed;
    return cuda_matmul_planned(job->cuda, product, job->doing, error);
}

/* The filters [filter, ...) over channels [channel, ...) as a matrix; every image uses the same. */
static struct product_matrix weight_matrix(const struct convolution_job *job, int64_t filter, int64_t channel)
{
    const struct tensor *weight = job->plan.weight;
    return (struct product_matrix){.data = element_at(weight, filter * job->lines + channel * job->taps),
                                   .dtype = weight->dtype,
                                   .leading = job->lines};
}

/* A tensor [images, channels, plane] from one image, channel and pixel on, one matrix for each image. */
static struct product_matrix plane_matrix(const struct convolution_job *job, const struct tensor *tensor, int64_t image,
                                          int64_t channel, int64_t pixel)
{
    int64_t channels = tensor->size[1];
    return (struct product_matrix){.data = element_at(tensor, (image * channels + channel) * job->plane + pixel),
                                   .dtype = tensor->dtype,
                                   .leading = job->plane,
                                   .batch_stride = {0, channels * job->plane}};
}

static struct product_matrix columns_matrix(const struct columns_part *part, int64_t taps)
{
    return (struct product_matrix){.data = part->columns,
                                   .dtype = part->dtype,
                                   .leading = part->pixels,
                                   .batch_stride = {0, part->channels * taps * part->pixels}};
}

/* The most images, or of one image the most pixels, whose columns fit. False if one pixel's do not. */
static bool pixels_cut(const struct convolution_job *job, int64_t capacity_bytes, struct columns_part *part)
{
    int64_t pixel_bytes = job->lines * dtype_bytes(job->plan.image->dtype);
    int64_t pixels = pixel_bytes > 0 ? capacity_bytes / pixel_bytes : INT64_MAX;
    part->images = smaller(job->plan.images, pixels >= job->plane ? pixels / job->plane : 1);
    part->pixels = smaller(job->plane, pixels);
    return pixels > 0;
}

/* Columns of part->images images from part->image and part->pixels pixels from part->pixel, cut at the ends. A window
 * of one pixel needs none: the image is its own matrix. */
static enum status_code columns_take(const struct convolution_job *job, const struct columns_part *step, int64_t image,
                                     int64_t pixel, struct columns_part *part, struct product_matrix *columns,
                                     struct status *error)
{
    *part = *step;
    part->image = image;
    part->pixel = pixel;
    part->images = smaller(step->images, job->plan.images - image);
    part->pixels = smaller(step->pixels, job->plane - pixel);
    if (job->plan.pointwise) {
        *columns = plane_matrix(job, job->plan.image, image, 0, pixel);
        return STATUS_OK;
    }
    *columns = columns_matrix(part, job->taps);
    return cuda_check(job->cuda, columns_gather_launch(&job->plan, part), job->doing, error);
}

static struct columns_part columns_step(const struct convolution_job *job)
{
    return (struct columns_part){.images = job->plan.images,
                                 .channels = job->plan.channels,
                                 .pixels = job->plane,
                                 .columns = job->columns.data,
                                 .dtype = job->plan.image->dtype};
}

static enum status_code forward_run(struct convolution_job *job, struct status *error)
{
    const struct convolution_plan *plan = &job->plan;
    struct columns_part step = columns_step(job);
    if (!plan->pointwise && !pixels_cut(job, job->columns.bytes, &step)) {
        return direct_run(job, error);
    }
    for (int64_t image = 0; image < plan->images; image += step.images) {
        for (int64_t pixel = 0; pixel < job->plane; pixel += step.pixels) {
            struct columns_part part;
            struct product_matrix columns;
            enum status_code code = columns_take(job, &step, image, pixel, &part, &columns, error);
            struct matmul_plan product = {.m = plan->filters,
                                          .n = part.pixels,
                                          .k = job->lines,
                                          .batch = {1, part.images},
                                          .a = weight_matrix(job, 0, 0),
                                          .b = columns,
                                          .out = plane_matrix(job, plan->result, image, 0, pixel),
                                          .has_bias = plan->bias != NULL,
                                          .bias_along_rows = true,
                                          .bias = plan->bias != NULL ? plan->bias->data : NULL,
                                          .bias_dtype = plan->bias != NULL ? plan->bias->dtype : DTYPE_FLOAT32,
                                          .alpha = 1.0f};
            if (code == STATUS_OK) {
                code = product_run(job, &product, error);
            }
            if (code != STATUS_OK) {
                return code;
            }
        }
    }
    return STATUS_OK;
}

/* columns = weight^T grad for some images and channels, into out. */
static enum status_code columns_multiply(const struct convolution_job *job, const struct columns_part *part,
                                         struct product_matrix out, struct status *error)
{
    struct matmul_plan product = {.m = part->channels * job->taps,
                                  .n = job->plane,
                                  .k = job->plan.filters,
                                  .batch = {1, part->images},
                                  .a = weight_matrix(job, 0, part->channel),
                                  .b = plane_matrix(job, job->plan.result, part->image, 0, 0),
                                  .out = out,
                                  .alpha = 1.0f};
    product.a.transposed = true;
    return product_run(job, &product, error);
}

/* All pixels of a channel must be there at once, because an image element meets windows of several rows. */
static enum status_code input_run(struct convolution_job *job, struct status *error)
{
    const struct convolution_plan *plan = &job->plan;
    struct columns_part step = columns_step(job);
    step.dtype = DTYPE_FLOAT32;
    if (plan->pointwise) {
        return columns_multiply(job, &step, plane_matrix(job, plan->image, 0, 0, 0), error);
    }
    int64_t channels = job->columns.bytes / (job->taps * job->plane * (int64_t)sizeof(float));
    if (channels == 0) {
        return direct_run(job, error);
    }
    step.channels = smaller(plan->channels, channels);
    step.images = plan->channels > 0 && channels > plan->channels ? channels / plan->channels : 1;
    for (int64_t image = 0; image < plan->images; image += step.images) {
        for (int64_t channel = 0; channel < plan->channels; channel += step.channels) {
            struct columns_part part = step;
            part.image = image;
            part.images = smaller(step.images, plan->images - image);
            part.channel = channel;
            part.channels = smaller(step.channels, plan->channels - channel);
            enum status_code code = columns_multiply(job, &part, columns_matrix(&part, job->taps), error);
            if (code == STATUS_OK) {
                code = cuda_check(job->cuda, columns_sum_launch(plan, &part), job->doing, error);
            }
            if (code != STATUS_OK) {
                return code;
            }
        }
    }
    return STATUS_OK;
}

/* grad columns^T for images of the part: `images` products at once into `out`. */
static enum status_code weight_product_run(const struct convolution_job *job, const struct columns_part *part,
                                           struct product_matrix columns, struct product_matrix out, int64_t filter,
                                           int64_t filters, float beta, struct status *error)
{
    struct matmul_plan product = {.m = filters,
                                  .n = job->lines,
                                  .k = part->pixels,
                                  .batch = {1, part->images},
                                  .a = plane_matrix(job, job->plan.result, part->image, filter, part->pixel),
                                  .b = columns,
                                  .out = out,
                                  .alpha = 1.0f,
                                  .beta = beta};
    product.b.transposed = true;
    return product_run(job, &product, error);
}

/* sums [filters, lines] (+)= the products of all images of the part: at once, and then added up, if there is memory for
 * the sums of each; else one after the other. */
static enum status_code weight_images_add(const struct convolution_job *job, const struct columns_part *part,
                                          struct product_matrix columns, int64_t filter, int64_t filters,
                                          struct product_matrix sums, struct status *error)
{
    enum status_code code = STATUS_OK;
    bool begins = part->image == 0 && part->pixel == 0;
    int64_t image_bytes = columns.batch_stride[1] * dtype_bytes(columns.dtype);
    if (job->parts.bytes > 0) {
        struct product_matrix out = sums;
        out.data = job->parts.data;
        out.batch_stride[1] = filters * job->lines;
        code = weight_product_run(job, part, columns, out, filter, filters, 0.0f, error);
        return code != STATUS_OK ? code
                                 : cuda_check(job->cuda,
                                              parts_add_launch(sums.data, job->parts.data, part->images,
                                                               filters * job->lines, begins),
                                              job->doing, error);
    }
    for (int64_t n = 0; code == STATUS_OK && n < part->images; n++) {
        struct columns_part one = *part;
        one.image = part->image + n;
        one.images = 1;
        code = weight_product_run(job, &one, columns, sums, filter, filters, begins && n == 0 ? 0.0f : 1.0f, error);
        columns.data = (char *)columns.data + image_bytes;
    }
    return code;
}

/* Cuts the memory for columns: room for the sums of as many images as then fit with their columns, if those are more
 * than one. Returns how many images that is, else 0. */
static int64_t parts_cut(struct convolution_job *job, int64_t filters)
{
    const struct product_workspace all = job->columns;
    int64_t sums_bytes = filters * job->lines * (int64_t)sizeof(float);
    int64_t image_bytes = job->plan.pointwise ? 0 : job->lines * job->plane * dtype_bytes(job->plan.image->dtype);
    int64_t room = all.bytes - CUBLAS_WORKSPACE_ALIGNMENT_BYTES, each = sums_bytes + image_bytes;
    int64_t images = each > 0 ? smaller(job->plan.images, room / each) : 0;
    if (images < 2) {
        return 0;
    }
    workspace_split(&all, images * sums_bytes, &job->parts, &job->columns);
    return images;
}

static enum status_code weight_filters_run(const struct convolution_job *job, const struct columns_part *step,
                                           int64_t filter, int64_t filters, struct product_matrix sums,
                                           struct status *error)
{
    for (int64_t image = 0; image < job->plan.images; image += step->images) {
        for (int64_t pixel = 0; pixel < job->plane; pixel += step->pixels) {
            struct columns_part part;
            struct product_matrix columns;
            enum status_code code = columns_take(job, step, image, pixel, &part, &columns, error);
            if (code == STATUS_OK) {
                code = weight_images_add(job, &part, columns, filter, filters, sums, error);
            }
            if (code != STATUS_OK) {
                return code;
            }
        }
    }
    return STATUS_OK;
}

/* Cuts the memory for columns where the weight is not float32: sums [filters, lines] in float32 first, all of them
 * where they take at most half, else as many filters as do, at least one. */
static int64_t sums_cut(struct convolution_job *job, struct product_workspace *sums)
{
    const struct product_workspace all = job->columns;
    int64_t row_bytes = job->lines * (int64_t)sizeof(float);
    if (row_bytes == 0 || row_bytes > all.bytes) {
        return row_bytes == 0 ? job->plan.filters : 0;
    }
    int64_t half = all.bytes / 2 > row_bytes ? all.bytes / 2 : row_bytes;
    int64_t filters = smaller(job->plan.filters, half / row_bytes);
    workspace_split(&all, filters * row_bytes, sums, &job->columns);
    return filters;
}

static enum status_code weight_run(struct convolution_job *job, struct status *error)
{
    const struct convolution_plan *plan = &job->plan;
    bool direct = plan->weight->dtype == DTYPE_FLOAT32;
    struct product_workspace rounded_sums = {0};
    if (plan->images == 0) {
        return cuda_check(
            job->cuda,
            cudaMemset(plan->weight->data, 0, (size_t)(plan->filters * job->lines * dtype_bytes(plan->weight->dtype))),
            job->doing, error);
    }
    int64_t filter_step = direct ? plan->filters : sums_cut(job, &rounded_sums);
    int64_t together = filter_step > 0 ? parts_cut(job, filter_step) : 0;
    struct columns_part step = columns_step(job);
    if ((filter_step == 0 && plan->filters > 0) || (!plan->pointwise && !pixels_cut(job, job->columns.bytes, &step))) {
        return direct_run(job, error);
    }
    step.images = together > 0 ? smaller(step.images, together) : step.images;
    for (int64_t filter = 0; filter < plan->filters; filter += filter_step) {
        int64_t filters = smaller(filter_step, plan->filters - filter);
        struct product_matrix sums = weight_matrix(job, filter, 0);
        if (!direct) {
            sums.data = rounded_sums.data;
            sums.dtype = DTYPE_FLOAT32;
        }
        enum status_code code = weight_filters_run(job, &step, filter, filters, sums, error);
        if (code == STATUS_OK && !direct) {
            code = cuda_check(job->cuda,
                              floats_round_launch(element_at(plan->weight, filter * job->lines), plan->weight->dtype,
                                                  sums.data, filters * job->lines),
                              job->doing, error);
        }
        if (code != STATUS_OK) {
            return code;
        }
    }
    return STATUS_OK;
}

enum status_code cuda_convolution(struct cuda_device *cuda, const struct operation_call *call, struct status *error)
{
    struct convolution_job job = {.cuda = cuda, .opcode = call->opcode};
    char text[CALL_TEXT_BYTES];
    enum status_code code = convolution_plan(call, &job.plan, error);
    if (code != STATUS_OK) {
        return code;
    }
    bool done = false;
    job.doing = call_describe(call, text);
    code = cuda_cudnn(cuda, call->opcode, &job.plan, job.doing, &done, error);
    if (code != STATUS_OK || done) {
        return code;
    }
    job.taps = job.plan.kernel * job.plan.kernel;
    job.plane = job.plan.rows * job.plan.columns;
    job.lines = job.plan.channels * job.taps;
    workspace_split(&job.plan.workspace,
                    smaller(CUDA_CONVOLUTION_PRODUCTS_BYTES, job.plan.workspace.bytes / CUDA_CONVOLUTION_PRODUCTS_PART),
                    &job.products, &job.columns);
    if (call->opcode == OPCODE_CONVOLUTION) {
        return forward_run(&job, error);
    }
    if (call->opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT) {
        return input_run(&job, error);
    }
    return weight_run(&job, error);
}
