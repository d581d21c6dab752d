/* The CUDA device: opening, memory, readings and copies on one GPU. Products are in cuda_matmul.c and
 * cuda_convolution.c, all other operations in harness/kernels. */
#include "harness/device/cuda/cuda_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/device/cuda/primary_context.h"
#include "harness/device/cuda/product_kernels.h"
#include "harness/device/refusal.h"
#include "harness/kernels/launch.h"

/* The oldest architecture that the kernels are compiled for; CUDA 13 offers none before it. */
enum { ARCHITECTURE_OLDEST = 75 };

/* What is asked from here on is asked of this GPU: the runtime keeps one current device for all that a thread has
 * open. */
static enum status_code cuda_enter(struct cuda_device *cuda, struct status *error)
{
    enum status_code code = fault_check(cuda, error);
    return code == STATUS_OK ? cuda_check(cuda, cudaSetDevice(cuda->index), "cudaSetDevice", error) : code;
}

static void cuda_close(struct device *device)
{
    struct cuda_device *cuda = (struct cuda_device *)device;
    /* The handles of a lost context are the driver's, which the process's end frees. */
    if (cuda->has_context ? cuda_enter(cuda, NULL) == STATUS_OK : cuda->fault.code == STATUS_OK) {
        cublas_library_close(&cuda->cublas);
        cublaslt_library_close(&cuda->cublaslt);
        cudnn_forms_close(&cuda->cudnn);
    }
    cudnn_forms_release(&cuda->cudnn);
    gpu_watch_end(&cuda->watch);
    nvml_library_close(&cuda->nvml);
    free(cuda);
}

