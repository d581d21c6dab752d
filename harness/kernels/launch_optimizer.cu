/* Launches of the optimizers: a thread for each element of a parameter. */
#include "harness/kernels/body_optimizer.h"
#include "harness/kernels/launch_grid.h"

/* The tensors of the call without the scaler's flag, which stands apart. */
struct optimizer_launch {
    struct tensor tensors[4];
    const float *found; /* NULL: none */
    int64_t count;
    struct adam_constants adam;
    float f0, f1, f0_complement, f1_complement;
};

BODY bool optimizer_is_held(const struct optimizer_launch *launch)
{
    return launch->found != NULL && *launch->found != 0.0f;
}

static __global__ void adam_kernel(const __grid_constant__ struct optimizer_launch launch)
{
    if (optimizer_is_held(&launch)) {
        return;
    }
    const struct tensor *t = launch.tensors;
    for (int64_t k = thread_first(); k < launch.count; k += thread_step()) {
        struct adam_element e = {tensor_get(&t[1], k), tensor_get(&t[2], k), tensor_get(&t[3], k)};
        e = adam_update(e, tensor_get(&t[0], k), launch.adam);
        tensor_set(&t[1], k, e.parameter);
        tensor_set(&t[2], k, e.m);
        tensor_set(&t[3], k, e.v);
    }
}

static __global__ void adam_moments_kernel(const __grid_constant__ struct optimizer_launch launch)
{
    if (optimizer_is_held(&launch)) {
        return;
    }
    const struct tensor *t = launch.tensors;
    for (int64_t k = thread_first(); k < launch.count; k += thread_step()) {
        struct moments_element e = {tensor_get(&t[1], k), tensor_get(&t[2], k)};
        e = moments_update(e, tensor_get(&t[0], k), launch.f0_complement, launch.f1, launch.f1_complement);
        tensor_set(&t[1], k, e.m);
        tensor_set(&t[2], k, e.v);
    }
}

static __global__ void adam_apply_kernel(const __grid_constant__ struct optimizer_launch launch)
{
    if (optimizer_is_held(&launch)) {
        return;
    }
    const struct tensor *t = launch.tensors;
    for (int64_t k = thread_first(); k < launch.count; k += thread_step()) {
        float m = tensor_get(&t[0], k), denominator = tensor_get(&t[1], k);
        tensor_set(&t[2], k, apply_update(tensor_get(&t[2], k), m, denominator, launch.f0));
    }
}

static __global__ void sgd_momentum_kernel(const __grid_constant__ struct optimizer_launch launch)
{
    if (optimizer_is_held(&launch)) {
        return;
    }
    const struct tensor *t = launch.tensors;
    for (int64_t k = thread_first(); k < launch.count; k += thread_step()) {
        struct momentum_element e = {tensor_get(&t[1], k), tensor_get(&t[2], k)};
        e = momentum_update(e, tensor_get(&t[0], k), launch.f0, launch.f1);
        tensor_set(&t[1], k, e.parameter);
        tensor_set(&t[2], k, e.buffer);
    }
}

/* required: how many inputs the operation has without the flag. */
static struct optimizer_launch optimizer_launch_of(const struct operation_call *call, int required)
{
    struct optimizer_launch launch;
    const double *f = call->attributes.f;
    int count = 0;
    launch.found = NULL;
    for (int t = 0; t < call->tensor_count; t++) {
        if (t >= required && t < call->input_count) {
            launch.found = (const float *)call->tensors[t].data;
        } else {
            launch.tensors[count++] = call->tensors[t];
        }
    }
    launch.count = elements_of(&launch.tensors[0]);
    launch.adam = adam_constants_of(&call->attributes);
    launch.f0 = (float)f[0];
    launch.f1 = (float)f[1];
    launch.f0_complement = (float)(1.0 - f[0]);
    launch.f1_complement = (float)(1.0 - f[1]);
    return launch;
}

const char *launch_optimizer(const struct operation_call *call, cudaStream_t stream)
{
    struct optimizer_launch launch = optimizer_launch_of(call, call->opcode == OPCODE_ADAM_APPLY ? 2 : 1);
    unsigned blocks = grid_blocks(launch.count, LANES);
    switch (call->opcode) {
    case OPCODE_ADAM:
        adam_kernel<<<blocks, LANES, 0, stream>>>(launch);
        break;
    case OPCODE_ADAM_MOMENTS:
        adam_moments_kernel<<<blocks, LANES, 0, stream>>>(launch);
        break;
    case OPCODE_ADAM_APPLY:
        adam_apply_kernel<<<blocks, LANES, 0, stream>>>(launch);
        break;
    default:
        sgd_momentum_kernel<<<blocks, LANES, 0, stream>>>(launch);
    }
    return launch_result();
}

/* Several threads may write the flag, all of them the same value. */
static __global__ void unscale_kernel(struct tensor grad, float *found, int64_t count, float factor)
{
    for (int64_t k = thread_first(); k < count; k += thread_step()) {
        float value = tensor_get(&grad, k);
        if (unscale_finds(value)) {
            *found = 1.0f;
        }
        tensor_set(&grad, k, value * factor);
    }
}

const char *launch_unscale(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = elements_of(&call->tensors[0]);
    unscale_kernel<<<grid_blocks(count, LANES), LANES, 0, stream>>>(call->tensors[0], (float *)call->tensors[1].data,
                                                                    count, (float)call->attributes.f[0]);
    return launch_result();
}
