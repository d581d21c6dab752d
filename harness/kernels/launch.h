/* Operations on a CUDA device: the launches around the bodies, for the operations that kernel_host.h names. Built into
 * the plug-in only, from the .cu files.
 *
 * What only the data can show is not an error here, because the host would have to wait for it. Nothing is read or
 * written out of bounds: EMBEDDING gives a row of NaN for a wrong id and EMBEDDING_BACKWARD leaves it out, GATHER
 * gives zeros for one, NLL_LOSS is NaN if a target is neither a class nor -100 and NLL_LOSS_BACKWARD gives that row
 * 0; TARGET_MASK counts such a target, and CROSS_ENTROPY gives its row a loss of NaN and a gradient of 0. */
#ifndef ASSAY_KERNELS_LAUNCH_H
#define ASSAY_KERNELS_LAUNCH_H

#include <stdbool.h>

#include "harness/kernels/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether kernel_cuda_run knows the operation. */
bool kernel_cuda_has(enum opcode opcode);

/* Launches one operation on the current device; all tensors are in its memory, stream is a cudaStream_t. NULL once it
 * is queued, else a static text: the call does not fit the contract, or the runtime's own words for a failed launch.
 * Faults that show only while the kernel runs are reported by the next synchronisation. */
const char *kernel_cuda_run(const struct operation_call *call, void *stream);

#ifdef __cplusplus
}
#endif

#endif
