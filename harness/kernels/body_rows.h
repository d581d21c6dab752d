/* Rows: a dense tensor seen as rows of equal length, all dimensions but the last read as one. */
#ifndef ASSAY_KERNELS_BODY_ROWS_H
#define ASSAY_KERNELS_BODY_ROWS_H

#include <stdint.h>

#include "harness/kernels/operation.h"

struct rows {
    int64_t count;
    int64_t columns;
};

/* A tensor of rank 0 is one row of one element. */
static inline struct rows rows_of(const struct tensor *tensor)
{
    struct rows rows = {1, 1};
    for (int d = 0; d < tensor->rank; d++) {
        rows.count *= rows.columns;
        rows.columns = tensor->size[d];
    }
    return rows;
}

#endif
