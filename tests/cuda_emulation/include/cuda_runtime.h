/* CUDA C++ as ordinary C++: a launch runs its blocks one after the other, the threads of a block as fibers that change
 * only where they wait for each other. kernel<<<grid, block, bytes, stream>>>(args) has been rewritten to
 * emulation_launch(grid, block, bytes, stream).run(kernel, args) by the Makefile, __shared__ type name[n]; to
 * emulation_shared(name, type[n]);. */
#ifndef ASSAY_TESTS_CUDA_RUNTIME_H
#define ASSAY_TESTS_CUDA_RUNTIME_H

#include <cuda_runtime_api.h>

#include <functional>
#include <tuple>

#include "tests/cuda_emulation/emulated/emulated_work.h"

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_count = 1, unsigned y_count = 1, unsigned z_count = 1) : x(x_count), y(y_count), z(z_count)
    {
    }
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

/* A wait that lanes reach at different lines is a fault, as is one that some lanes never reach. */
void emulation_block_wait(int line);
int emulation_block_or(int line, int predicate);
/* value becomes what lane ^ lane_mask has; it stays if the mask is not that of a whole warp. */
void emulation_warp_swap(int line, unsigned mask, void *value, size_t bytes, int lane_mask);
unsigned emulation_warp_ballot(int line, unsigned mask, bool predicate);
/* Every lane of the warp offers some bytes; returns what its 32 lanes offered, for as long as this one offers no
 * more. */
struct emulation_offer {
    alignas(16) unsigned char bytes[64];
};
const emulation_offer *emulation_warp_offer(int line, const void *bytes, size_t count);
/* Whether EMULATED_WITHOUT=FILE:LINE takes that barrier away. file: of any folder. */
bool emulation_without(const char *file, int line);
#define emulation_barrier(wait) (emulation_without(__FILE__, __LINE__) ? (void)0 : wait)
int emulation_thread(void); /* in the block */
void *emulation_shared_memory(void);
/* A variable in shared memory, as emulation_shared(name, type) declares it; key: an address that stands for it. */
void *emulation_shared_variable(const void *key, size_t bytes);
#define emulation_shared(name, ...)                                                                                    \
    using name##_type = __VA_ARGS__;                                                                                   \
    static const char name##_key = 0;                                                                                  \
    name##_type &name = *(name##_type *)emulation_shared_variable(&name##_key, sizeof(name##_type))

template <typename kind> kind emulation_warp_exchange(int line, unsigned mask, kind value, int lane_mask)
{
    static_assert(sizeof(kind) == 4 || sizeof(kind) == 8, "a shuffle moves 4 bytes or 8");
    emulation_warp_swap(line, mask, &value, sizeof value, lane_mask);
    return value;
}

#define __syncthreads()                         emulation_barrier(emulation_block_wait(__LINE__))
#define __syncthreads_or(predicate)             emulation_block_or(__LINE__, predicate)
#define __syncwarp()                            emulation_barrier((void)emulation_warp_offer(__LINE__, "", 0))
#define __shfl_xor_sync(mask, value, lane_mask) emulation_warp_exchange(__LINE__, mask, value, lane_mask)
#define __ballot_sync(mask, predicate)          emulation_warp_ballot(__LINE__, mask, predicate)
#define __popc(bits)                            __builtin_popcount(bits)
#define __ffs(bits)                             __builtin_ffs(bits)

void emulation_fence(void);
void emulation_atomic(const void *address, size_t bytes);

#define __threadfence() emulation_fence()

/* Lanes take turns: none is interrupted between reading and writing. What they do here is no plain access. */
#define EMULATION_ATOMIC(name, after)                                                                                  \
    static inline __attribute__((no_sanitize("thread"))) int name(int *address, int value)                             \
    {                                                                                                                  \
        emulation_atomic(address, sizeof *address);                                                                    \
        int before = *address;                                                                                         \
        *address = after;                                                                                              \
        return before;                                                                                                 \
    }

EMULATION_ATOMIC(atomicMax, before > value ? before : value)
EMULATION_ATOMIC(atomicAdd, before + value)

class emulation_launch
{
  public:
    emulation_launch(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = nullptr)
        : grid_(grid), block_(block), shared_bytes_(shared_bytes)
    {
        (void)stream;
    }

    template <typename... parameters, typename... arguments>
    void run(void (*kernel)(parameters...), const arguments &...values)
    {
        static_assert((sizeof(parameters) + ... + 0) <= 4096, "the parameters of a kernel have 4096 bytes");
        const std::tuple<parameters...> copies(values...);
        if (!begins((const void *)kernel)) {
            return;
        }
        emulated_work_add([launch = *this, kernel, copies] {
            launch.blocks_run((const void *)kernel, [kernel, &copies] { std::apply(kernel, copies); }, &copies,
                              sizeof copies);
        });
    }

  private:
    bool begins(const void *kernel) const; /* false: it was refused */
    void blocks_run(const void *kernel, const std::function<void()> &thread, const void *parameters,
                    size_t parameter_bytes) const;

    dim3 grid_, block_;
    size_t shared_bytes_;
};

#include "tests/cuda_emulation/include/emulated_tensor_core.h"

#endif
