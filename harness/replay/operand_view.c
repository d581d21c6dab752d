/* Operand view: address arithmetic, and the checks that keep a wrong tape from becoming a wild access. */
#include "harness/replay/operand_view.h"

#include <math.h>
#include <string.h>

#include "harness/base/size.h"

/* The element after the last one that the operand touches, counted from the start of the storage. */
static bool operand_end(const struct operand *operand, int64_t *end)
{
    int64_t last = operand->offset;
    for (int axis = 0; axis < operand->rank; axis++) {
        int64_t step;
        if (operand->size[axis] == 0) {
            *end = operand->offset;
            return true;
        }
        if (!size_multiply(operand->size[axis] - 1, operand->stride[axis], &step) || !size_add(last, step, &last)) {
            return false;
        }
    }
    return size_add(last, 1, end);
}

static bool operand_has_shape(const struct operand *operand)
{
    if (operand->rank < 0 || operand->rank > TENSOR_RANK_MAXIMUM || operand->offset < 0 ||
        (unsigned)operand->dtype >= DTYPE_COUNT) {
        return false;
    }
    for (int axis = 0; axis < operand->rank; axis++) {
        if (operand->size[axis] < 0 || operand->stride[axis] < 0) {
            return false;
        }
    }
    return true;
}

enum status_code operand_view(const struct operand *operand, void *address, int64_t storage_bytes,
                              struct tensor *tensor, struct status *error)
{
    if (!operand_has_shape(operand)) {
        return status_set(error, STATUS_INTERNAL, "no tensor: rank %d, offset %lld, or a negative size or stride",
                          operand->rank, (long long)operand->offset);
    }
    int64_t element_bytes = dtype_bytes(operand->dtype);
    int64_t end, end_bytes, offset_bytes;
    if (!operand_end(operand, &end) || !size_multiply(end, element_bytes, &end_bytes) ||
        !size_multiply(operand->offset, element_bytes, &offset_bytes)) {
        return status_set(error, STATUS_INTERNAL, "the extent of the tensor exceeds 63 bits");
    }
    if (end_bytes > storage_bytes) {
        return status_set(error, STATUS_INTERNAL, "the tensor ends at byte %lld of a storage of %lld",
                          (long long)end_bytes, (long long)storage_bytes);
    }
    /* By integers: the address may be one that only a device understands, or none. */
    tensor->data = address != NULL ? (void *)((uintptr_t)address + (uintptr_t)offset_bytes) : NULL;
    tensor->dtype = operand->dtype;
    tensor->rank = operand->rank;
    memcpy(tensor->size, operand->size, sizeof tensor->size);
    memcpy(tensor->stride, operand->stride, sizeof tensor->stride);
    return STATUS_OK;
}

static double float16_value(uint16_t bits)
{
    double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
    int exponent = (bits >> 10) & 0x1f;
    int fraction = bits & 0x3ff;
    if (exponent == 0x1f) {
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    }
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25));
}

double element_value(enum dtype dtype, const void *bytes)
{
    uint16_t half = 0;
    uint32_t word = 0;
    float value = 0;
    switch (dtype) {
    case DTYPE_FLOAT32:
        memcpy(&value, bytes, sizeof value);
        return (double)value;
    case DTYPE_FLOAT16:
        memcpy(&half, bytes, sizeof half);
        return float16_value(half);
    case DTYPE_BFLOAT16: /* the upper half of a float32 */
        memcpy(&half, bytes, sizeof half);
        word = (uint32_t)half << 16;
        memcpy(&value, &word, sizeof value);
        return (double)value;
    default:
        return (double)NAN;
    }
}
