/* Context table: what a GPU's memory holds besides the allocator's segments while a program of PyTorch runs, by GPU and
 * by what the program does. Published and measured figures, each with its source, and the rule between them.
 *
 * Three parts, none of which any counter of PyTorch shows:
 *   driver     what the driver keeps of the memory that nvidia-smi prints as the total: CUDA calls the rest the total
 *   context    what a process takes before its first tensor: 2 KiB for each thread that can be resident at a time
 *   libraries  kernels that are loaded when they first run, handles of cuBLAS and cuDNN
 *
 * Kernels are loaded lazily, as PyTorch does since 1.13, or all of a library with it (eagerly): module_table.h. */
#ifndef ASSAY_TAPE_CONTEXT_TABLE_H
#define ASSAY_TAPE_CONTEXT_TABLE_H

#include <stdbool.h>

#include "harness/tape/gpu_table.h"
#include "harness/tape/target.h"

/* low <= likely <= high. */
struct byte_range {
    int64_t low_bytes, likely_bytes, high_bytes;
};

/* What a program does, as far as its libraries depend on it. */
enum context_use { CONTEXT_LOAD, CONTEXT_INFERENCE, CONTEXT_TRAINING };

struct context_program {
    enum context_use use;
    bool is_eager;     /* modules are loaded eagerly; the two below say which */
    bool convolves;    /* cuDNN is loaded */
    int torch_release; /* 2004 for 2.4, INT_MAX for the newest */
};

struct context_ranges {
    struct byte_range driver, context, libraries;
};

/* gpu NULL: any GPU of the class. A class that is no GPU has zeros. */
struct context_ranges context_ranges_find(const struct gpu *gpu, const struct target *target,
                                          const struct context_program *program);

/* The sum of two ranges: each end by itself. */
struct byte_range byte_range_sum(struct byte_range first, struct byte_range second);

/* The rows, for whoever holds the ranges against them. */
enum context_figure {
    CONTEXT_FIGURE_DRIVER, /* bytes that CUDA calls the total */
    CONTEXT_FIGURE_BARE,   /* of a process with a context and nothing else */
    CONTEXT_FIGURE_PROCESS /* of a process that runs, less the segments of its allocator */
};

struct context_row {
    const char *gpu; /* as gpu_table.h has it, or a GPU that is not there */
    const char *target;
    int multiprocessor_count;
    enum context_figure figure;
    struct context_program program; /* of CONTEXT_FIGURE_PROCESS */
    int64_t bytes;
    int64_t rounding_bytes; /* how far the printed figure may be off: messages round to 0.01 GiB */
    const char *software;
    const char *source;
};

/* Row number index, NULL past the end. */
const struct context_row *context_row_at(int index);

#endif
