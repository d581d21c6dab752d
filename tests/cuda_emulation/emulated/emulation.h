/* What the emulated launches and the emulated runtime tell each other. */
#ifndef ASSAY_TESTS_CUDA_EMULATION_H
#define ASSAY_TESTS_CUDA_EMULATION_H

#include <cstdint>

#include <cuda_runtime_api.h>

enum { EMULATION_SHARED_BYTES = 227 * 1024, EMULATION_THREADS = 1024 }; /* of a block */
enum { EMULATED_PAGE = 4096 };
/* Whole pages. */
enum { EMULATED_SHARED_ROOM = (EMULATION_SHARED_BYTES + EMULATED_PAGE - 1) / EMULATED_PAGE * EMULATED_PAGE };
/* Of every emulated GPU: so few that some calls have a block for each of them, and some have not. */
enum { EMULATION_PROCESSORS = 2 };

/* The error that cudaGetLastError will tell. text: what cudaGetErrorString says of a cudaErrorLaunchFailure. */
void emulation_error_set(cudaError_t error, const char *text);

/* The same from within a kernel: the launch ends in a fault. */
void emulation_fault(const char *text);

/* From within a kernel, after which nothing of the launch runs: it would do what a GPU does not. The fault is told
 * besides. */
[[noreturn]] void emulation_lane_abandon(void);

/* Whether the copy that is begun now is made now; otherwise when it is waited for. */
bool emulation_copy_is_early(void);

/* What was begun by the lanes of the last block and never waited for is gone. */
void emulated_copies_forget(void);

/* Bytes of dynamic shared memory that a launch of the kernel may ask for. */
size_t emulation_shared_limit(const void *kernel);

/* The error that a call of that name is to give because EMULATED_FAULT says so; 0: none. emulated_runtime.cpp has its
 * form. */
int emulated_fault(const char *name);

/* Of a function of the runtime: what it answers before it does anything, and its answer, which cudaGetLastError will
 * tell. */
cudaError_t emulated_call_begin(const char *name);
cudaError_t emulated_answer(cudaError_t error);

/* The host's end of a copy. */
void emulated_copy_note(const void *host, size_t bytes);

/* False where the launch does nothing: it was refused, or the context is lost. */
bool emulated_launch_begin(const void *kernel);

/* The board of the device that was set last, see emulated_devices.h: what is launched, taken and asked is its. */
int emulated_device(void);

/* Whether memory of another device than that lies there. Nobody asked for peer access, so what runs must not reach
 * it. */
bool emulated_is_elsewhere(const void *address);
/* Where the memory that holds the address begins and what it has, of the device that runs; false: none of it does. */
bool emulated_memory_find(const void *address, const void **start, size_t *bytes);
/* What runs has reached beyond: the context is lost, as by any illegal address, and the next call tells it. */
void emulated_reach_beyond(void);

/* Device memory by board: all that each has, what this process and its driver hold of it, and what processes hold that
 * EMULATED_NVML names. */
size_t emulated_memory_bytes(void);
size_t emulated_used_bytes_on(int board);
size_t emulated_foreign_bytes_on(int board);

/* What a launch may touch besides device memory. */
struct emulated_span {
    const void *start;
    size_t bytes;
};

struct emulated_launch_view {
    const void *kernel;
    emulated_span parameters, thread; /* the host's, which a thread reads as it begins */
    emulated_span shared;             /* of a block, as many bytes as the launch says */
    int lane_count;                   /* of a block */
    int64_t block_count;
};

/* Looks on while kernels run. tests/cuda_emulation/checked has one; nothing else does. */
class emulated_watch
{
  public:
    virtual void launch_begin(const emulated_launch_view &view) = 0;
    virtual void block_begin() = 0;
    virtual void shared_variable(const emulated_span &span) = 0; /* a lane comes by it */
    virtual void lane_waits() = 0;                               /* for its warp or its block, or it has ended */
    virtual void block_end() = 0;
    virtual void launch_end() = 0;
    /* The lane that runs touches memory by what the emulation does for it. */
    virtual void touch(const void *address, size_t bytes, bool writes) = 0;
};

extern emulated_watch *emulated_watcher; /* NULL: nobody does */
emulated_span emulated_stack_of(int lane);

/* -- shared_variables.cpp: of the kernel that is launched, and as each of its blocks begins. */
void emulated_shared_variables_of(const void *kernel);
void emulated_shared_variables_poison(void);
bool emulated_is_shared_variable(const void *address);

bool emulated_context_is_made_on(int board);
void emulated_handle_made(void); /* of a library, on the present device */

#endif
