/* The plug-in's own way to its libraries, linked into a test without the plug-in. Where there is no GPU nothing is
 * asked of the runtime, which is not linked. */
#include <cuda_runtime_api.h>

#ifdef __SANITIZE_ADDRESS__
/* What NVIDIA's libraries keep when they find no driver is not ours to free. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libcublas\nleak:libcudnn";
}
#endif

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = *total_bytes = 0;
    return cudaErrorInitializationError;
}

#include "harness/device/cuda/cublas_library.c"
#include "harness/device/cuda/cublaslt_library.c"
#include "harness/device/cuda/cudnn_graph.c"
#include "harness/device/cuda/cudnn_library.c"
#include "harness/device/cuda/toolkit_library.c"
