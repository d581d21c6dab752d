/* A CUDA device that is not there: enough of the runtime's answers for PyTorch to ask which GPU it has, to take memory
 * and to launch kernels, of which none runs.
 *
 * Built and preloaded by attention_choice.py and flash_splits.py, also under the name of the driver's library. Its
 * memory is the host's, and streams are not pretended. PRETEND_CAPABILITY: 90 for compute capability 9.0;
 * PRETEND_MULTIPROCESSORS: how many; PRETEND_TELLS: "malloc 512" on stderr for each piece of memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? atoi(text) : otherwise;
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
    properties->major = number("PRETEND_CAPABILITY", 90) / 10;
    properties->minor = number("PRETEND_CAPABILITY", 90) % 10;
    properties->multiProcessorCount = number("PRETEND_MULTIPROCESSORS", 132);
    properties->sharedMemPerBlockOptin = 163 * 1024;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    (void)stream;
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    if (getenv("PRETEND_TELLS") != NULL) {
        fprintf(stderr, "malloc %zu\n", bytes);
    }
    *memory = malloc(bytes > 0 ? bytes : 1);
    return *memory != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *unused, size_t *total)
{
    *unused = *total = (size_t)1 << 36;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    *value = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? 163 * 1024 : 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    (void)function;
    (void)attribute;
    (void)value;
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                               cudaStream_t stream)
{
    (void)kernel;
    (void)grid;
    (void)block;
    (void)arguments;
    (void)shared_bytes;
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaPeekAtLastError(void)
{
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
