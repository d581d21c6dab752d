/* Chunks: a tensor in many parts, the cross entropy of one part, and the loss that those of all parts are made into. */
#ifndef ASSAY_TAPE_CHUNK_H
#define ASSAY_TAPE_CHUNK_H

#include "harness/tape/build.h"

/* torch.split(a, size) into parts, of which there are tape_chunk_count; the last may be smaller. */
void tape_chunks(struct tape *tape, struct value *a, int dimension, int64_t size, struct value **parts);
static inline int64_t tape_chunk_count(int64_t whole, int64_t size)
{
    return (whole + size - 1) / size;
}

/* cross_entropy(reduction="sum") of a part of all rows, or by_rows that of "none", of which the first row is given the
 * losses of all. counted: how many targets are not -100. */
struct value *tape_cross_entropy_part(struct tape *tape, struct value *logits, struct value *targets, int64_t counted,
                                      bool by_rows);
/* The sum of the losses of count parts by how many targets of all of them count. */
struct value *tape_losses_mean(struct tape *tape, struct value *const *losses, int count, int64_t counted);

#endif
