/* What the emulated launches and the emulated runtime tell each other. */
#ifndef ASSAY_TESTS_CUDA_EMULATION_H
#define ASSAY_TESTS_CUDA_EMULATION_H

#include <cuda_runtime_api.h>

/* The error that cudaGetLastError will tell. text: what cudaGetErrorString says of a cudaErrorLaunchFailure. */
void emulation_error_set(cudaError_t error, const char *text);

/* Bytes of dynamic shared memory that a launch of the kernel may ask for. */
size_t emulation_shared_limit(const void *kernel);

#endif
