/* The kernels around cuBLAS: what it does not do (biases, mixed dtypes, columns of pixels). Each call starts one launch
 * on the default stream and answers what CUDA says of the launch. Empty work starts nothing. */
#ifndef ASSAY_DEVICE_CUDA_PRODUCT_KERNELS_H
#define ASSAY_DEVICE_CUDA_PRODUCT_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "harness/device/product_plan.h"
#include "harness/kernels/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out = beta out + bias for the whole plan; the plan has a bias. out is not read where beta is 0. */
cudaError_t product_bias_launch(const struct matmul_plan *plan);

/* The whole product, any floating dtypes, k = 0 too; sums in float32, rounded once; float8 with its scales; int8 with
 * sums in int32. Much slower than cuBLAS. */
cudaError_t product_any_launch(const struct matmul_plan *plan);

/* Part of the columns of a convolution: images [image, image + images), channels [channel, channel + channels), result
 * pixels [pixel, pixel + pixels) of each image. columns is [images, channels * kernel^2, pixels], dense. */
struct columns_part {
    int64_t image, images;
    int64_t channel, channels;
    int64_t pixel, pixels;
    void *columns;
    enum dtype dtype; /* of columns */
};

/* columns = the image elements that the taps meet, 0 in the padding; in the image's dtype. */
cudaError_t columns_gather_launch(const struct convolution_plan *plan, const struct columns_part *part);

/* The image (a gradient) in these channels and images = the sum of all columns that were taken from each element; all
 * pixels must be in the part, and its dtype is float32. The order of the sum is fixed. */
cudaError_t columns_sum_launch(const struct convolution_plan *plan, const struct columns_part *part);

/* sums[count] = those of all parts, one after the other, added to what is there unless it begins. */
cudaError_t parts_add_launch(float *sums, const float *parts, int64_t part_count, int64_t count, bool begins);

/* A whole convolution of any of the three kinds, any floating dtypes; sums in float32, rounded once. It needs no
 * columns, reads every factor anew for every element, and is slow. */
cudaError_t convolution_any_launch(const struct convolution_plan *plan, enum opcode opcode);

/* Starts a kernel that touches nothing: whether the plug-in holds code for this GPU. */
cudaError_t nothing_launch(void);

/* to[k] = from[k], rounded. */
cudaError_t floats_round_launch(void *to, enum dtype dtype, const float *from, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
