/* Walk on the host: calls a function for every piece of a line, pieces dealt to threads. */
#ifndef ASSAY_KERNELS_HOST_WALK_H
#define ASSAY_KERNELS_HOST_WALK_H

#include "harness/kernels/body_walk.h"
#include "harness/kernels/host_span.h"

/* count elements (1 to SPAN_ELEMENTS), one walk_step apart in each tensor. */
struct walk_piece {
    int64_t offset[WALK_TENSORS]; /* of the first element, in elements */
    int64_t first;                /* its row-major index */
    int64_t count;
};

typedef void walk_function(void *context, const struct walk *walk, const struct walk_piece *piece);

/* Pieces come in any order and at the same time. */
void host_walk_run(const struct walk *walk, walk_function *function, void *context);

/* Elements between neighbours of a piece in tensor t. */
static inline int64_t walk_step(const struct walk *walk, int t)
{
    return walk->stride[t][walk->rank - 1];
}

#endif
