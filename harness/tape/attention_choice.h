/* Which kernel PyTorch 2.11 computes scaled dot product attention with, and so what it keeps and what scratch it takes.
 *
 * A pure function of the call and of the GPU's compute capability: the rules of aten/src/ATen/native/transformers/cuda/
 * sdp_utils.cpp (select_sdp_backend) with the cuDNN 9.19 that PyTorch's wheels bring. The rules were read in the
 * headers of the wheel and held against its own compiled dispatcher, asked for every combination on pretended devices
 * (peers/pytorch/attention_choice.py). Nothing here knows a tape. */
#ifndef ASSAY_TAPE_ATTENTION_CHOICE_H
#define ASSAY_TAPE_ATTENTION_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/kernels/dtype.h"

/* X(NAME, name in records) */
#define ATTENTION_BACKEND_TABLE(X)                                                                                     \
    X(NATIVE, "native")       /* our own tiled kernel: output and log-sum-exp, no scratch */                           \
    X(CUDNN, "cudnn")         /* lse, seed and offset; backward: dq accumulator and row sums */                        \
    X(FLASH, "flash")         /* lse, parts, random state; backward: rounded to 128 rows, 32 columns */                \
    X(EFFICIENT, "efficient") /* lse rounded to 32 rows; backward: row sums, tiles of dq */                            \
    X(MATH, "math")           /* scores stored: the composed form */                                                   \
    X(SEVERAL, "several")     /* of a whole tape: calls of different kinds */

enum attention_backend {
    ATTENTION_BACKEND_NONE, /* of a whole tape: no call */
#define ATTENTION_BACKEND_ENUM(name, text) ATTENTION_BACKEND_##name,
    ATTENTION_BACKEND_TABLE(ATTENTION_BACKEND_ENUM)
#undef ATTENTION_BACKEND_ENUM
};

/* One call. q [batch, heads, rows, width], k [batch, groups, columns, width], v [batch, groups, columns, value_width],
 * at least one row and column. */
struct attention_case {
    enum dtype dtype; /* of q, k and v, floating */
    int64_t heads, groups, width, value_width, rows, columns;
    bool broadcast;   /* fewer groups than heads are broadcast, not grouped: enable_gqa is not set */
    bool masked;      /* a mask is given */
    bool mask_learns; /* and a gradient of it is wanted */
    bool causal;      /* the flag, not a mask */
    bool dropped;
    bool gradients;     /* a gradient of q, k or v is wanted */
    bool without_cudnn; /* a release that does not ask cuDNN first (tape_torch) */
};

/* capability: 90 for sm_90; 0: no GPU, native. Never NONE or SEVERAL. */
enum attention_backend attention_backend_of(int capability, const struct attention_case *attention);

/* "cudnn"; NULL for NONE. */
const char *attention_backend_name(enum attention_backend backend);

#endif
