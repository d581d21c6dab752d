/* What the launches share: the size of grids, teams of lanes, and spans in device memory. CUDA only. */
#ifndef ASSAY_KERNELS_LAUNCH_GRID_H
#define ASSAY_KERNELS_LAUNCH_GRID_H

#include <cuda_runtime.h>

#include "harness/kernels/body.h"
#include "harness/kernels/body_rows.h"
#include "harness/kernels/body_walk.h"
#include "harness/kernels/plan_grid.h"

/* A kernel that is launched with row_lanes(), so many that a launch with more than 64 registers for each is refused. At
 * least one such block fits at once: where nothing is said, nvcc keeps some registers in memory so that two do. */
#define ROW_KERNEL_FUNCTION static __global__ void __launch_bounds__(ROW_LANES_MAXIMUM, 1)

/* The column `launch` of OPERATION_TABLE. Each returns NULL or a static text, as kernel_cuda_run does. The call has
 * passed call_check and is not empty. */
typedef const char *launch_function(const struct operation_call *call, cudaStream_t stream);

#define KERNEL_LAUNCH(name, pattern, check, host, launch) launch_function launch;
#define PRODUCT_LAUNCH(name, pattern, kind)
OPERATION_TABLE(KERNEL_LAUNCH, PRODUCT_LAUNCH)
#undef KERNEL_LAUNCH
#undef PRODUCT_LAUNCH

static inline const char *launch_result(void)
{
    cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}

/* The elements of a tensor from `index` on. */
BODY struct span span_at(const struct tensor *tensor, int64_t index)
{
    struct span span = {(char *)tensor->data + index * element_bytes(tensor->dtype), tensor->dtype};
    return span;
}

BODY float tensor_get(const struct tensor *tensor, int64_t index)
{
    return float_load(tensor->data, tensor->dtype, index);
}

BODY void tensor_set(const struct tensor *tensor, int64_t index, float value)
{
    float_store(tensor->data, tensor->dtype, index, value);
}

/* The whole block as a team. shared: TEAM_SHARED_FLOATS floats. */
BODY struct team block_team(float *shared)
{
    struct team team = {(int)threadIdx.x, (int)blockDim.x, shared};
    return team;
}

/* The element that a thread begins with, and the step to its next one. */
BODY int64_t thread_first(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

BODY int64_t thread_step(void)
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* Position of row-major element `index` in one tensor of a walk. */
BODY int64_t walk_position(const struct walk *walk, int tensor, int64_t index)
{
    int last = walk->rank - 1;
    if (walk->line_count == 1) {
        return index * walk->stride[tensor][last];
    }
    int64_t position = 0;
#pragma unroll 1
    for (int d = last; d >= 0; d--) {
        position += index % walk->size[d] * walk->stride[tensor][d];
        index /= walk->size[d];
    }
    return position;
}

/* Positions of row-major element `index` in every tensor of a walk. As many steps for every walk, so that the positions
 * stay in registers; of tensors that a walk lacks they mean nothing. */
BODY void walk_element(const struct walk *walk, int64_t index, int64_t offsets[WALK_TENSORS])
{
    int last = walk->rank - 1;
    bool one_line = walk->line_count == 1;
#pragma unroll
    for (int t = 0; t < WALK_TENSORS; t++) {
        offsets[t] = one_line ? index * walk->stride[t][last] : 0;
    }
#pragma unroll 1
    for (int d = one_line ? -1 : last; d >= 0; d--) {
        int64_t along = index % walk->size[d];
        index /= walk->size[d];
#pragma unroll
        for (int t = 0; t < WALK_TENSORS; t++) {
            offsets[t] += along * walk->stride[t][d];
        }
    }
}

#endif
