/* The runtime's functions without a GPU: two devices, one without and one with what tensor cores need. Their memory is the
 * host's, counted as one, poisoned when it is taken. */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include <cuda_runtime_api.h>
#include <unistd.h>

#include "tests/cuda_emulation/emulated/emulated_toolkit.h"
#include "tests/cuda_emulation/emulated/emulation.h"

namespace
{

const size_t device_bytes_unasked = (size_t)8 << 30;
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
std::set<const void *> kernels;
size_t handle_count;
bool context_made;
cudaError_t last_error = cudaSuccess;
std::string failure_text = "unspecified launch failure";

/* EMULATED_DEVICE_BYTES bounds the memory of each device. */
size_t device_bytes_read()
{
    const char *text = getenv("EMULATED_DEVICE_BYTES");
    size_t bytes = text != nullptr ? (size_t)strtoull(text, nullptr, 10) : 0;
    return bytes > 0 ? bytes : device_bytes_unasked;
}

const size_t device_bytes = device_bytes_read();

/* Codes after which a context answers nothing else. */
bool destroys_context(int code)
{
    return code >= 700 || code == cudaErrorECCUncorrectable;
}

/* What EMULATED_FAULT asks for: "cudaMemcpy:3:700:FILE", the third call of that name gives error 700; -9 instead of 700 ends
 * the process by signal 9, and -19 stops it, which is a hang. FILE is taken away by it, and without FILE nothing happens,
 * so that of several processes one alone has the fault. */
struct planned_fault {
    char name[64];
    long call;
    int code;
    char file[256];
};

struct planned_fault *plan()
{
    static struct planned_fault planned;
    static bool read;
    const char *text = getenv("EMULATED_FAULT");
    if (!read && text != nullptr &&
        sscanf(text, "%63[^:]:%ld:%d:%255s", planned.name, &planned.call, &planned.code, planned.file) != 4) {
        planned = {};
    }
    read = true;
    return &planned;
}

cudaError_t lost = cudaSuccess;    /* what every call answers once the context is gone */
cudaError_t pending = cudaSuccess; /* of a kernel that has not been waited for */

cudaError_t answer(cudaError_t error)
{
    if (error != cudaSuccess) {
        last_error = error;
    }
    return error;
}

/* What EMULATED_DRIVER says that the driver takes for itself: "context:1000 kernel:20 handle:300", in bytes: the context, each
 * kernel that was launched at least once, each handle of a library. Nothing where it is not set. */
size_t driver_bytes(const char *name)
{
    const char *text = getenv("EMULATED_DRIVER");
    const char *found = text != nullptr ? strstr(text, name) : nullptr;
    return found != nullptr ? strtoul(found + strlen(name), nullptr, 10) : 0;
}

/* What a call of that name is to answer before it does anything. */
cudaError_t call_begin(const char *name)
{
    int code = emulated_fault(name);
    if (lost == cudaSuccess && destroys_context(code)) {
        lost = (cudaError_t)code;
    }
    if (lost == cudaSuccess && pending != cudaSuccess) {
        lost = pending;
    }
    return lost != cudaSuccess ? lost : answer((cudaError_t)code);
}

} // namespace

int emulated_fault(const char *name)
{
    struct planned_fault *planned = plan();
    if (strcmp(planned->name, name) != 0 || --planned->call != 0 || unlink(planned->file) != 0) {
        return 0;
    }
    if (planned->code < 0) {
        signal(-planned->code, SIG_DFL);
        raise(-planned->code);
        return 0;
    }
    return planned->code;
}

size_t emulated_used_bytes(void)
{
    return allocated_bytes + (context_made ? driver_bytes("context:") : 0) + kernels.size() * driver_bytes("kernel:") +
           handle_count * driver_bytes("handle:");
}

size_t emulated_memory_bytes(void)
{
    return device_bytes;
}

bool emulated_context_is_made(void)
{
    return context_made;
}

void emulated_handle_made(void)
{
    handle_count++;
}

bool emulated_launch_begin(const void *kernel)
{
    kernels.insert(kernel);
    int code = emulated_fault("launch");
    if (destroys_context(code)) {
        pending = (cudaError_t)code; /* the launch itself is a success */
    } else {
        answer((cudaError_t)code);
    }
    return lost == cudaSuccess && code == 0;
}

cublasStatus_t emulated_library_call(const char *name)
{
    int code = emulated_fault(name);
    if (destroys_context(code)) {
        pending = (cudaError_t)code;
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    return lost != cudaSuccess ? CUBLAS_STATUS_EXECUTION_FAILED : (cublasStatus_t)code;
}

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
    properties->uuid.bytes[15] = (char)(device + 1);
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
    context_made = true;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error = call_begin("cudaDeviceSynchronize");
    if (error != cudaSuccess) {
        return error;
    }
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    cudaError_t error = call_begin("cudaMalloc");
    if (error != cudaSuccess) {
        return error;
    }
    void *taken = bytes <= device_bytes - emulated_used_bytes() - emulated_foreign_bytes() ? aligned_alloc(256, (bytes + 255) / 256 * 256) : nullptr;
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
    cudaError_t error = call_begin("cudaFree");
    if (error != cudaSuccess) {
        return error;
    }
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
    cudaError_t error = call_begin("cudaMemcpy");
    if (error != cudaSuccess) {
        return error;
    }
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    cudaError_t error = call_begin("cudaMemset");
    if (error != cudaSuccess) {
        return error;
    }
    memset(memory, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    cudaError_t error = call_begin("cudaMemGetInfo");
    if (error != cudaSuccess) {
        return error;
    }
    *free_bytes = device_bytes - emulated_used_bytes() - emulated_foreign_bytes();
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

cudaError_t cudaStreamQuery(cudaStream_t)
{
    return call_begin("cudaStreamQuery");
}

cudaError_t cudaGetLastError(void)
{
    if (lost != cudaSuccess) {
        return lost;
    }
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
    case cudaErrorIllegalAddress:
        return "an illegal memory access was encountered";
    case cudaErrorECCUncorrectable:
        return "uncorrectable ECC error encountered";
    case cudaErrorLaunchFailure:
        return failure_text.c_str();
    default:
        return "an error of the emulation";
    }
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation   ? "cudaErrorMemoryAllocation"
           : error == cudaErrorIllegalAddress   ? "cudaErrorIllegalAddress"
           : error == cudaErrorECCUncorrectable ? "cudaErrorECCUncorrectable"
           : error == cudaErrorLaunchFailure    ? "cudaErrorLaunchFailure"
                                                : "cudaError";
}
