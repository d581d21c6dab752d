/* Overhead: what a device's memory loses before the first tensor, and beside the tensors: what the driver keeps, the
 * context, libraries, kernels.
 *
 * Known if somebody calibrated the device and the caller names those constants (assay calibrate), or if the caller says
 * it. Otherwise it is a range for a program of PyTorch, from published and measured figures (harness/tape/
 * context_table.h), never 0. Constants are those of assay's own process, which loads fewer kernels than PyTorch's, so
 * they are not taken unasked. */
#ifndef ASSAY_QUESTION_OVERHEAD_H
#define ASSAY_QUESTION_OVERHEAD_H

#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/case/workload.h"
#include "harness/record/constants.h"
#include "harness/tape/context_table.h"
#include "models/config/config.h"

enum overhead_kind {
    OVERHEAD_NONE,     /* the caller's bytes are for tensors alone */
    OVERHEAD_GIVEN,    /* the caller says it */
    OVERHEAD_MEASURED, /* constants of the device */
    OVERHEAD_PUBLISHED /* a range */
};

struct overhead {
    enum overhead_kind kind;
    int64_t low_bytes, likely_bytes, high_bytes; /* equal if it is given, or measured and of no GPU's whole memory */
    struct context_ranges parts;                 /* of OVERHEAD_PUBLISHED, what it consists of */
};

/* What the process and the driver take of all the memory that nvidia-smi prints.
 *   constants  not NULL: their context and growth of the mode, medians, if they calibrated it
 *   gpu        NULL: any of the class; with constants: the memory is no GPU's whole, and the driver keeps none of it
 *   target     the class
 *   program    what it does there */
struct overhead overhead_of_device(const struct constants *constants, const struct gpu *gpu,
                                   const struct target *target, enum mode mode, const struct context_program *program);

/* Of a process alone, as published: without what the driver keeps. */
struct overhead overhead_of_process(const struct gpu *gpu, const struct target *target,
                                    const struct context_program *program);

/* What a case uses of libraries, and how they are loaded. config NULL: of any model, what most use. */
struct context_program context_program_of(const struct config *config, const struct workload *workload);

/* Where the figures are from, for people: "from published figures"; static. */
const char *overhead_source(const struct overhead *overhead);

/* What is left of memory after so many bytes; at least 1, which holds nothing. */
int64_t overhead_rest(int64_t memory_bytes, int64_t overhead_bytes);

/* {"low_bytes", "likely_bytes", "high_bytes"}. NULL if memory ran out. */
struct json *byte_range_to_json(struct byte_range range);

/* {"low_bytes", "likely_bytes", "high_bytes", "source": "none" | "given" | "measured" | "published", "driver",
 * "context", "libraries"}; the bytes are null for none, the last three (ranges) unless it is published. NULL if memory
 * ran out. */
struct json *overhead_to_json(const struct overhead *overhead);

#endif
