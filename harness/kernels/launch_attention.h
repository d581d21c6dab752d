/* What the forms of attention on CUDA share: the choice between them and the padding of lse. CUDA only.
 *
 * launch_attention.cu takes every call and computes in float32, launch_attention_decode.cu calls with one query to a
 * head; launch_attention_core.cu multiplies on tensor cores what fits them, with scores rounded to the 16 bits of the
 * inputs before the second product. */
#ifndef ASSAY_KERNELS_LAUNCH_ATTENTION_H
#define ASSAY_KERNELS_LAUNCH_ATTENTION_H

#include "harness/kernels/body_attention.h"
#include "harness/kernels/launch_grid.h"
#include "harness/kernels/plan_attention.h"

/* Whether tensors and device let the call run on tensor cores: q, k, v, out and the gradients all float16 or all
 * bfloat16; D a multiple of 8, at most 256; every row on a boundary of 16 bytes; code for sm_80 or later runs. */
bool attention_fits_core(const struct attention *attention, bool backward);

/* For calls that fit. NULL or a static text. */
const char *attention_core_forward(struct attention *attention, cudaStream_t stream);
const char *attention_core_backward(struct attention *attention, cudaStream_t stream);

/* Whether each head has one query and k and v can be read 16 bytes at a time: D a multiple of 8, at most 256. */
bool attention_fits_decode(const struct attention *attention);
const char *attention_decode(struct attention *attention, cudaStream_t stream);

static const char attention_head_too_wide[] = "a head of attention is too wide for the shared memory of a block";

/* Of the current device; what all have if it does not tell. */
static inline struct tile_room device_tile_room(void)
{
    int device = 0;
    struct tile_room room;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&room.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&room.processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
        (void)cudaGetLastError();
        room.shared_bytes = SHARED_BYTES_MINIMUM;
        room.processors = 1;
    }
    return room;
}

/* +infinity if lse is longer than the rows, whether or not there are any. */
BODY void lse_pad(const struct attention *attention)
{
    const struct tensor *lse = &attention->lse;
    int64_t padding = lse->size[2] - attention->queries, count = lse->size[0] * lse->size[1] * padding;
    for (int64_t k = thread_first(); k < count; k += thread_step()) {
        ((float *)lse->data)[k / padding * lse->size[2] + attention->queries + k % padding] = INFINITY;
    }
}

#endif
