/* Launches of the optimizers: a thread for each element of a parameter, or for eight neighbours. */
#include "harness/kernels/body_optimizer.h"
#include "harness/kernels/launch_group.h"

/* The tensors of the call without the scaler's flag, which stands apart. */
struct optimizer_launch {
    struct tensor tensors[4];
    const float *found;    /* NULL: none */
    int64_t count, groups; /* groups of eight among the elements, the first */
    int64_t apart;         /* of their halves, see launch_group.h */
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
    elements_update<1, 4>(launch.tensors, launch.count, launch.groups, launch.apart, [&](float(&e)[4]) {
        struct adam_element updated = {e[1], e[2], e[3]};
        updated = adam_update(updated, e[0], launch.adam);
        e[1] = updated.parameter, e[2] = updated.m, e[3] = updated.v;
    });
}

static __global__ void adam_moments_kernel(const __grid_constant__ struct optimizer_launch launch)
{
    if (optimizer_is_held(&launch)) {
        return;
    }
    elements_update<1, 3>(launch.tensors, launch.count, launch.groups, launch.apart, [&](float(&e)[3]) {
        struct moments_element updated = {e[1], e[2]};
        updated = moments_update(updated, e[0], launch.f0_complement, launch.f1, launch.f1_complement);
        e[1] = updated.m, e[2] = updated.v;
    });
}

static __global__ void adam_apply_kernel(const __grid_constant__ struct optimizer_launch launch)
{
    if (optimizer_is_held(&launch)) {
        return;
    }
    elements_update<2, 3>(launch.tensors, launch.count, launch.groups, launch.apart,
                          [&](float(&e)[3]) { e[2] = apply_update(e[2], e[0], e[1], launch.f0); });
}

static __global__ void sgd_momentum_kernel(const __grid_constant__ struct optimizer_launch launch)
{
    if (optimizer_is_held(&launch)) {
        return;
    }
    elements_update<1, 3>(launch.tensors, launch.count, launch.groups, launch.apart, [&](float(&e)[3]) {
        struct momentum_element updated = {e[1], e[2]};
        updated = momentum_update(updated, e[0], launch.f0, launch.f1);
        e[1] = updated.parameter, e[2] = updated.buffer;
    });
}

static __global__ void sgd_kernel(const __grid_constant__ struct optimizer_launch launch)
{
    if (optimizer_is_held(&launch)) {
        return;
    }
    elements_update<1, 2>(launch.tensors, launch.count, launch.groups, launch.apart,
                          [&](float(&e)[2]) { e[1] = sgd_update(e[1], e[0], launch.f0); });
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
    launch.count = tensor_element_count(&launch.tensors[0]);
    launch.groups = dense_groups(launch.tensors, count, launch.count);
    launch.apart = groups_apart(launch.tensors, count, 0, &launch.groups);
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
    unsigned blocks = group_blocks(launch.count, launch.groups);
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
    case OPCODE_SGD:
        sgd_kernel<<<blocks, LANES, 0, stream>>>(launch);
        break;
    default:
        sgd_momentum_kernel<<<blocks, LANES, 0, stream>>>(launch);
    }
    return launch_result();
}

/* Several threads may write the flag, all of them the same value. */
static __global__ void unscale_kernel(struct tensor grad, float *found, int64_t count, int64_t groups, int64_t apart,
                                      float factor)
{
    elements_update<0, 1>(&grad, count, groups, apart, [&](float(&e)[1]) {
        if (unscale_finds(e[0])) {
            *found = 1.0f;
        }
        e[0] *= factor;
    });
}

const char *launch_unscale(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = tensor_element_count(&call->tensors[0]);
    int64_t groups = dense_groups(call->tensors, 1, count);
    int64_t apart = groups_apart(call->tensors, 1, 0, &groups);
    unscale_kernel<<<group_blocks(count, groups), LANES, 0, stream>>>(
        call->tensors[0], (float *)call->tensors[1].data, count, groups, apart, (float)call->attributes.f[0]);
    return launch_result();
}
