/* The runtime's functions without a GPU: two devices, one without and one with what tensor cores need. Their memory is the
 * host's, counted as one, poisoned when it is taken. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include <cuda_runtime_api.h>

#include "tests/cuda_emulation/emulated/emulation.h"

namespace
{

const size_t device_bytes = (size_t)8 << 30;
const size_t shared_bytes_unasked = 48 * 1024;

/* NVIDIA's CUDA C++ Programming Guide, table of compute capabilities. */
const struct {
    int major, minor;
    size_t shared_bytes_maximum; /* for a block that asks for it */
} architectures[] = {{7, 5, 64 * 1024}, {9, 0, EMULATION_SHARED_BYTES}};

const int device_count = sizeof architectures / sizeof architectures[0];

int device_current;

std::map<void *, size_t> allocations;
size_t allocated_bytes;
std::map<const void *, size_t> shared_limits;
cudaError_t last_error = cudaSuccess;
std::string failure_text = "unspecified launch failure";

cudaError_t answer(cudaError_t error)
{
    if (error != cudaSuccess) {
        last_error = error;
    }
    return error;
}

} // namespace

void emulation_error_set(cudaError_t error, const char *text)
{
    last_error = error;
    failure_text = text;
}

size_t emulation_shared_limit(const void *kernel)
{
    auto found = shared_limits.find(kernel);
    return found != shared_limits.end() ? found->second : shared_bytes_unasked;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = device_count;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    if (device < 0 || device >= device_count) {
        return answer(cudaErrorInvalidDevice);
    }
    memset(properties, 0, sizeof *properties);
    properties->totalGlobalMem = device_bytes;
    properties->major = architectures[device].major;
    properties->minor = architectures[device].minor;
    snprintf(properties->name, sizeof properties->name, "emulated sm_%d%d", properties->major, properties->minor);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *bus_id, int capacity, int device)
{
    snprintf(bus_id, (size_t)capacity, "0000:0%d:00.0", device);
    return answer(device >= 0 && device < device_count ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= device_count) {
        return answer(cudaErrorInvalidDevice);
    }
    device_current = device;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    void *taken = bytes <= device_bytes - allocated_bytes ? aligned_alloc(256, (bytes + 255) / 256 * 256) : nullptr;
    if (taken == nullptr) {
        return answer(cudaErrorMemoryAllocation);
    }
    memset(taken, 0xff, bytes);
    allocations[taken] = bytes;
    allocated_bytes += bytes;
    *memory = taken;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    auto found = allocations.find(memory);
    if (found == allocations.end()) {
        return answer(memory == nullptr ? cudaSuccess : cudaErrorInvalidValue);
    }
    allocated_bytes -= found->second;
    allocations.erase(found);
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    memset(memory, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = device_bytes - allocated_bytes;
    *total_bytes = device_bytes;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute, int value)
{
    if (value < 0 || (size_t)value > architectures[device_current].shared_bytes_maximum) {
        return answer(cudaErrorInvalidValue);
    }
    shared_limits[kernel] = (size_t)value;
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *)
{
    attributes->ptxVersion = architectures[device_current].major * 10 + architectures[device_current].minor;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorLaunchFailure:
        return failure_text.c_str();
    default:
        return "an error of the emulation";
    }
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaError";
}
