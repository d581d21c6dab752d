/* What cuDNN 9.19 takes for PyTorch 2.11 while it computes a convolution in 16 bits, or in float32 that is rounded to
 * TF32, on sm_80 and newer, as a rule. It was found in 400 convolutions that an H100 computed, and in what cuDNN's
 * heuristic names for an A100, an RTX 3090 and an RTX 4060 (peers/pytorch/convolution_choice.txt: cuDNN answers for
 * GPUs that are described to it). Tensor cores want channels last in memory, and images of PyTorch have them first. So
 * image, weight and result are laid out anew, beside 16 bytes:
 *
 *     image   its bytes; in 16 bits the channels are filled up to a multiple of 8, which are 16 bytes
 *     weight  its bytes, its channels filled up in the same way; none if it lies so already (kernel 1, no filling
 *             up)
 *     result  its bytes; none forward in TF32 on sm_80 to sm_89, whose kernels write it as it lies. On sm_90 such
 *             kernels compute 3 x 3 over 64 channels (128 filters, or up to 32 images of up to 56 x 56 pixels) and
 *             256 -> 512 at stride 2 with kernel 1, from 12,544 pixels of all results on
 *
 * One pixel is laid out already: a window that covers its whole image (VGG's first linear layer, which timm has as a
 * convolution of 7 x 7) gives a result that needs no copy.
 *
 * Towards the weight sm_90 divides the sums among its 132 multiprocessors, and adds up the parts in float32. The
 * gradient, filters x (channels * kernel^2), is cut into tiles of 128 or, where that does not divide a side, 64:
 *
 *     TF32     multiprocessors / tiles parts of each tile, if each part has 1,024 summands (pixels of all results).
 *              Of more tiles than multiprocessors, those of the last round alone. Oblong tiles go by twos
 *     16 bits  the same by twos, of sums of at least 25,088; each part of a tile of 128 x 128 has 6,272 of them
 *     few      channels, fewer than a vector, under windows that overlap: channels are filled up in TF32 too, and
 *              multiprocessors / (256 columns) whole gradients are added up
 *
 * each with 4 bytes to count it, beside 160 bytes.
 *
 * On sm_80 cuDNN names such sums in TF32 too: whole gradients, beside 128 bytes, and none of fewer than 1,024 summands.
 * Of 36 tiles of 128 x 128 and more they are as many as four rounds of the multiprocessors have room for; of fewer
 * tiles 81 / tiles, and at most 37, which is between the 9 and 69 that it names. On sm_86 to sm_89 it names few or
 * none. A workspace that is a little larger than the one before it finds no place among what was given back, so these
 * sums decide whether the largest workspace of a network is there twice: 3.3 GB of VGG-16 with 128 images.
 *
 * Winograd's form is taken in TF32 on sm_90 by up to 8 images under 3
 * x 3 at stride 1, of 64 to 256 channels and filters and at most 392 squares of 4 x 4 results: 36 float32 for each
 * filter and channel, and for each square of each. In TF32 beyond sm_80 a window that covers the image takes 4 bytes
 * for each of its places and each filter.
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
 *     in TF32 with kernel 1 on sm_86 to sm_89: towards the image; towards the weight with a stride; and all three of up
 *     to 128 * 256 pairs of a channel and a filter
 *
 * float32 without TF32 takes nothing on sm_90 if windows cut an image into patches (ViT). What this leaves out stands
 * in docs/pytorch-findings.md.
 *
 * Worked: 8 images of 64 x 56 x 56, 64 filters of 3 x 3, padding 1, bfloat16. On sm_90 image and result are 3,211,264
 * bytes each and the weight 73,728: 6,496,272 forward. Towards the weight its gradient of 64 x 576 are 9 tiles of 64 x
 * 64, ten with the odd one's partner; 132 / 10 = 13 parts, since there are 25,088 summands: 13 * 9 * (16,384 + 4) + 160
 * = 1,917,556 more, 8,413,828 (the H100 took 8,413,863). The first convolution of ResNet-50, 8 images of 3 x 224 x 224,
 * 64 filters of 7 x 7, stride 2: 8 channels of image 6,422,528, of weight 50,176, result 12,845,056: 19,317,776. 32
 * images of 256 x 56 x 56 in TF32 on sm_80, 256 filters of 3 x 3, towards the weight: 207,880,208 of layouts, and 4 *
 * 108 / 36 = 12 gradients of 2,359,296 and 128: 236,191,888, as cuDNN names it.
 */
#ifndef ASSAY_TAPE_CUDNN_WORKSPACE_H
#define ASSAY_TAPE_CUDNN_WORKSPACE_H

#include <stdint.h>

#include "harness/kernels/operation.h"
#include "harness/tape/convolution_shape.h"
#include "harness/tape/target.h"

/* In bytes; 0 if none is taken, INT64_MAX beyond 63 bits. opcode: one of the three convolutions. */
int64_t cudnn_workspace_bytes(const struct target *target, enum opcode opcode, const struct convolution_shape *shape);

#endif
