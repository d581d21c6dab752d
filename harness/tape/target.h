/* Targets: what a class of devices makes PyTorch allocate besides tensors. One row each, named by --for.
 *
 * A tape is built for a target, not for a device: a host can replay a tape that was built for sm_90, and then takes the
 * workspaces that a GPU would take. Sources: PyTorch 2.11 (research notes in docs/NUMBERS.md). */
#ifndef ASSAY_TAPE_TARGET_H
#define ASSAY_TAPE_TARGET_H

#include <stdint.h>

#include "harness/base/status.h"
#include "harness/kernels/dtype.h"

/* Which kernel computes scaled dot product attention, and so what it saves and what scratch it takes. */
enum attention_backend {
    ATTENTION_NATIVE,   /* our own tiled kernel: output and log-sum-exp, no scratch */
    ATTENTION_CUDNN,    /* lse f32 [B, a, S]; backward: dq accumulator f32 [B, a, S, D] and f32 [B, a, S] */
    ATTENTION_FLASH,    /* lse f32 [B, a, S]; backward: dq accumulator and row sums, rounded to 128 rows, 32 columns */
    ATTENTION_EFFICIENT /* lse f32 [B, a, S rounded up to 32] */
};

struct target {
    const char *name;                /* "sm_90", "sm_80", "host", ... */
    int64_t product_workspace_bytes; /* per thread that multiplies matrices (forward, backward); 0: none */
    int64_t
        biased_linear_workspace_bytes;   /* cublasLt, per such thread, at its first linear layer with a bias; 0: none */
    int64_t convolution_workspace_bytes; /* the most that one convolution is given while it runs; 0: none */
    enum attention_backend attention_16bit;
    enum attention_backend attention_32bit;
};

/* NULL error text lists the names. */
enum status_code target_find(const char *name, const struct target **target, struct status *error);

/* Row number index, NULL past the end. Row 0 is the default. */
const struct target *target_at(int index);

#endif
