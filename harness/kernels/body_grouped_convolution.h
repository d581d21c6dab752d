/* Grouped convolution: its geometry, in all three directions. Images and results may lie in memory in any order. What
 * the host adds up plane by plane a GPU gathers element by element; no sum has two writers. */
#ifndef ASSAY_KERNELS_BODY_GROUPED_CONVOLUTION_H
#define ASSAY_KERNELS_BODY_GROUPED_CONVOLUTION_H

#include "harness/kernels/body.h"

/* Filters [g * group_filters, ...) read channels [g * group_channels, ...) of the image, for each group g. */
struct grouped_convolution {
    int64_t images, group_count, group_channels, group_filters;
    int64_t height, width; /* of an image */
    int64_t rows, columns; /* of a result */
    int64_t kernel, stride, padding;
    int image, weight, result; /* which tensors of the call these are */
};

static inline struct grouped_convolution grouped_convolution_of(const struct operation_call *call)
{
    bool forward = call->opcode == OPCODE_GROUPED_CONVOLUTION;
    bool to_weight = call->opcode == OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT;
    int out = call->input_count;
    struct grouped_convolution c;
    c.image = forward ? 0 : to_weight ? 1 : out;
    c.weight = to_weight ? out : 1;
    c.result = forward ? out : 0;
    const struct tensor *image = &call->tensors[c.image];
    const struct tensor *weight = &call->tensors[c.weight];
    const struct tensor *result = &call->tensors[c.result];
    c.images = image->size[0];
    c.group_count = call->attributes.i[2];
    c.group_channels = weight->size[1];
    c.group_filters = weight->size[0] / c.group_count;
    c.height = image->size[2];
    c.width = image->size[3];
    c.rows = result->size[2];
    c.columns = result->size[3];
    c.kernel = weight->size[2];
    c.stride = call->attributes.i[0];
    c.padding = call->attributes.i[1];
    return c;
}

/* Where an element of a tensor of rank 4 lies. */
BODY int64_t place_of(const struct tensor *tensor, int64_t outer, int64_t channel, int64_t row, int64_t column)
{
    return outer * tensor->stride[0] + channel * tensor->stride[1] + row * tensor->stride[2] +
           column * tensor->stride[3];
}

/* From the first to beyond the last tap of a window that starts at `start` and lies in [0, size). */
BODY int64_t tap_first(int64_t start)
{
    return start < 0 ? -start : 0;
}

BODY int64_t tap_end(int64_t start, int64_t kernel, int64_t size)
{
    return start + kernel < size ? kernel : size - start;
}

#endif
