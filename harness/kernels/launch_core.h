/* Whether a device has what tensor_core.h is made of. CUDA only. */
#ifndef ASSAY_KERNELS_LAUNCH_CORE_H
#define ASSAY_KERNELS_LAUNCH_CORE_H

#include "harness/kernels/launch_grid.h"
#include "harness/kernels/tensor_core.h"

/* Whether what would run is code for an architecture that has the instructions: a plug-in built for sm_75 alone also
 * runs on a later device. kernel: one that uses them. */
static inline bool code_has_cores(const void *kernel)
{
    struct cudaFuncAttributes attributes;
    if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return attributes.ptxVersion >= TENSOR_CORE_ARCHITECTURE;
}

#endif
