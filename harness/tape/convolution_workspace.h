/* How much scratch memory a convolution is given while it runs. Who takes it is op_image.c; our own kernels do with any
 * size.
 *
 * In 16 bits, and in float32 that is rounded to TF32, on sm_80 and newer it is what cuDNN 9.19 takes for PyTorch 2.11,
 * as a rule. It was found in 400 convolutions that an H100 computed, and in what cuDNN's heuristic names for an A100,
 * an RTX 3090 and an RTX 4060 (peers/pytorch/convolution_choice.txt: cuDNN answers for GPUs that are described to it).
 * Tensor cores want channels last in memory, and images of PyTorch have them first. So image, weight and result are
 * laid out anew, beside 16 bytes:
 *
 *     image   its bytes; in 16 bits the channels are filled up to a multiple of 8, which are 16 bytes
 *     weight  its bytes, its channels filled up in the same way; none if it lies so already (kernel 1, no filling
 *             up)
 *     result  its bytes; none forward in TF32 on sm_80 to sm_89, whose kernels write it as it lies
 *
 * A window of one pixel (kernel 1, stride 1, no padding) is a product of matrices for each image, as they lie, if
 * the rows of these begin at whole vectors of memory:
 *
 *     forward, image  nothing, if the bytes of one plane of pixels are a multiple of 8
 *     weight          a float32 gradient for each image, to be added up, if they are a multiple of 16 and, beyond 8
 *                     images, these gradients are at most 5/4 of the layouts above
 *
 * Some convolutions are computed without tensor cores, and so take nothing:
 *
 *     forward, and towards the weight in TF32, if an element is a sum of at most 27 products (an image of 3 channels
 *     under 3 x 3), on sm_86 to sm_89 of 147 (7 x 7)
 *     towards the image in TF32 with kernel 1, and towards the weight with kernel 1 and a stride, on sm_86 to sm_89
 *
 * float32 without TF32 takes nothing on sm_90 if windows cut an image into patches (ViT). What this leaves out, up to
 * 8.25 MiB of partial sums above all, stands in docs/pytorch-findings.md.
 *
 * Elsewhere it is our own formula, for our own way of computing (other classes, and other float32 without TF32):
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
 * Worked: 8 images of 64 x 56 x 56, 64 filters of 3 x 3, padding 1, bfloat16. On sm_90 image and result are 3,211,264
 * bytes each and the weight 73,728: 6,496,272. The first convolution of ResNet-50, 8 images of 3 x 224 x 224, 64
 * filters of 7 x 7, stride 2: 8 channels of image 6,422,528, of weight 50,176, result 12,845,056: 19,317,776.
 * By our own formula the former: columns 8 * 64 * 9 * 3,136 * 2 = 28,901,376 bytes; forward 29,949,952. Towards the
 * image 1,048,576 + 57,802,752 = 58,851,328. Towards the weight, with sums of 64 * 64 * 9 * 4 = 147,456 bytes,
 * 30,097,408. */
#ifndef ASSAY_TAPE_CONVOLUTION_WORKSPACE_H
#define ASSAY_TAPE_CONVOLUTION_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/kernels/operation.h"
#include "harness/tape/target.h"

struct convolution_shape {
    int64_t images, channels, filters, kernel, stride, padding;
    int64_t image_rows, image_columns;
    int64_t rows, columns; /* of the result */
    enum dtype dtype;
    bool tf32_allowed; /* of float32 */
};

/* In bytes; 0 if none is taken. opcode: one of the three convolutions. Sizes beyond 63 bits end at INT64_MAX, by our
 * own formula at the most that the target gives. */
int64_t convolution_workspace_bytes(const struct target *target, enum opcode opcode,
                                    const struct convolution_shape *shape);

#endif
