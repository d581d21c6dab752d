/* A CUDA device that is not there: enough of the runtime's answers for PyTorch's dispatcher to ask which GPU it has.
 *
 * Built and preloaded by attention_choice.py, also under the name of the driver's library. Nothing can be computed on
 * it: memory, streams and kernels are not pretended. PRETEND_CAPABILITY: 90 for compute capability 9.0. */
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

static int capability(void)
{
    const char *text = getenv("PRETEND_CAPABILITY");
    return text != NULL ? atoi(text) : 90;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    (void)device;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    (void)device;
    memset(properties, 0, sizeof *properties);
    strcpy(properties->name, "pretended");
    properties->major = capability() / 10;
    properties->minor = capability() % 10;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    (void)stream;
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

/* Of the driver: the device's context exists already. */
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    (void)device;
    *flags = 0;
    *active = 1;
    return 0;
}
