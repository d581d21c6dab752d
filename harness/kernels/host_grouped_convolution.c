/* Grouped convolution on the host: planes of a group are laid out in float32, then every tap is a run along their rows.
 * For few channels to a group, as in depthwise layers: what is wide goes to the products of harness/device. */
#include <string.h>

#include "harness/kernels/body_grouped_convolution.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

/* Elements [first, end) of a row of the result whose windows have tap j within the image. */
struct run {
    int64_t first, end;
};

static struct run run_of(const struct grouped_convolution *c, int64_t j)
{
    int64_t low = c->padding - j, high = c->width - 1 + c->padding - j;
    struct run run = {low > 0 ? (low + c->stride - 1) / c->stride : 0, high < 0 ? 0 : high / c->stride + 1};
    run.end = run.end < c->columns ? run.end : c->columns;
    return run;
}

static void planes_load(float *to, const struct tensor *from, int64_t outer, int64_t channel, int64_t count)
{
    for (int64_t c = channel; c < channel + count; c++) {
        for (int64_t row = 0; row < from->size[2]; row++) {
            span_load(to, tensor_at(from, place_of(from, outer, c, row, 0)), from->dtype, from->stride[3],
                      from->size[3]);
            to += from->size[3];
        }
    }
}

static void planes_store(const float *from, const struct tensor *to, int64_t outer, int64_t channel, int64_t count)
{
    for (int64_t c = channel; c < channel + count; c++) {
        for (int64_t row = 0; row < to->size[2]; row++) {
            span_store(from, tensor_at(to, place_of(to, outer, c, row, 0)), to->dtype, to->stride[3], to->size[3]);
            from += to->size[3];
        }
    }
}

/* to[k] += factor * from[k * stride], and the reverse. */
HOST_CLONES
static void run_add(float *to, const float *from, int64_t stride, float factor, int64_t count)
{
    if (stride == 1) {
        BODY_SIMD()
        for (int64_t k = 0; k < count; k++) {
            to[k] += factor * from[k];
        }
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        to[k] += factor * from[k * stride];
    }
}

HOST_CLONES
static void run_scatter(float *to, const float *from, int64_t stride, float factor, int64_t count)
{
    if (stride == 1) {
        run_add(to, from, 1, factor, count);
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        to[k * stride] += factor * from[k];
    }
}

HOST_CLONES
static float run_product(const float *a, const float *b, int64_t stride, int64_t count)
{
    float sum = 0.0f;
    if (stride == 1) {
        BODY_SIMD(reduction(+ : sum))
        for (int64_t k = 0; k < count; k++) {
            sum += a[k] * b[k];
        }
        return sum;
    }
    for (int64_t k = 0; k < count; k++) {
        sum += a[k] * b[k * stride];
    }
    return sum;
}

/* One plane of an image and one of a result, and the taps between them. */
struct plane_pair {
    float *image, *result, *taps;
};

typedef void pair_function(const struct grouped_convolution *c, struct plane_pair pair);

static void pair_forward(const struct grouped_convolution *c, struct plane_pair pair)
{
    for (int64_t row = 0; row < c->rows; row++) {
        int64_t top = row * c->stride - c->padding;
        for (int64_t i = tap_first(top); i < tap_end(top, c->kernel, c->height); i++) {
            for (int64_t j = 0; j < c->kernel; j++) {
                struct run run = run_of(c, j);
                run_add(pair.result + row * c->columns + run.first,
                        pair.image + (top + i) * c->width + run.first * c->stride - c->padding + j, c->stride,
                        pair.taps[i * c->kernel + j], run.end - run.first);
            }
        }
    }
}

static void pair_to_image(const struct grouped_convolution *c, struct plane_pair pair)
{
    for (int64_t row = 0; row < c->rows; row++) {
        int64_t top = row * c->stride - c->padding;
        for (int64_t i = tap_first(top); i < tap_end(top, c->kernel, c->height); i++) {
            for (int64_t j = 0; j < c->kernel; j++) {
                struct run run = run_of(c, j);
                run_scatter(pair.image + (top + i) * c->width + run.first * c->stride - c->padding + j,
                            pair.result + row * c->columns + run.first, c->stride, pair.taps[i * c->kernel + j],
                            run.end - run.first);
            }
        }
    }
}

static void pair_to_weight(const struct grouped_convolution *c, struct plane_pair pair)
{
    for (int64_t row = 0; row < c->rows; row++) {
        int64_t top = row * c->stride - c->padding;
        for (int64_t i = tap_first(top); i < tap_end(top, c->kernel, c->height); i++) {
            for (int64_t j = 0; j < c->kernel; j++) {
                struct run run = run_of(c, j);
                pair.taps[i * c->kernel + j] +=
                    run_product(pair.result + row * c->columns + run.first,
                                pair.image + (top + i) * c->width + run.first * c->stride - c->padding + j, c->stride,
                                run.end - run.first);
            }
        }
    }
}

/* Scratch memory of a thread: the planes of a group's channels, one plane of a result, the taps of one filter. */
struct parts {
    float *images, *result, *taps;
    int64_t image_plane, result_plane, taps_count;
};

