/* Product plans: a matrix product or a CONVOLUTION call as a matrix library wants to see it. Pure arithmetic on shapes
 * and strides; shared by the host and the CUDA plug-in, so that both multiply the same matrices. */
#ifndef ASSAY_DEVICE_PRODUCT_PLAN_H
#define ASSAY_DEVICE_PRODUCT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/kernels/operation.h"

/* A matrix in memory. Its element (row, column) lies at row * leading + column, or, where transposed, at
 * column * leading + row. leading is at least 1 and at least the size it steps over. batch_stride: for the two loops of
 * the plan, in elements. */
struct product_matrix {
    void *data;
    enum dtype dtype;
    bool transposed;
    int64_t leading;
    int64_t batch_stride[2];
};

/* The scratch memory that came with a call; bytes 0: none. */
struct product_workspace {
    void *data;
    int64_t bytes;
};

/* What lies behind the address of a workspace of so many bytes (kernels/operation.h). */
static inline int64_t workspace_room(int64_t bytes)
{
    return (bytes + WORKSPACE_UNIT_BYTES - 1) / WORKSPACE_UNIT_BYTES * WORKSPACE_UNIT_BYTES;
}

/* out = alpha a b + beta out + bias for every batch[0] x batch[1]. a [m, k], b [k, n], out [m, n]; out is never
 * transposed (where the call's is, the plan computes out^T = b^T a^T and the bias runs along the rows). */
struct matmul_plan {
    int64_t m, n, k;
    int64_t batch[2]; /* outer, inner; 1 if there is no such loop */
    struct product_matrix a, b, out;
    bool has_bias, bias_along_rows; /* bias[column], or bias[row]; dense */
    const void *bias;
    enum dtype bias_dtype;
    float alpha, beta;
    bool tf32_allowed;              /* float32 factors may be rounded to TF32 */
    const float *a_scale, *b_scale; /* where the device keeps factors of alpha; NULL: none (MATMUL) */
    struct product_workspace workspace;
};

/* From a MATMUL, INTEGER_MATMUL or SCALED_MATMUL call. Leading dimensions that one stride spans are merged; a batch
 * that shares one b becomes rows. STATUS_INTERNAL with shapes and the reason if the call breaks the contract of
 * kernels/operation.h. */
enum status_code matmul_plan(const struct operation_call *call, struct matmul_plan *plan, struct status *error);

/* The geometry of the three convolutions. image [N, C, H, W], weight [O, C, k, k], result [N, O, rows, columns]. */
struct convolution_plan {
    int64_t images, channels, height, width;
    int64_t filters, kernel, stride, padding;
    int64_t rows, columns;                               /* of the result */
    const struct tensor *image, *weight, *result, *bias; /* bias NULL: none; borrowed from the call */
    bool pointwise; /* kernel 1, stride 1, no padding: the image is its own matrix of columns */
    bool tf32_allowed;
    struct product_workspace workspace;
};

/* Pixels of a plane that a warp of the CUDA kernels around a convolution's products takes at a time: of the columns, of
 * which there are many planes, and of an image's gradient, whose pixels are sums. */
enum { GATHER_PIECE = 1024, SUM_PIECE = 256 };

/* From a CONVOLUTION, CONVOLUTION_BACKWARD_INPUT or CONVOLUTION_BACKWARD_WEIGHT call; errors as above. */
enum status_code convolution_plan(const struct operation_call *call, struct convolution_plan *plan,
                                  struct status *error);

#endif