/* The driver by its own version where NVML tells it, and the runtime that this was built with. */
static enum status_code versions_read(struct cuda_device *cuda, char driver_text[32], char runtime_text[32],
                                      struct status *error)
{
    int driver = 0;
    int runtime = 0;
    enum status_code code = cuda_check(cuda, cudaDriverGetVersion(&driver), "cudaDriverGetVersion", error);
    if (code == STATUS_OK) {
        code = cuda_check(cuda, cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion", error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    if (!nvml_driver_version(&cuda->nvml, driver_text, 32)) {
        snprintf(driver_text, 32, "for CUDA %d.%d", driver / 1000, driver % 1000 / 10);
    }
    snprintf(runtime_text, 32, "CUDA %d.%d", runtime / 1000, runtime % 1000 / 10);
    return STATUS_OK;
}

static enum status_code cuda_properties(struct device *device, struct device_properties *properties,
                                        struct status *error)
{
    struct cuda_device *cuda = (struct cuda_device *)device;
    struct device_properties read = {.kind = "cuda", .total_bytes = cuda->total_bytes, .computes = true};
    enum status_code code = cuda_enter(cuda, error);
    if (code == STATUS_OK) {
        code = versions_read(cuda, read.driver, read.runtime, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    memcpy(read.name, cuda->name, sizeof read.name);
    memcpy(read.target, cuda->target, sizeof read.target);
    memcpy(read.pci_bus_id, cuda->pci_bus_id, sizeof read.pci_bus_id);
    memcpy(read.uuid, cuda->uuid, sizeof read.uuid);
    *properties = read;
    return STATUS_OK;
}

static enum status_code segment_refuse(const struct cuda_device *cuda, int64_t bytes, struct status *error)
{
    char wanted[SIZE_TEXT_BYTES];
    char held[SIZE_TEXT_BYTES];
    char available[SIZE_TEXT_BYTES] = "unknown";
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    cudaGetLastError();
    if (cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess) {
        size_format((int64_t)free_bytes, available);
    }
    return status_set(error, STATUS_OUT_OF_MEMORY,
                      "cuda:%d: out of memory: %" PRId64 " bytes (%s) wanted, %" PRId64
                      " bytes (%s) held, %s " REFUSAL_WORDS_GPU "; choose a smaller case, or see who else uses the GPU",
                      cuda->index, bytes, size_format(bytes, wanted), cuda->held_bytes,
                      size_format(cuda->held_bytes, held), available);
}

static enum status_code cuda_segment_alloc(struct device *device, int64_t bytes, void **address, struct status *error)
{
    struct cuda_device *cuda = (struct cuda_device *)device;
    void *memory = NULL;
    if (bytes <= 0) {
        return status_set(error, STATUS_INTERNAL, "cuda:%d: a segment of %" PRId64 " bytes was asked for", cuda->index,
                          bytes);
    }
    enum status_code checked = cuda_enter(cuda, error);
    if (checked != STATUS_OK) {
        return checked;
    }
    cudaError_t code = cudaMalloc(&memory, (size_t)bytes);
    if (code == cudaErrorMemoryAllocation) {
        return segment_refuse(cuda, bytes, error);
    }
    char doing[64];
    snprintf(doing, sizeof doing, "cudaMalloc of %" PRId64 " bytes", bytes);
    checked = cuda_check(cuda, code, doing, error);
    if (checked == STATUS_OK) {
        cuda->held_bytes += bytes;
        *address = memory;
    }
    return checked;
}

static enum status_code cuda_segment_free(struct device *device, void *address, int64_t bytes, struct status *error)
{
    struct cuda_device *cuda = (struct cuda_device *)device;
    if (address == NULL || bytes <= 0 || bytes > cuda->held_bytes) {
        return status_set(error, STATUS_INTERNAL,
                          "cuda:%d: a segment of %" PRId64 " bytes that was not taken is given back", cuda->index,
                          bytes);
    }
    enum status_code code = cuda_enter(cuda, error);
    if (code == STATUS_OK) {
        char doing[64];
        snprintf(doing, sizeof doing, "cudaFree of %" PRId64 " bytes", bytes);
        code = cuda_check(cuda, cudaFree(address), doing, error);
    }
    if (code == STATUS_OK) {
        cuda->held_bytes -= bytes;
    }
    return code;
}

static enum status_code call_run(struct cuda_device *cuda, const struct operation_call *call, struct status *error)
{
    char text[CALL_TEXT_BYTES];
    queued_note(cuda, call);
    enum product_kind product = opcode_product(call->opcode);
    if (product != PRODUCT_NONE) {
        return product == PRODUCT_MATMUL ? cuda_matmul(cuda, call, error) : cuda_convolution(cuda, call, error);
    }
    const char *reason = kernel_cuda_run(call, NULL);
    return reason == NULL ? STATUS_OK : launch_check(cuda, reason, call_describe(call, text), error);
}

static enum status_code cuda_run(struct device *device, const struct operation_call *call, struct status *error)
{
    struct cuda_device *cuda = (struct cuda_device *)device;
    enum status_code code = cuda_enter(cuda, error);
    if (code != STATUS_OK || !load_form_is_new(&cuda->loads, call)) {
        return code == STATUS_OK ? call_run(cuda, call, error) : code;
    }
    struct load_stretch stretch = load_begin(&cuda->loads);
    code = call_run(cuda, call, error);
    load_end(&cuda->loads, &stretch, opcode_product(call->opcode) != PRODUCT_NONE ? LOAD_LIBRARY : LOAD_KERNEL);
    return code;
}

/* Waits for all work: cudaMemcpy on the default stream does too. */
static enum status_code cuda_copy(struct cuda_device *cuda, void *to, const void *from, int64_t bytes,
                                  enum cudaMemcpyKind kind, struct status *error)
{
    char doing[64];
    enum status_code code = cuda_enter(cuda, error);
    if (code != STATUS_OK) {
        return code;
    }
    snprintf(doing, sizeof doing, "copy of %" PRId64 " bytes %s the host", bytes,
             kind == cudaMemcpyDeviceToHost ? "to" : "from");
    code = cuda_check(cuda, cudaMemcpy(to, from, (size_t)bytes, kind), doing, error);
    cuda->queued_count = code == STATUS_OK ? 0 : cuda->queued_count;
    return code;
}

static enum status_code cuda_copy_to_host(struct device *device, void *host, const void *address, int64_t bytes,
                                          struct status *error)
{
    return cuda_copy((struct cuda_device *)device, host, address, bytes, cudaMemcpyDeviceToHost, error);
}

static enum status_code cuda_copy_from_host(struct device *device, void *address, const void *host, int64_t bytes,
                                            struct status *error)
{
    return cuda_copy((struct cuda_device *)device, address, host, bytes, cudaMemcpyHostToDevice, error);
}

static enum status_code cuda_synchronize(struct device *device, struct status *error)
{
    struct cuda_device *cuda = (struct cuda_device *)device;
    enum status_code code = cuda_enter(cuda, error);
    if (code == STATUS_OK) {
        code = cuda_check(cuda, cudaDeviceSynchronize(), "synchronisation", error);
    }
    cuda->queued_count = code == STATUS_OK ? 0 : cuda->queued_count;
    return code;
}

/* Portable: pinned for the contexts of all GPUs that this process has open. */
static enum status_code cuda_staging_alloc(struct device *device, int64_t bytes, void **memory, struct status *error)
{
    struct cuda_device *cuda = (struct cuda_device *)device;
    char doing[64];
    void *taken = NULL;
    enum status_code code = cuda_enter(cuda, error);
    if (code != STATUS_OK) {
        return code;
    }
    cudaError_t answer = cudaHostAlloc(&taken, (size_t)bytes, cudaHostAllocPortable);
    if (answer == cudaErrorMemoryAllocation || answer == cudaErrorOperatingSystem || answer == cudaErrorNotSupported) {
        cudaGetLastError();
        return status_set(error, STATUS_OUT_OF_MEMORY,
                          "cuda:%d: the host does not pin %" PRId64 " bytes of its memory; look at ulimit -l",
                          cuda->index, bytes);
    }
    snprintf(doing, sizeof doing, "cudaHostAlloc of %" PRId64 " bytes", bytes);
    code = cuda_check(cuda, answer, doing, error);
    if (code == STATUS_OK) {
        *memory = taken;
    }
    return code;
}

static enum status_code cuda_staging_free(struct device *device, void *memory, int64_t bytes, struct status *error)
{
    struct cuda_device *cuda = (struct cuda_device *)device;
    char doing[64];
    enum status_code code = cuda_enter(cuda, error);
    snprintf(doing, sizeof doing, "cudaFreeHost of %" PRId64 " bytes", bytes);
    return code == STATUS_OK ? cuda_check(cuda, cudaFreeHost(memory), doing, error) : code;
}

/* A question that fails leaves its figure unknown; only a lost context is an error. */
static enum status_code cuda_read_memory(struct device *device, struct device_reading *reading, struct status *error)
{
    struct cuda_device *cuda = (struct cuda_device *)device;
    struct device_reading taken = {0};
    struct status told;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    enum status_code code = cuda_enter(cuda, error);
    if (code != STATUS_OK) {
        return code;
    }
    taken.device_valid =
        cuda_check(cuda, cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo", &told) == STATUS_OK;
    code = fault_check(cuda, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (taken.device_valid) {
        taken.device_bytes = (int64_t)(total_bytes - free_bytes);
        taken.free_valid = true;
        taken.free_bytes = (int64_t)free_bytes;
        cuda->memory_bytes = (int64_t)total_bytes;
    }
    gpu_watch_baseline(&cuda->watch, cuda->memory_bytes, &taken);
    gpu_watch_read(&cuda->watch, &cuda->nvml, cuda->held_bytes, &taken);
    load_read(&cuda->loads, &taken);
    memcpy(taken.declined, cuda->declined, sizeof taken.declined);
    *reading = taken;
    return STATUS_OK;
}

/* What is missing is said in one sentence with the remedy. */
static enum status_code cuda_present_check(int index, struct status *error)
{
    int driver = 0;
    int runtime = 0;
    int count = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
        cudaGetLastError();
        return status_set(error, STATUS_UNAVAILABLE,
                          "cuda: no NVIDIA driver was found (libcuda.so.1); install it, or measure on the host");
    }
    cudaRuntimeGetVersion(&runtime);
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaErrorInsufficientDriver) {
        cudaGetLastError();
        return status_set(
            error, STATUS_UNAVAILABLE,
            "cuda: the driver is for CUDA %d.%d and the plug-in was built with %d.%d; update the driver, or "
            "build with an older toolkit",
            driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    }
    if (code != cudaSuccess || count == 0) {
        cudaGetLastError();
        return status_set(error, STATUS_UNAVAILABLE,
                          "cuda: the driver shows no GPU (%s); look at nvidia-smi and CUDA_VISIBLE_DEVICES",
                          code != cudaSuccess ? cudaGetErrorString(code) : "0 devices");
    }
    if (index >= count) {
        return status_set(error, STATUS_UNAVAILABLE,
                          "cuda: there is no device %d, as the driver shows %d; write cuda:%d", index, count,
                          count - 1);
    }
    return STATUS_OK;
}

/* "GPU-5fa2c3d0-..." as nvidia-smi writes it. */
static void uuid_format(const cudaUUID_t *uuid, char *text, size_t capacity)
{
    size_t used = (size_t)snprintf(text, capacity, "GPU");
    for (int i = 0; i < 16 && used < capacity; i++) {
        const char *separator = i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        used += (size_t)snprintf(text + used, capacity - used, "%s%02x", separator, (unsigned char)uuid->bytes[i]);
    }
}

static enum status_code identity_read(struct cuda_device *cuda, struct status *error)
{
    struct cudaDeviceProp properties;
    enum status_code code =
        cuda_check(cuda, cudaGetDeviceProperties(&properties, cuda->index), "cudaGetDeviceProperties", error);
    if (code == STATUS_OK) {
        code = cuda_check(cuda, cudaDeviceGetPCIBusId(cuda->pci_bus_id, sizeof cuda->pci_bus_id, cuda->index),
                          "cudaDeviceGetPCIBusId", error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    snprintf(cuda->name, sizeof cuda->name, "%.127s", properties.name);
    snprintf(cuda->target, sizeof cuda->target, "sm_%d%d", properties.major, properties.minor);
    uuid_format(&properties.uuid, cuda->uuid, sizeof cuda->uuid);
    cuda->total_bytes = (int64_t)properties.totalGlobalMem;
    if (properties.major * 10 + properties.minor < ARCHITECTURE_OLDEST) {
        return status_set(error, STATUS_UNAVAILABLE,
                          "cuda: %s is of architecture %s and the kernels are compiled from sm_%d on; use a newer GPU",
                          cuda->name, cuda->target, ARCHITECTURE_OLDEST);
    }
    return STATUS_OK;
}

/* Whether the plug-in holds code for this GPU: the runtime tells it of a launch alone. */
static enum status_code cuda_code_check(struct cuda_device *cuda, struct status *error)
{
    cudaError_t launched = nothing_launch();
    launched = launched == cudaSuccess ? cudaDeviceSynchronize() : launched;
    if (launched == cudaErrorNoKernelImageForDevice || launched == cudaErrorUnsupportedPtxVersion) {
        cudaGetLastError();
        return status_set(error, STATUS_UNAVAILABLE,
                          "cuda: the plug-in holds no code for %s (%s); build it anew with make CUDA_ARCHS=%s",
                          cuda->name, cuda->target, cuda->target + strlen("sm_"));
    }
    return cuda_check(cuda, launched, "the first launch", error);
}

/* What is on the GPU without us. */
static void cuda_watch(struct cuda_device *cuda)
{
    nvml_library_open(cuda->pci_bus_id, cuda->uuid, &cuda->nvml);
    gpu_watch_begin(&cuda->nvml, primary_context_is_made(cuda->index), &cuda->watch);
    if (cuda->nvml.is_instance) {
        memcpy(cuda->uuid, "MIG", strlen("MIG"));
    }
}

/* Makes the context, so that it stands in the first reading. */
static enum status_code cuda_prepare(struct cuda_device *cuda, struct status *error)
{
    enum status_code code = identity_read(cuda, error);
    if (code != STATUS_OK) {
        return code;
    }
    cuda_watch(cuda);
    cudaError_t made = cudaSetDevice(cuda->index);
    made = made == cudaSuccess ? cudaFree(NULL) : made; /* the runtime makes the context with the first call */
    if (made == cudaErrorDevicesUnavailable) {
        cudaGetLastError();
        return status_set(
            error, STATUS_UNAVAILABLE,
            "cuda:%d: the GPU is in use by another process alone; wait for it, or change its compute mode",
            cuda->index);
    }
    code = cuda_check(cuda, made, "making a context", error);
    cuda->has_context = code == STATUS_OK;
    if (code == STATUS_OK) {
        code = cuda_code_check(cuda, error);
    }
    return code;
}

/* The questions are answered without a context. */
enum status_code cuda_identify(int index, struct device_identity *identity, struct status *error)
{
    struct cuda_device cuda = {.index = index};
    struct device_identity told = {.kind = "cuda"};
    struct status without = {0};
    enum status_code code = cuda_present_check(index, error);
    if (code == STATUS_OK) {
        code = identity_read(&cuda, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    cuda_watch(&cuda);
    told.free_valid = cuda.watch.free_known;
    told.free_bytes = cuda.watch.free_bytes;
    memcpy(told.name, cuda.name, sizeof told.name);
    memcpy(told.target, cuda.target, sizeof told.target);
    told.total_bytes = cuda.total_bytes;
    memcpy(told.pci_bus_id, cuda.pci_bus_id, sizeof told.pci_bus_id);
    memcpy(told.uuid, cuda.uuid, sizeof told.uuid);
    code = versions_read(&cuda, told.driver, told.runtime, error);
    cublas_version_read(told.libraries, sizeof told.libraries);
    if (!cudnn_version_read(told.convolution_library, &without)) {
        snprintf(told.convolution_note, sizeof told.convolution_note, "%.255s", without.text);
    }
    gpu_watch_end(&cuda.watch);
    nvml_library_close(&cuda.nvml);
    if (code == STATUS_OK) {
        *identity = told;
    }
    return code;
}

enum status_code cuda_open(int index, struct device **device, struct status *error)
{
    static const struct device_table table = {
        .kind = "cuda",
        .close = cuda_close,
        .properties = cuda_properties,
        .segment_alloc = cuda_segment_alloc,
        .segment_free = cuda_segment_free,
        .run = cuda_run,
        .copy_to_host = cuda_copy_to_host,
        .staging_alloc = cuda_staging_alloc,
        .staging_free = cuda_staging_free,
        .copy_from_host = cuda_copy_from_host,
        .synchronize = cuda_synchronize,
        .read_memory = cuda_read_memory,
        .convolutions = cuda_cudnn_tell,
    };
    enum status_code code = cuda_present_check(index, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct cuda_device *cuda = calloc(1, sizeof *cuda);
    if (cuda == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "cuda:%d: the host has no %zu bytes for the device itself",
                          index, sizeof *cuda);
    }
    cuda->base.table = &table;
    cuda->index = index;
    code = cuda_prepare(cuda, error);
    if (code != STATUS_OK) {
        cuda_close(&cuda->base);
        return code;
    }
    *device = &cuda->base;
    return STATUS_OK;
}
