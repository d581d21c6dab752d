/* Each kernel copies a tensor, right but for one thing. */
#include "tests/cuda_emulation/checked/planted.h"

#include <cuda_runtime.h>
#include <string.h>

#include "harness/kernels/launch_grid.h"

enum { PLANTED_LANES = 64 };

struct alignas(16) four_floats {
    float at[4];
};

static __global__ void planted_right(const float *from, float *to, int count)
{
    __shared__ float kept[PLANTED_LANES];
    kept[threadIdx.x] = (int)threadIdx.x < count ? from[threadIdx.x] : 0.0f;
    __syncthreads();
    if ((int)threadIdx.x < count) {
        to[threadIdx.x] = kept[threadIdx.x];
    }
}

static __global__ void planted_read_beyond(const float *from, float *to, int count)
{
    if ((int)threadIdx.x < count) {
        to[threadIdx.x] = from[threadIdx.x + 1];
    }
}

static __global__ void planted_write_beyond(const float *from, float *to, int count)
{
    if ((int)threadIdx.x <= count) {
        to[threadIdx.x] = from[threadIdx.x % (unsigned)count];
    }
}

static __global__ void planted_misaligned(const float *from, float *to, int count)
{
    if (threadIdx.x == 0 && count > 4) {
        *(struct four_floats *)to = *(const struct four_floats *)(from + 1);
    }
}

static __global__ void planted_misaligned_store(const float *from, float *to, int count)
{
    if (threadIdx.x == 0 && count > 4) {
        *(struct four_floats *)(to + 1) = four_floats{{from[0], from[1], from[2], from[3]}};
    }
}

static __global__ void planted_unwritten(const float *from, float *to, int count)
{
    __shared__ float kept[PLANTED_LANES];
    if (threadIdx.x < PLANTED_LANES - 1) {
        kept[threadIdx.x] = (int)threadIdx.x < count ? from[threadIdx.x] : 0.0f;
    }
    __syncthreads();
    float value = kept[PLANTED_LANES - 1 - threadIdx.x];
    if ((int)threadIdx.x < count) {
        to[threadIdx.x] = value;
    }
}

static __global__ void planted_shared_beyond(const float *from, float *to, int count)
{
    extern __shared__ float kept[];
    kept[threadIdx.x + 1] = (int)threadIdx.x < count ? from[threadIdx.x] : 0.0f;
    __syncthreads();
    if ((int)threadIdx.x < count) {
        to[threadIdx.x] = kept[threadIdx.x + 1];
    }
}

/* A thread reads what another has in its own variables. */
static __global__ void planted_local(const float *from, float *to, int count)
{
    __shared__ const float *kept;
    float own = from[0];
    if (threadIdx.x == 0) {
        kept = &own;
    }
    __syncthreads();
    if ((int)threadIdx.x < count) {
        to[threadIdx.x] = *kept;
    }
    __syncthreads();
}

typedef void planted_kernel(const float *from, float *to, int count);

static const struct {
    const char *name;
    planted_kernel *kernel;
} planted[] = {{"none", planted_right},
               {"read-beyond", planted_read_beyond},
               {"write-beyond", planted_write_beyond},
               {"misaligned", planted_misaligned},
               {"misaligned-store", planted_misaligned_store},
               {"unwritten", planted_unwritten},
               {"shared-beyond", planted_shared_beyond},
               {"local", planted_local}};

const char *planted_run(const char *fault, const struct operation_call *call)
{
    const float *from = (const float *)call->tensors[0].data;
    float *to = (float *)call->tensors[call->input_count].data;
    int count = (int)tensor_element_count(&call->tensors[0]);
    if (strcmp(fault, "ptx") == 0) {
        return ptx_compare_run(call);
    }
    for (const auto &row : planted) {
        if (strcmp(row.name, fault) == 0) {
            planted_kernel *kernel = row.kernel;
            kernel<<<1, PLANTED_LANES, PLANTED_LANES * sizeof(float)>>>(from, to, count);
            return launch_result();
        }
    }
    return "EMULATED_PLANT names no fault";
}
