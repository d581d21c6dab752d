/* Convolution workspaces: the sums behind the header's rules. Who takes the memory is op_image.c. */
#include "harness/tape/convolution_workspace.h"

#include <stddef.h>

#include "harness/base/size.h"

enum {
    PRODUCTS_BYTES = 1 << 20,
    SUMS_UNIT_BYTES = 256,
    MEASURED_CAPABILITY = 90,
    AMPERE_CAPABILITY = 80,
    FEW_PRODUCTS = 3 * 3 * 3, /* of an element: a window of 3 x 3 over an image of 3 channels */
    FEW_PRODUCTS_SMALL = 3 * 7 * 7,
    FEW_IMAGES = 8,    /* whose gradients are added up, however large they are */
    VECTOR_BYTES = 16, /* that a tensor core's loads take at once */
    HALF_VECTOR_BYTES = 8,
    LAYOUT_BYTES = 16 /* beside the tensors that are laid out anew */
};

/* The product of count numbers; INT64_MAX if it does not fit. */
static int64_t product_or_most(const int64_t *factors, int count)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++) {
        if (!size_multiply(product, factors[i], &product)) {
            return INT64_MAX;
        }
    }
    return product;
}

static bool is_pointwise(const struct convolution_shape *shape)
{
    return shape->kernel == 1 && shape->stride == 1 && shape->padding == 0;
}

static int64_t columns_bytes(enum opcode opcode, const struct convolution_shape *shape)
{
    if (is_pointwise(shape)) {
        return 0;
    }
    enum dtype dtype = opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT ? DTYPE_FLOAT32 : shape->dtype;
    const int64_t factors[] = {shape->images, shape->channels, shape->kernel,     shape->kernel,
                               shape->rows,   shape->columns,  dtype_bytes(dtype)};
    return product_or_most(factors, (int)(sizeof factors / sizeof factors[0]));
}

static int64_t sums_bytes(enum opcode opcode, const struct convolution_shape *shape)
{
    if (opcode != OPCODE_CONVOLUTION_BACKWARD_WEIGHT || shape->dtype == DTYPE_FLOAT32) {
        return 0;
    }
    const int64_t factors[] = {shape->filters, shape->channels, shape->kernel, shape->kernel,
                               dtype_bytes(DTYPE_FLOAT32)};
    int64_t bytes = product_or_most(factors, (int)(sizeof factors / sizeof factors[0]));
    return size_round_up(bytes, SUMS_UNIT_BYTES, &bytes) ? bytes : INT64_MAX;
}

static int64_t own_bytes(int64_t most, enum opcode opcode, const struct convolution_shape *shape)
{
    int64_t bytes = 0;
    if (!size_add(sums_bytes(opcode, shape), columns_bytes(opcode, shape), &bytes) ||
        !size_add(bytes, PRODUCTS_BYTES, &bytes)) {
        return most;
    }
    return bytes < most ? bytes : most;
}

static bool is_tf32(const struct convolution_shape *shape)
{
    return shape->dtype == DTYPE_FLOAT32;
}

/* GPUs without the large caches of data centres: sm_86, sm_87 and sm_89. */
static bool is_small_ampere(const struct target *target)
{
    return target->capability > AMPERE_CAPABILITY && target->capability < MEASURED_CAPABILITY;
}

/* Image, weight and, with it, result with channels last. */
static int64_t layout_bytes(const struct convolution_shape *shape, bool with_result)
{
    int64_t element = dtype_bytes(shape->dtype), channels = shape->channels, bytes = LAYOUT_BYTES;
    if (element < dtype_bytes(DTYPE_FLOAT32) && !size_round_up(channels, VECTOR_BYTES / element, &channels)) {
        return INT64_MAX;
    }
    const int64_t image[] = {shape->images, channels, shape->image_rows, shape->image_columns, element};
    const int64_t weight[] = {shape->filters, channels, shape->kernel, shape->kernel, element};
    const int64_t result[] = {shape->images, shape->filters, shape->rows, shape->columns, element};
    bool laid_so = shape->kernel == 1 && channels == shape->channels;
    bool fits = size_add(bytes, product_or_most(image, 5), &bytes) &&
                (laid_so || size_add(bytes, product_or_most(weight, 5), &bytes)) &&
                (!with_result || size_add(bytes, product_or_most(result, 5), &bytes));
    return fits ? bytes : INT64_MAX;
}

/* Whether cuDNN computes without tensor cores and so without another layout. */
static bool stays_as_it_lies(const struct target *target, enum opcode opcode, const struct convolution_shape *shape)
{
    bool small = is_small_ampere(target), forward = opcode == OPCODE_CONVOLUTION;
    const int64_t window[] = {shape->channels, shape->kernel, shape->kernel};
    bool few = product_or_most(window, 3) <= (small ? FEW_PRODUCTS_SMALL : FEW_PRODUCTS);
    bool to_weight = opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
    bool point = shape->kernel == 1, strided = shape->stride > 1;
    return (few && (forward || (to_weight && is_tf32(shape)))) ||
           (small && is_tf32(shape) && point && !forward && (strided || !to_weight));
}

static int64_t cudnn_bytes(const struct target *target, enum opcode opcode, const struct convolution_shape *shape)
{
    if (shape->dtype == DTYPE_FLOAT32 && !shape->tf32_allowed) {
        return 0;
    }
    if (is_pointwise(shape)) {
        const int64_t plane[] = {shape->rows, shape->columns, dtype_bytes(shape->dtype)};
        const int64_t gradients[] = {shape->images, shape->filters, shape->channels, dtype_bytes(DTYPE_FLOAT32)};
        int64_t plane_bytes = product_or_most(plane, 3), gradients_bytes = product_or_most(gradients, 4);
        bool to_weight = opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
        if (!to_weight && plane_bytes % HALF_VECTOR_BYTES == 0) {
            return 0;
        }
        if (to_weight && plane_bytes % VECTOR_BYTES == 0 &&
            (shape->images <= FEW_IMAGES || gradients_bytes / 5 <= layout_bytes(shape, true) / 4)) {
            return gradients_bytes;
        }
    }
    if (stays_as_it_lies(target, opcode, shape)) {
        return 0;
    }
    bool writes_in_place = opcode == OPCODE_CONVOLUTION && is_tf32(shape) && target->capability < MEASURED_CAPABILITY;
    return layout_bytes(shape, !writes_in_place);
}

int64_t convolution_workspace_bytes(const struct target *target, enum opcode opcode,
                                    const struct convolution_shape *shape)
{
    bool patches = shape->kernel > 1 && shape->kernel == shape->stride && shape->padding == 0;
    bool tensor_cores = shape->dtype != DTYPE_FLOAT32 || shape->tf32_allowed;
    if (target->capability >= AMPERE_CAPABILITY &&
        (tensor_cores || (patches && target->capability == MEASURED_CAPABILITY))) {
        return cudnn_bytes(target, opcode, shape);
    }
    int64_t most = target->convolution_workspace_bytes;
    return most > 0 ? own_bytes(most, opcode, shape) : 0;
}
