/* Targets: what a class of devices makes PyTorch allocate besides tensors. One row each, named by --for.
 *
 * A tape is built for a target, not for a device: a host can replay a tape that was built for sm_90, and then takes the
 * workspaces that a GPU would take. Sources: PyTorch 2.11 (research notes in docs/NUMBERS.md). */
#ifndef ASSAY_TAPE_TARGET_H
#define ASSAY_TAPE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"

struct target {
    const char *name;                /* "sm_90", "sm_80", "host", ...; "sm_86:28": with so many multiprocessors */
    int64_t product_workspace_bytes; /* per thread that multiplies matrices (forward, backward); 0: none */
    int64_t
        biased_linear_workspace_bytes;   /* cublasLt, per such thread, at its first linear layer with a bias; 0: none */
    int64_t convolution_workspace_bytes; /* the most that one convolution is given while it runs; 0: none */
    /* compute capability: 90 for sm_90; 0: no GPU. Chooses among the kernels of attention, and float8 */
    int capability;
    /* Of the class's usual data-centre GPU, or of the GPU: among how many blocks PyTorch divides a sum
     * (reduction_scratch.h). 0: no GPU. */
    int multiprocessor_count;
    int multiprocessor_threads; /* that one multiprocessor runs at a time */
};

/* A row by its name, or by what people call it: "H100" and "a100" (gpu_table.h), "sm90", "9.0", "cpu" for host, "gpu"
 * and "cuda" for the default. (*target)->name is the one that records keep. STATUS_INVALID lists the names. */
enum status_code target_find(const char *name, const struct target **target, struct status *error);

/* Its class, with its own number of multiprocessors where that is known. */
struct gpu;
const struct target *target_of_gpu(const struct gpu *gpu);

/* Row number index of the classes, NULL past the end. Row 0 is the default. */
const struct target *target_at(int index);

#endif
