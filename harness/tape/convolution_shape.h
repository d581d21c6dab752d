/* The sizes of a convolution of square windows, for those who reckon what it takes. */
#ifndef ASSAY_TAPE_CONVOLUTION_SHAPE_H
#define ASSAY_TAPE_CONVOLUTION_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/size.h"
#include "harness/kernels/dtype.h"

struct convolution_shape {
    int64_t images, channels, filters, kernel, stride, padding;
    int64_t image_rows, image_columns;
    int64_t rows, columns; /* of the result */
    enum dtype dtype;
    bool tf32_allowed; /* of float32 */
};

/* A window of one pixel at every pixel: a product of matrices. */
static inline bool convolution_is_pointwise(const struct convolution_shape *shape)
{
    return shape->kernel == 1 && shape->stride == 1 && shape->padding == 0;
}

/* The product of count numbers; INT64_MAX if it does not fit. */
static inline int64_t product_or_most(const int64_t *factors, int count)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++) {
        if (!size_multiply(product, factors[i], &product)) {
            return INT64_MAX;
        }
    }
    return product;
}

#endif
