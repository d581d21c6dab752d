/* Convolution workspaces: cuDNN's where a rule is known, else our own formula. Who takes the memory is op_image.c. */
#include "harness/tape/convolution_workspace.h"

#include <stddef.h>

#include "harness/base/size.h"
#include "harness/tape/cudnn_workspace.h"

enum { PRODUCTS_BYTES = 1 << 20, SUMS_UNIT_BYTES = 256, MEASURED_CAPABILITY = 90, AMPERE_CAPABILITY = 80 };

static int64_t columns_bytes(enum opcode opcode, const struct convolution_shape *shape)
{
    if (convolution_is_pointwise(shape)) {
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

int64_t convolution_workspace_bytes(const struct target *target, enum opcode opcode,
                                    const struct convolution_shape *shape)
{
    bool patches = shape->kernel > 1 && shape->kernel == shape->stride && shape->padding == 0;
    bool tensor_cores = shape->dtype != DTYPE_FLOAT32 || shape->tf32_allowed;
    if (target->capability >= AMPERE_CAPABILITY &&
        (tensor_cores || (patches && target->capability == MEASURED_CAPABILITY))) {
        return cudnn_workspace_bytes(target, opcode, shape);
    }
    int64_t most = target->convolution_workspace_bytes;
    return most > 0 ? own_bytes(most, opcode, shape) : 0;
}
