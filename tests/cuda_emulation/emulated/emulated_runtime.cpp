/* The runtime's functions without a GPU. What runs is on the device that was set last, as in the real runtime, and
 * reaches no memory of the others: no peer access was asked for. Devices are told apart by their boards, see
 * emulated_devices.h. Under EMULATED_FORK a process that was forked after the first call has no runtime, as NVIDIA
 * documents it: every call answers cudaErrorInitializationError. */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>
#include <unistd.h>

#include "tests/cuda_emulation/emulated/emulated_devices.h"
#include "tests/cuda_emulation/emulated/emulated_memory.h"
#include "tests/cuda_emulation/emulated/emulated_toolkit.h"
#include "tests/cuda_emulation/emulated/emulated_work.h"
#include "tests/cuda_emulation/emulated/emulation.h"

namespace
{

const size_t device_bytes_unasked = (size_t)8 << 30;
const size_t shared_bytes_unasked = 48 * 1024;

int board_set = -1; /* by the last cudaSetDevice */

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

/* The number behind a word of a setting, "word:NUMBER"; 0: there is none. */
size_t number_in(const char *setting, const char *word)
{
    const char *text = getenv(setting);
    const char *found = text != nullptr ? strstr(text, word) : nullptr;
    return found != nullptr ? strtoul(found + strlen(word), nullptr, 10) : 0;
}

/* What EMULATED_DRIVER says that the driver takes for itself: "context:1000 kernel:20 handle:300 modules:4000", in
 * bytes: the context, each kernel that was launched at least once, each handle of a library, and with the context of a
 * process that asks for all modules at once (CUDA_MODULE_LOADING). Nothing where it is not set. */
size_t driver_bytes(const char *name)
{
    return number_in("EMULATED_DRIVER", name);
}

/* What EMULATED_LATENCY says that it takes: "init:3000 context:500 module:20", in milliseconds: the first call of a
 * process, the context of a GPU, the first launch of a kernel on it. */
void latency_pass(const char *name)
{
    usleep((useconds_t)(1000 * number_in("EMULATED_LATENCY", name)));
}

/* What every call begins with. */
cudaError_t start()
{
    static pid_t started;
    static const bool forks = getenv("EMULATED_FORK") != nullptr;
    if (started == 0) {
        started = getpid();
        latency_pass("init:");
    }
    return forks && started != getpid() ? answer(cudaErrorInitializationError) : cudaSuccess;
}

cudaError_t device_missing()
{
    return emulated_visible_count() > 0 ? cudaErrorInvalidDevice : cudaErrorNoDevice;
}

/* What a call of that name is to answer before it does anything. */
cudaError_t call_begin(const char *name)
{
    if (start() != cudaSuccess) {
        return cudaErrorInitializationError;
    }
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

/* The same of a call that waits for what the board has to do, which is then done, and whose faults it tells. */
cudaError_t wait_begin(const char *name, int board)
{
    cudaError_t error = call_begin(name);
    if (error == cudaSuccess) {
        emulated_work_finish(board);
        lost = pending;
        error = lost;
    }
    if (lost != cudaSuccess) {
        emulated_work_drop();
    }
    return error;
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
    return emulated_memory_taken_on(device) + (context_made[device] ? context_bytes() : 0) +
           kernels[device].size() * driver_bytes("kernel:") + handle_count[device] * driver_bytes("handle:");
}

int emulated_device(void)
{
    return board_current();
}

bool emulated_context_is_lost(void)
{
    return lost != cudaSuccess || pending != cudaSuccess;
}

int emulated_board_enter(int board)
{
    int before = board_current();
    board_set = board;
    return before;
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
    if (kernels[board_current()].insert(kernel).second) {
        latency_pass("module:");
    }
    int code = emulated_fault("launch");
    if (destroys_context(code)) { /* the launch itself is a success */
        emulated_work_add([code] { pending = (cudaError_t)code; });
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
    bool is_late = error == cudaErrorLaunchFailure && emulated_work_is_queued();
    (is_late ? pending : last_error) = error;
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
    *count = 0;
    if (start() != cudaSuccess) {
        return cudaErrorInitializationError;
    }
    *count = emulated_visible_count();
    return *count > 0 ? cudaSuccess : answer(cudaErrorNoDevice);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    if (start() != cudaSuccess) {
        return cudaErrorInitializationError;
    }
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
    const char *name = getenv("EMULATED_NAME"); /* of a class of GPU that somebody has measured */
    if (name != nullptr) {
        snprintf(properties->name, sizeof properties->name, "%s", name);
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *bus_id, int capacity, int device)
{
    if (start() != cudaSuccess) {
        return cudaErrorInitializationError;
    }
    int board = emulated_visible_board(device);
    if (board < 0) {
        return answer(device_missing());
    }
    snprintf(bus_id, (size_t)capacity, "0000:0%d:00.0", board);
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (start() != cudaSuccess) {
        return cudaErrorInitializationError;
    }
    int board = emulated_visible_board(device);
    if (board < 0) {
        return answer(device_missing());
    }
    board_set = board;
    if (!context_made[board]) {
        latency_pass("context:");
    }
    context_made[board] = true;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    for (*device = 0; emulated_visible_board(*device) != board_current(); ++*device) {
        if (*device >= emulated_visible_count()) {
            return answer(device_missing());
        }
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    int board = emulated_visible_board(device);
    if (board < 0) {
        return answer(device_missing());
    }
    bool of_shared = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin;
    *value = of_shared ? (int)emulated_board_at(board)->shared_bytes_maximum : EMULATION_PROCESSORS;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return wait_begin("cudaDeviceSynchronize", board_current());
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    cudaError_t error = call_begin("cudaMalloc");
    if (error != cudaSuccess) {
        return error;
    }
    size_t left = device_bytes - emulated_used_bytes_on(board_current()) - emulated_foreign_bytes_on(board_current());
    bool fits = emulated_memory_growth(board_current(), bytes) <= left;
    void *taken = fits ? emulated_memory_take(board_current(), bytes) : nullptr;
    if (taken == nullptr) {
        return answer(cudaErrorMemoryAllocation);
    }
    *memory = taken;
    return cudaSuccess;
}

/* Waits for what may still use it, which is the board's that has it. */
cudaError_t cudaFree(void *memory)
{
    int owner = emulated_memory_board(memory, 0);
    cudaError_t error = wait_begin("cudaFree", owner >= 0 ? owner : board_current());
    if (error != cudaSuccess || memory == nullptr) {
        return error;
    }
    return emulated_memory_give_back(memory) ? cudaSuccess : answer(cudaErrorInvalidValue);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    cudaError_t error = wait_begin("cudaMemcpy", board_current());
    const void *host = kind == cudaMemcpyHostToDevice ? from : to;
    int owner = emulated_memory_board(kind == cudaMemcpyHostToDevice ? to : from, bytes);
    if (error != cudaSuccess || bytes == 0) {
        return error;
    }
    if (emulated_memory_is_closed() && (owner < 0 || emulated_memory_board(host, 0) >= 0)) {
        return answer(cudaErrorInvalidValue); /* it is no memory of a GPU, or no memory of the host */
    }
    emulated_memory_enter(owner >= 0 ? owner : board_current());
    memcpy(to, from, bytes);
    emulated_memory_leave(owner >= 0 ? owner : board_current());
    emulated_copy_note(host, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    cudaError_t error = call_begin("cudaMemset");
    if (error != cudaSuccess) {
        return error;
    }
    emulated_work_add([=] { memset(memory, value, bytes); });
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
    cudaError_t error = call_begin("cudaStreamQuery");
    return error != cudaSuccess || !emulated_work_is_left(board_current()) ? error : answer(cudaErrorNotReady);
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
    case cudaErrorInitializationError:
        return "initialization error";
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