static struct parts parts_of(const struct grouped_convolution *c, float *scratch)
{
    struct parts parts = {.image_plane = c->height * c->width,
                          .result_plane = c->rows * c->columns,
                          .taps_count = c->group_channels * c->kernel * c->kernel};
    parts.images = scratch;
    parts.result = parts.images + c->group_channels * parts.image_plane;
    parts.taps = parts.result + parts.result_plane;
    return parts;
}

static void pairs_run(const struct grouped_convolution *c, const struct parts *parts, pair_function *function)
{
    for (int64_t channel = 0; channel < c->group_channels; channel++) {
        function(c, (struct plane_pair){parts->images + channel * parts->image_plane, parts->result,
                                        parts->taps + channel * c->kernel * c->kernel});
    }
}

static void taps_load(const struct operation_call *call, const struct grouped_convolution *c, const struct parts *parts,
                      int64_t filter)
{
    const struct tensor *weight = &call->tensors[c->weight];
    span_load(parts->taps, tensor_at(weight, filter * parts->taps_count), weight->dtype, 1, parts->taps_count);
}

static void group_forward(const struct operation_call *call, const struct grouped_convolution *c, int64_t image,
                          int64_t group, float *scratch)
{
    struct parts parts = parts_of(c, scratch);
    planes_load(parts.images, &call->tensors[c->image], image, group * c->group_channels, c->group_channels);
    for (int64_t filter = group * c->group_filters; filter < (group + 1) * c->group_filters; filter++) {
        float bias = 0.0f;
        if (call->input_count > 2) {
            span_load(&bias, tensor_at(&call->tensors[2], filter), call->tensors[2].dtype, 1, 1);
        }
        for (int64_t k = 0; k < parts.result_plane; k++) {
            parts.result[k] = bias;
        }
        taps_load(call, c, &parts, filter);
        pairs_run(c, &parts, pair_forward);
        planes_store(parts.result, &call->tensors[c->result], image, filter, 1);
    }
}

static void group_to_image(const struct operation_call *call, const struct grouped_convolution *c, int64_t image,
                           int64_t group, float *scratch)
{
    struct parts parts = parts_of(c, scratch);
    memset(parts.images, 0, (size_t)(c->group_channels * parts.image_plane) * sizeof *parts.images);
    for (int64_t filter = group * c->group_filters; filter < (group + 1) * c->group_filters; filter++) {
        planes_load(parts.result, &call->tensors[c->result], image, filter, 1);
        taps_load(call, c, &parts, filter);
        pairs_run(c, &parts, pair_to_image);
    }
    planes_store(parts.images, &call->tensors[c->image], image, group * c->group_channels, c->group_channels);
}

static void filter_to_weight(const struct operation_call *call, const struct grouped_convolution *c, int64_t filter,
                             float *scratch)
{
    struct parts parts = parts_of(c, scratch);
    const struct tensor *weight = &call->tensors[c->weight];
    int64_t group = filter / c->group_filters;
    memset(parts.taps, 0, (size_t)parts.taps_count * sizeof *parts.taps);
    for (int64_t image = 0; image < c->images; image++) {
        planes_load(parts.images, &call->tensors[c->image], image, group * c->group_channels, c->group_channels);
        planes_load(parts.result, &call->tensors[c->result], image, filter, 1);
        pairs_run(c, &parts, pair_to_weight);
    }
    span_store(parts.taps, tensor_at(weight, filter * parts.taps_count), weight->dtype, 1, parts.taps_count);
}

static int64_t scratch_floats(const struct grouped_convolution *c)
{
    return c->group_channels * (c->height * c->width + c->kernel * c->kernel) + c->rows * c->columns;
}

static const char *groups_run(const struct operation_call *call,
                              void (*function)(const struct operation_call *, const struct grouped_convolution *,
                                               int64_t, int64_t, float *))
{
    struct grouped_convolution c = grouped_convolution_of(call);
    struct host_scratch scratch;
    if (!host_scratch_open(&scratch, scratch_floats(&c))) {
        return host_no_memory;
    }
    HOST_PARALLEL_FOR(c.images * c.group_count > 1)
    for (int64_t k = 0; k < c.images * c.group_count; k++) {
        function(call, &c, k / c.group_count, k % c.group_count, host_scratch_part(&scratch));
    }
    host_scratch_close(&scratch);
    return NULL;
}

const char *host_grouped_convolution(const struct operation_call *call)
{
    return groups_run(call, group_forward);
}

const char *host_grouped_convolution_backward_input(const struct operation_call *call)
{
    return groups_run(call, group_to_image);
}

const char *host_grouped_convolution_backward_weight(const struct operation_call *call)
{
    struct grouped_convolution c = grouped_convolution_of(call);
    struct host_scratch scratch;
    if (!host_scratch_open(&scratch, scratch_floats(&c))) {
        return host_no_memory;
    }
    int64_t filters = c.group_count * c.group_filters;
    HOST_PARALLEL_FOR(filters > 1)
    for (int64_t filter = 0; filter < filters; filter++) {
        filter_to_weight(call, &c, filter, host_scratch_part(&scratch));
    }
    host_scratch_close(&scratch);
    return NULL;
}
