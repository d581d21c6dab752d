/* Creation: the elements of sequences and causal masks. */
#ifndef ASSAY_KERNELS_BODY_CREATE_H
#define ASSAY_KERNELS_BODY_CREATE_H

#include "harness/kernels/body_random.h"
#include "harness/kernels/body_rows.h"

BODY int64_t sequence_element(int64_t index, int64_t columns, int64_t start)
{
    return start + index % columns;
}

struct mask_shape {
    int64_t rows, columns;
    int64_t offset; /* columns beyond row + offset are masked */
    float lowest;   /* the lowest finite value of the mask's dtype */
};

static inline struct mask_shape mask_shape_of(const struct operation_call *call)
{
    const struct tensor *out = &call->tensors[0];
    struct mask_shape shape;
    shape.rows = out->size[out->rank - 2];
    shape.columns = out->size[out->rank - 1];
    shape.offset = call->attributes.i[0];
    shape.lowest = (float)dtype_lowest(out->dtype);
    return shape;
}

BODY float causal_mask_element(int64_t index, struct mask_shape shape)
{
    int64_t column = index % shape.columns;
    int64_t row = index / shape.columns % shape.rows;
    return column <= row + shape.offset ? 0.0f : shape.lowest;
}

/* Whether an element of a mask [B, 1, rows, columns] may be looked at; seen is [B, columns]. */
BODY bool attention_mask_element(int64_t index, int64_t rows, int64_t columns, int64_t offset, const int64_t *seen)
{
    int64_t column = index % columns;
    int64_t row = index / columns % rows;
    return column <= row + offset && seen[index / columns / rows * columns + column] != 0;
}

#endif
