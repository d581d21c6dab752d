/* What PyTorch takes while it tries cuDNN's engines for a convolution: torch.backends.cudnn.benchmark.
 *
 * The first time that a convolution of some sizes runs, forward or backward, PyTorch (aten/src/ATen/native/cudnn/
 * Conv_v8.cpp of 2.1 to 2.11: generate_and_filter_plans, get_plans_from_find, run_single_conv) asks cuDNN for all of
 * its engines, takes one workspace that is the largest of them, tries engine after engine in it, gives it back, and
 * empties its cache. Then it runs the fastest, in a workspace of its own. An engine whose workspace is larger than
 * what is free is left out, and if the largest cannot be had, half of it is asked for, and so on: the search never
 * makes a case fail. In every later pass the fastest runs at once.
 *
 * Which engine is the fastest is a matter of time, and not predicted: cudnn_workspace.h has the one that cuDNN itself
 * expects to be the fastest. The largest workspace is a rule, found in what cuDNN 9.19 answers for an H100, A100, RTX
 * 3060, 3090 and 4060 (peers/pytorch/convolution_choice.txt, the second engine of each), and in two networks that an
 * H100 trained (peers/pytorch/probe_benchmark.jsonl and the lines "network" of the reference's probe.jsonl). It is the
 * largest of
 *
 *     layouts    image, weight and result with channels last, channels filled up to whole vectors, beside 16 bytes. On
 *                sm_80 in TF32 forward the result twice; towards the image on sm_80 to sm_89 also the image with its
 *                channels filled up to 128
 *     Fourier    of float32, with or without TF32, at stride 1, forward and towards the weight: images of up to 256
 *                pixels with their padding become n x (n / 2 + 1) numbers of 16 bytes, n the power of two, at least 16,
 *                that holds them. Two of the three tensors are there at a time:
 *                    forward  the larger of image and weight, and the result alone; and the weight
 *                    weight   the larger of image and result, and the weight alone; and the result
 *     tiles      of float32 under 3 x 3, images in tiles of 32 x 32, of 30 pixels each: 4,352 bytes for each pair of
 *                channel and filter, and for each tile of a column of an image's channels and of a result's. Forward
 *                below sm_90; towards the image beside sm_80, of up to 56 x 56 pixels. On sm_90 at stride 2 towards
 *                the image, an image and a weight are four: 4 x 4 places of the weight and the borders of the result
 *                are laid out besides
 *     Winograd   of 16 bits below sm_90, 3 x 3 at stride 1: 36 float32 for each pair of channel and filter, and for
 *                each square of 4 x 4 results of each channel and filter
 *
 * and of what cudnn_workspace.h says. Of those that cuDNN names in TF32 and are 200 MB or more, with 8 and 32 images or
 * more, 181 of 182 are within a tenth for the H100, 179 of 179 for the A100, 189 of 199 and 191 of 205 for the others
 * (tests/models/test_cudnn_search.c).
 *
 * Worked, TF32 on sm_90: 8 images of 64 x 56 x 56, 64 filters of 3 x 3: n = 64, so a plane is 33,792 bytes; forward
 * 64 * 8 of images and 64 * 64 of the weight, 155,713,536, and the weight's 147,456: 155,860,992. 32 images of 512 x
 * 14 x 14, 512 filters of 3 x 3 at stride 2, towards the image: 4,352 * (4 * 262,144 + 32 * (4 * 512 + 512)) =
 * 4,919,918,592, 64 * 262,144 = 16,777,216, and 4 * 32 * (512 * 196 + 512 * 64) = 17,039,360, beside 16 bytes:
 * 4,953,735,184, which the H100 took. */
#ifndef ASSAY_TAPE_CUDNN_SEARCH_H
#define ASSAY_TAPE_CUDNN_SEARCH_H

#include <stdint.h>

#include "harness/kernels/operation.h"
#include "harness/tape/convolution_shape.h"
#include "harness/tape/target.h"

/* In bytes; 0 if no engine takes any. At least convolution_workspace_bytes; that alone where cuDNN was not asked, below
 * sm_80. opcode: one of the three convolutions. Sizes beyond 63 bits end at INT64_MAX. */
int64_t cudnn_search_bytes(const struct target *target, enum opcode opcode, const struct convolution_shape *shape);

#endif
