/* Creation: the elements of sequences and causal masks. */
#ifndef ASSAY_KERNELS_BODY_CREATE_H
#define ASSAY_KERNELS_BODY_CREATE_H

#include "harness/kernels/body_random.h"
#include "harness/kernels/body_rows.h"

BODY int64_t sequence_element(int64_t index, int64_t columns, int64_t start, int64_t step)
{
    return start + index % columns * step;
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

struct span_shape {
    int64_t rows, columns;
    int64_t offset; /* columns beyond row + offset are masked */
    int64_t window; /* so many columns up to that one are seen */
};

static inline struct span_shape span_shape_of(const struct operation_call *call)
{
    const struct tensor *out = &call->tensors[call->input_count];
    const int64_t *i = call->attributes.i;
    struct span_shape shape = {out->size[2], out->size[3], i[0], i[1] > 0 ? i[1] : INT64_MAX / 2};
    return shape;
}

/* The first column that a row sees, and the one after the last. */
BODY int64_t span_first(int64_t row, struct span_shape shape)
{
    int64_t first = row + shape.offset + 1 - shape.window;
    return first < 0 ? 0 : first > shape.columns ? shape.columns : first;
}

BODY int64_t span_end(int64_t row, struct span_shape shape)
{
    int64_t end = row + shape.offset + 1;
    return end < 0 ? 0 : end > shape.columns ? shape.columns : end;
}

/* Whether an element of a mask [B, 1, rows, columns] may be looked at; seen is [B, columns], or NULL. */
BODY bool attention_mask_element(int64_t index, struct span_shape shape, const int64_t *seen)
{
    int64_t column = index % shape.columns;
    int64_t row = index / shape.columns % shape.rows;
    return column >= span_first(row, shape) && column < span_end(row, shape) &&
           (seen == NULL || seen[index / shape.columns / shape.rows * shape.columns + column] != 0);
}

#endif
