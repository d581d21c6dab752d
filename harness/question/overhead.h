/* Overhead: what a device's memory loses before the first tensor, and beside the tensors: the context, libraries,
 * kernels.
 *
 * Known if somebody calibrated the device (assay calibrate) or the caller says it. Otherwise it is a range that was
 * published for other GPUs, never 0:
 *   least  256 MiB: a bare context on an RTX 3090, PyTorch 2.7.1 (invoke-ai/InvokeAI#9413)
 *   most   616 MiB: a process with PyTorch's libraries (LMCache/LMCache#4019), and 321 MiB that the driver keeps of
 *          what nvidia-smi calls the total: an A10 has 23,028 MiB and shows PyTorch 22.18 GiB
 *          (OpenBMB/MiniCPM-V#640) */
#ifndef ASSAY_QUESTION_OVERHEAD_H
#define ASSAY_QUESTION_OVERHEAD_H

#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/case/workload.h"
#include "harness/record/constants.h"

enum overhead_kind {
    OVERHEAD_NONE,     /* the caller's bytes are for tensors alone */
    OVERHEAD_GIVEN,    /* the caller says it */
    OVERHEAD_MEASURED, /* constants of the device */
    OVERHEAD_PUBLISHED /* a range, of other GPUs */
};

struct overhead {
    enum overhead_kind kind;
    int64_t low_bytes, high_bytes; /* equal unless OVERHEAD_PUBLISHED */
};

/* Context and growth of the mode, medians. OVERHEAD_PUBLISHED if constants is NULL or did not calibrate the mode. */
struct overhead overhead_of_device(const struct constants *constants, enum mode mode);

/* Where the figures are from, for people: "published for other GPUs: ..."; static. */
const char *overhead_source(const struct overhead *overhead);

/* What is left of memory after so many bytes; at least 1, which holds nothing. */
int64_t overhead_rest(int64_t memory_bytes, int64_t overhead_bytes);

/* {"low_bytes": ..., "high_bytes": ..., "source": "none" | "given" | "measured" | "published"}; the bytes are null for
 * none. NULL if memory ran out. */
struct json *overhead_to_json(const struct overhead *overhead);

#endif
