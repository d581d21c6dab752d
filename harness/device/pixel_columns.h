/* Pixel columns: the matrix whose product with the filters is a convolution. Its rows are (channel, tap) pairs, its
 * columns result pixels; element = the image element that the tap meets there, 0 in the padding. Built in blocks, as
 * float32. */
#ifndef ASSAY_DEVICE_PIXEL_COLUMNS_H
#define ASSAY_DEVICE_PIXEL_COLUMNS_H

#include <stdint.h>

#include "harness/kernels/operation.h"

/* How windows lie on a dense NCHW tensor. kernel 1, stride 1, padding 0 reads its elements as they are. */
struct pixel_window {
    const struct tensor *tensor;
    int64_t kernel, stride, padding;
    int64_t rows, columns; /* of window positions: the size of the result */
};

/* Rows [row, row + row_count) of window positions of images [image, image + image_count), all their columns. */
struct pixel_block {
    int64_t image, image_count;
    int64_t row, row_count;
};

int64_t pixel_count(const struct pixel_window *window, const struct pixel_block *block);

/* The matrix [channel_count * kernel^2, pixel_count] of channels from channel on. Where the tensor's own memory is that
 * matrix (float32, windows of one pixel, one image) nothing is copied; else it is built in scratch, which must hold it.
 * *leading: elements from one row to the next. */
const float *pixel_columns_take(const struct pixel_window *window, const struct pixel_block *block, int64_t channel,
                                int64_t channel_count, float *scratch, int *leading);

/* A part of an image that columns are added to: rows [row, row + row_count) of each channel and image of a block. */
struct image_part {
    float *first;                     /* channel 0, image 0, row `row` of the part */
    int64_t channel_step, image_step; /* elements */
    int64_t row, row_count, width;
};

/* The reverse: each element of the dense matrix [channel_count * kernel^2, pixel_count] is added to the image element
 * it was taken from, where that lies in the part. window->tensor is not used. */
void pixel_columns_add(const struct pixel_window *window, const struct pixel_block *block, int64_t channel_count,
                       const float *columns, const struct image_part *part);

#endif
