/* How much scratch memory a convolution is given while it runs. Who takes it is op_image.c; our own kernels do with any
 * size.
 *
 * In 16 bits, and in float32 that is rounded to TF32, on sm_80 and newer it is what cuDNN takes, by the rule of
 * cudnn_workspace.h. Elsewhere it is our own formula, for our own way of computing (other classes, and other float32
 * without TF32):
 *
 *     products + sums + columns, at most target->convolution_workspace_bytes
 *
 *     products  1 MiB, for cuBLAS
 *     columns   images * channels * kernel^2 * result pixels elements: the matrix of pixel columns, in the dtype of the
 *               image, in float32 for CONVOLUTION_BACKWARD_INPUT. None for windows of one pixel, for which the
 *               image is that matrix
 *     sums      filters * channels * kernel^2 float32, to multiples of 256 bytes: CONVOLUTION_BACKWARD_WEIGHT in 16
 *               bits, which adds images up in float32 and rounds once
 *
 * Worked: 8 images of 64 x 56 x 56, 64 filters of 3 x 3, padding 1, bfloat16. By our own formula columns are 8 * 64 * 9
 * * 3,136 * 2 = 28,901,376 bytes; forward 29,949,952. Towards the image 1,048,576 + 57,802,752 = 58,851,328. Towards
 * the weight, with sums of 64 * 64 * 9 * 4 = 147,456 bytes, 30,097,408. */
#ifndef ASSAY_TAPE_CONVOLUTION_WORKSPACE_H
#define ASSAY_TAPE_CONVOLUTION_WORKSPACE_H

#include <stdint.h>

#include "harness/kernels/operation.h"
#include "harness/tape/convolution_shape.h"
#include "harness/tape/target.h"

/* In bytes; 0 if none is taken. opcode: one of the three convolutions. Sizes beyond 63 bits end at INT64_MAX, by our
 * own formula at the most that the target gives. */
int64_t convolution_workspace_bytes(const struct target *target, enum opcode opcode,
                                    const struct convolution_shape *shape);

#endif
