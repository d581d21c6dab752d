/* Primary context: whether this process has one on a GPU already, which the runtime does not tell. */
#ifndef ASSAY_DEVICE_CUDA_PRIMARY_CONTEXT_H
#define ASSAY_DEVICE_CUDA_PRIMARY_CONTEXT_H

#include <stdbool.h>

/* index: as the runtime counts. The driver must have been started (cudaGetDeviceCount). False also where it does not
 * tell. No context is made. */
bool primary_context_is_made(int index);

#endif
