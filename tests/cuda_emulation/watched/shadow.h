/* Shadow: of every four bytes that lanes have touched, or of each byte where they were touched apart, the stamps that
 * decide whether the next access races. */
#ifndef ASSAY_TESTS_WATCHED_SHADOW_H
#define ASSAY_TESTS_WATCHED_SHADOW_H

#include <cstddef>

#include "tests/cuda_emulation/watched/stamp.h"

/* Of the reads since the last write those that an order with a later write can hang on: the last; the last by another
 * lane of the same warp; the last by another warp; the last by an earlier block. */
struct shadow_cell {
    stamp write, read, read_of_warp, read_of_block, read_of_grid;
};

/* Calls visit for each cell of the bytes. */
void shadow_visit(const void *address, size_t bytes, void (*visit)(shadow_cell *cell, void *data), void *data);

#endif
