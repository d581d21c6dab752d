/* Race watcher: who is told of what the lanes of a launch do. In the plug-in whose kernels were compiled with
 * -fsanitize=thread every access of theirs is told (watched/); in the other one there is nobody to tell. */
#ifndef ASSAY_TESTS_CUDA_RACE_WATCHER_H
#define ASSAY_TESTS_CUDA_RACE_WATCHER_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime.h>

#include "tests/cuda_emulation/emulated/emulation.h"

/* EMULATED_COPY_BEGIN: of bytes of shared memory that a copy without waiting will write; EMULATED_COPY_END: it has been
 * waited for, by the lane that began it. */
enum emulated_access {
    EMULATED_READ,
    EMULATED_WRITE,
    EMULATED_ATOMIC,
    EMULATED_COPY_BEGIN,
    EMULATED_COPY_END,
};

struct race_watcher {
    /* Of the lane that runs. at: the address of the code. */
    void (*access)(const void *address, size_t bytes, enum emulated_access access, const void *at);
    void (*launch_begin)(void);
    void (*block_begin)(void);
    void (*block_released)(void); /* all lanes of the block are past a barrier */
    void (*warp_released)(int warp);
    void (*fence)(void); /* of the lane that runs */
    /* What was wrong in the launch; "" where nothing was. */
    const char *(*launch_end)(void);
};

/* NULL: nobody watches. */
extern const struct race_watcher *race_watcher;

/* For a watcher, which asks at every access: whether a lane of a kernel runs and which, and where memory begins that is
 * not the device's. */
struct emulated_seen {
    bool lane_runs;
    int lane;         /* in the block */
    uintptr_t stacks; /* of all lanes, EMULATION_THREADS * EMULATED_STACK_BYTES */
    uintptr_t shared; /* EMULATED_SHARED_ROOM, at whose end lies the shared memory whose size the launch gave */
};
enum { EMULATED_STACK_BYTES = 128 * 1024 };
extern struct emulated_seen emulated_seen;

/* Whether the byte is on a lane's own stack or tells it its place. */
static inline bool emulated_is_own(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    return at - emulated_seen.stacks < (uintptr_t)EMULATION_THREADS * EMULATED_STACK_BYTES ||
           at - (uintptr_t)&threadIdx < sizeof threadIdx || at - (uintptr_t)&blockIdx < sizeof blockIdx ||
           at - (uintptr_t)&blockDim < sizeof blockDim || at - (uintptr_t)&gridDim < sizeof gridDim;
}

/* Whether it is of the shared memory whose size the launch gave. */
static inline bool emulated_is_dynamic_shared(const void *address)
{
    return (uintptr_t)address - emulated_seen.shared < (uintptr_t)EMULATED_SHARED_ROOM;
}

#endif
