/* What the launches of grouped convolution share, of any shape and of those that are cut into tiles. CUDA only. */
#ifndef ASSAY_KERNELS_LAUNCH_GROUPED_CONVOLUTION_H
#define ASSAY_KERNELS_LAUNCH_GROUPED_CONVOLUTION_H

#include "harness/kernels/body_grouped_convolution.h"
#include "harness/kernels/launch_box.h"
#include "harness/kernels/launch_grid.h"

struct grouped_convolution_launch {
    struct operation_call call;
    struct grouped_convolution c;
    bool has_bias;
};

static inline struct grouped_convolution_launch grouped_launch_of(const struct operation_call *call)
{
    struct grouped_convolution_launch launch;
    launch.call = *call;
    launch.c = grouped_convolution_of(call);
    launch.has_bias = call->opcode == OPCODE_GROUPED_CONVOLUTION && call->input_count > 2;
    return launch;
}

/* An element of a dense order: image, channel, row, column. */
struct image_element {
    int64_t outer, channel, row, column;
};

BODY struct image_element element_of(int64_t k, int64_t channels, int64_t rows, int64_t columns)
{
    struct image_element e;
    e.column = k % columns;
    e.row = k / columns % rows;
    e.channel = k / (columns * rows) % channels;
    e.outer = k / (columns * rows * channels);
    return e;
}

/* ---- boxes of images ---- */

/* A box of which dimension d begins at begin[d] of size[d] elements. Numbered by the compiler it stays in registers. */
BODY struct box_part part_of(const int (&begin)[BOX_DIMENSIONS], const int (&size)[BOX_DIMENSIONS],
                             const struct tensor *t, int64_t first)
{
    struct box_part part;
#pragma unroll
    for (int d = 0; d < BOX_DIMENSIONS; d++) {
        part.low[d] = -begin[d];
        part.end[d] = size[d] - begin[d];
    }
    part.data = (char *)t->data + first * element_bytes(t->dtype);
    return part;
}

/* Planes [plane, end) of some images, from a row and a column on, in a box of (image, plane, row, column), or with
 * channels last (image, row, column, plane). */
BODY struct box_part image_part(const struct tensor *t, bool last, int64_t image, int images, int plane, int end,
                                int row, int column)
{
    int rows = (int)t->size[2], columns = (int)t->size[3], planes = end - plane;
    int64_t first = image * t->stride[0] + plane * t->stride[1] + row * t->stride[2] + column * t->stride[3];
    return last ? part_of({0, row, column, 0}, {images, rows, columns, planes}, t, first)
                : part_of({0, 0, row, column}, {images, planes, rows, columns}, t, first);
}

/* A box of planes, as image_part has it. */
static inline struct box image_box(const struct tensor *t, bool last, int images, int planes, int rows, int columns)
{
    int plane = last ? 3 : 1, row = last ? 1 : 2, column = last ? 2 : 3;
    struct box box = {{images, 1, 1, 1}, {0, 0, 0, 1}, {images > 1 ? (int)t->stride[0] : 0, 0, 0, 0}};
    box.size[plane] = planes;
    box.size[row] = rows;
    box.size[column] = columns;
    for (int d = 2; d >= 0; d--) {
        box.shared[d] = box.shared[d + 1] * box.size[d + 1];
    }
    box.memory[plane] = (int)t->stride[1];
    box.memory[row] = (int)t->stride[2];
    box.memory[column] = (int)t->stride[3];
    return box;
}

#endif
