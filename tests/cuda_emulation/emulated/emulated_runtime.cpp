/* The runtime's functions without a GPU. The memory of the devices is the host's, counted apart, poisoned when it is
 * taken. What runs is on the device that was set last, as in the real runtime, and reaches no memory of the others: no
 * peer access was asked for. Devices are told apart by their boards, see emulated_devices.h. */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda_emulation/emulated/emulated_devices.h"
#include "tests/cuda_emulation/emulated/emulated_toolkit.h"
#include "tests/cuda_emulation/emulated/emulation.h"

namespace
{

const size_t device_bytes_unasked = (size_t)8 << 30;
const size_t shared_bytes_unasked = 48 * 1024;

int board_set = -1; /* by the last cudaSetDevice */

struct allocation {
    size_t bytes;
    int device;
};

std::map<const void *, allocation> allocations;
size_t allocated_bytes[EMULATED_BOARDS_MAXIMUM];
std::map<std::pair<int, const void *>, size_t> shared_limits; /* by device and kernel */
std::set<const void *> kernels[EMULATED_BOARDS_MAXIMUM];
size_t handle_count[EMULATED_BOARDS_MAXIMUM];
bool context_made[EMULATED_BOARDS_MAXIMUM];
cudaError_t last_error = cudaSuccess;
std::string failure_text = "unspecified launch failure";

/* The first that is visible is set at the beginning. */
int board_current()
{
    return board_set >= 0 ? board_set : emulated_visible_count() > 0 ? emulated_visible_board(0) : 0;
}

/* EMULATED_DEVICE_BYTES bounds the memory of each device. */
size_t device_bytes_read()
{
    const char *text = getenv("EMULATED_DEVICE_BYTES");
    size_t bytes = text != nullptr ? (size_t)strtoull(text, nullptr, 10) : 0;
    return bytes > 0 ? bytes : device_bytes_unasked;
}

const size_t device_bytes = device_bytes_read();

/* EMULATED_APART: memory is taken by pages, and what runs on one device and touches another's is ended by SIGSEGV, as a
 * GPU without peer access ends it by an illegal address. Without it memory is malloc's, whose ends sanitizers watch. */
bool memory_is_apart()
{
    static const bool apart = getenv("EMULATED_APART") != nullptr;
    return apart;
}

size_t pages_of(size_t bytes)
{
    const size_t page = 4096;
    return (bytes + page - 1) / page * page;
}

void *memory_take(size_t bytes)
{
    if (!memory_is_apart()) {
        return aligned_alloc(256, (bytes + 255) / 256 * 256);
    }
    void *taken = mmap(nullptr, pages_of(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return taken != MAP_FAILED ? taken : nullptr;
}

void memory_give_back(void *memory, size_t bytes)
{
    if (memory_is_apart()) {
        munmap(memory, pages_of(bytes));
    } else {
        free(memory);
    }
}

/* Codes after which a context answers nothing else. */
bool destroys_context(int code)
{
    return (code >= 700 && code != cudaErrorNotSupported) || code == cudaErrorECCUncorrectable;
}

/* What EMULATED_FAULT asks for: "cudaMemcpy:3:700:FILE", the third call of that name gives error 700; -9 instead of 700
 * ends the process by signal 9, and -19 stops it, which is a hang. FILE is taken away by it, and without FILE nothing
 * happens, so that of several processes one alone has the fault. */
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

/* What EMULATED_DRIVER says that the driver takes for itself: "context:1000 kernel:20 handle:300 modules:4000", in
 * bytes: the context, each kernel that was launched at least once, each handle of a library, and with the context of a
 * process that asks for all modules at once (CUDA_MODULE_LOADING). Nothing where it is not set. */
size_t driver_bytes(const char *name)
{
    const char *text = getenv("EMULATED_DRIVER");
    const char *found = text != nullptr ? strstr(text, name) : nullptr;
    return found != nullptr ? strtoul(found + strlen(name), nullptr, 10) : 0;
}

cudaError_t device_missing()
{
    return emulated_visible_count() > 0 ? cudaErrorInvalidDevice : cudaErrorNoDevice;
}

/* What a call of that name is to answer before it does anything. */
cudaError_t call_begin(const char *name)
{
    if (emulated_visible_count() == 0) {
        return answer(cudaErrorNoDevice);
    }
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

cudaError_t emulated_call_begin(const char *name)
{
    return call_begin(name);
}

cudaError_t emulated_answer(cudaError_t error)
{
    return answer(error);
}

size_t context_bytes(void)
{
    const char *loading = getenv("CUDA_MODULE_LOADING");
    bool eager = loading != nullptr && strcmp(loading, "EAGER") == 0;
    return driver_bytes("context:") + (eager ? driver_bytes("modules:") : 0);
}

size_t emulated_used_bytes_on(int device)
{
    return allocated_bytes[device] + (context_made[device] ? context_bytes() : 0) +
           kernels[device].size() * driver_bytes("kernel:") + handle_count[device] * driver_bytes("handle:");
}

int emulated_device(void)
{
    return board_current();
}

bool emulated_is_elsewhere(const void *address)
{
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin()) {
        return false;
    }
    auto holds = std::prev(next);
    return holds->second.device != board_current() &&
           (const char *)address < (const char *)holds->first + holds->second.bytes;
}

bool emulated_memory_find(const void *address, const void **start, size_t *bytes)
{
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin()) {
        return false;
    }
    auto holds = std::prev(next);
    *start = holds->first;
    *bytes = holds->second.bytes;
    return holds->second.device == board_current() && (const char *)address < (const char *)*start + *bytes;
}

/* While something runs on one device, nothing can be read or written of the others'. */
static void others_protect(int protection)
{
    if (!memory_is_apart()) {
        return;
    }
    for (const auto &entry : allocations) {
        if (entry.second.device != board_current()) {
            mprotect(const_cast<void *>(entry.first), pages_of(entry.second.bytes), protection);
        }
    }
}

void emulated_others_hide(void)
{
    others_protect(PROT_NONE);
}

void emulated_others_show(void)
{
    others_protect(PROT_READ | PROT_WRITE);
}

void emulated_reach_beyond(void)
{
    pending = cudaErrorIllegalAddress;
}

size_t emulated_memory_bytes(void)
{
    return device_bytes;
}

bool emulated_context_is_made_on(int device)
{
    return context_made[device];
}

void emulated_handle_made(void)
{
    handle_count[board_current()]++;
}

bool emulated_launch_begin(const void *kernel)
{
    kernels[board_current()].insert(kernel);
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
    auto found = shared_limits.find({board_current(), kernel});
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
    *count = emulated_visible_count();
    return *count > 0 ? cudaSuccess : answer(cudaErrorNoDevice);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    int board = emulated_visible_board(device);
    if (board < 0) {
        return answer(device_missing());
    }
    memset(properties, 0, sizeof *properties);
    emulated_uuid_read(board, properties->uuid.bytes);
    properties->totalGlobalMem = device_bytes;
    properties->major = emulated_board_at(board)->major;
    properties->minor = emulated_board_at(board)->minor;
    snprintf(properties->name, sizeof properties->name, "emulated sm_%d%d", properties->major, properties->minor);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *bus_id, int capacity, int device)
{
    int board = emulated_visible_board(device);
    if (board < 0) {
        return answer(device_missing());
    }
    snprintf(bus_id, (size_t)capacity, "0000:0%d:00.0", board);
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    int board = emulated_visible_board(device);
    if (board < 0) {
        return answer(device_missing());
    }
    board_set = board;
    context_made[board] = true;
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
    size_t left = device_bytes - emulated_used_bytes_on(board_current()) - emulated_foreign_bytes_on(board_current());
    void *taken = bytes <= left ? memory_take(bytes) : nullptr;
    if (taken == nullptr) {
        return answer(cudaErrorMemoryAllocation);
    }
    memset(taken, 0xff, bytes);
    allocations[taken] = {bytes, board_current()};
    allocated_bytes[board_current()] += bytes;
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
    allocated_bytes[found->second.device] -= found->second.bytes;
    memory_give_back(memory, found->second.bytes);
    allocations.erase(found);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    cudaError_t error = call_begin("cudaMemcpy");
    if (error != cudaSuccess) {
        return error;
    }
    memcpy(to, from, bytes);
    emulated_copy_note(kind == cudaMemcpyHostToDevice ? from : to, bytes);
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
    *free_bytes = device_bytes - emulated_used_bytes_on(board_current()) - emulated_foreign_bytes_on(board_current());
    *total_bytes = device_bytes;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute, int value)
{
    if (value < 0 || (size_t)value > emulated_board_at(board_current())->shared_bytes_maximum) {
        return answer(cudaErrorInvalidValue);
    }
    shared_limits[{board_current(), kernel}] = (size_t)value;
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *)
{
    attributes->ptxVersion = emulated_board_at(board_current())->major * 10 + emulated_board_at(board_current())->minor;
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
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
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
