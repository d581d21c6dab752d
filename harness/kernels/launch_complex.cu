/* Launch of products of complex numbers: a thread for each. */
#include "harness/kernels/body_complex.h"
#include "harness/kernels/launch_grid.h"

struct complex_launch {
    struct walk walk;
    struct tensor tensors[3];
    int64_t steps[WALK_TENSORS];
    int64_t count;
    float sign;
};

static __global__ void complex_kernel(const __grid_constant__ struct complex_launch launch)
{
    for (int64_t k = thread_first(); k < launch.count; k += thread_step()) {
        int64_t at[WALK_TENSORS];
        walk_element(&launch.walk, k, at);
        complex_product(launch.tensors, at, launch.steps, launch.sign);
    }
}

const char *launch_complex_multiply(const struct operation_call *call, cudaStream_t stream)
{
    struct complex_launch launch;
    launch.walk = complex_walk_of(call);
    for (int t = 0; t < 3; t++) {
        launch.tensors[t] = call->tensors[t];
        launch.steps[t] = call->tensors[t].stride[call->tensors[t].rank - 1];
    }
    launch.count = launch.walk.line_count * launch.walk.line_length;
    launch.sign = call->attributes.i[0] == 1 ? -1.0f : 1.0f;
    complex_kernel<<<grid_blocks(launch.count, LANES), LANES, 0, stream>>>(launch);
    return launch_result();
}
