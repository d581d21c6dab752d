/* Launches of creation and element-wise operations: a thread for each element, or for a group of eight if memory
 * allows, in a loop over the grid. Copies and fills, which need not know what elements mean, are in launch_copy.cu. */
#include "harness/kernels/body_create.h"
#include "harness/kernels/body_element.h"
#include "harness/kernels/call_check.h"
#include "harness/kernels/launch_group.h"

struct element_launch {
    struct tensor tensors[WALK_TENSORS]; /* inputs, then outputs */
    struct walk walk;
    int64_t count, groups; /* groups: the first of the elements that are moved eight at a time, see walk_groups */
    int64_t apart;         /* of their halves */
    struct element_parameters parameters;
    struct random_key key;
    int64_t i0, i1;
};

/* Of tensors that group_converts, or there are no groups. */
static void element_launch_spread(struct element_launch *launch)
{
    int64_t line = launch->walk.line_count > 1 ? launch->walk.line_length : 0;
    launch->apart = groups_apart(launch->tensors, launch->walk.tensor_count, line, &launch->groups);
}

static struct element_launch element_launch_of(const struct operation_call *call)
{
    struct element_launch launch;
    for (int t = 0; t < call->tensor_count; t++) {
        launch.tensors[t] = call->tensors[t];
    }
    launch.walk = walk_of_call(call);
    launch.count = launch.walk.line_count * launch.walk.line_length;
    launch.groups = walk_groups(&launch.walk, launch.tensors);
    launch.apart = GROUP_HALF;
    launch.parameters.f0 = (float)call->attributes.f[0];
    launch.parameters.f1 = (float)call->attributes.f[1];
    launch.i0 = call->attributes.i[0];
    launch.i1 = call->attributes.i[1];
    return launch;
}

/* work(a, b) for each element; b is a if there is one input. */
template <typename function> BODY void elements_make(const struct element_launch *launch, function work)
{
    const struct tensor *tensors = launch->tensors;
    int out = launch->walk.tensor_count - 1;
    int64_t at[WALK_TENSORS];
    for (int64_t k = thread_first(); k < launch->groups; k += thread_step()) {
        walk_element(&launch->walk, group_first(k, launch->apart), at);
        struct element_group a = group_get(&tensors[0], at[0], launch->apart), b = a;
        if (out == 2) {
            b = group_get(&tensors[1], at[1], launch->apart);
        }
#pragma unroll
        for (int n = 0; n < GROUP; n++) {
            a.at[n] = work(a.at[n], b.at[n]);
        }
        group_set(&tensors[out], out == 2 ? at[2] : at[1], a, launch->apart);
    }
    for (int64_t k = launch->groups * GROUP + thread_first(); k < launch->count; k += thread_step()) {
        walk_element(&launch->walk, k, at);
        float a = tensor_get(&tensors[0], at[0]);
        float b = out == 2 ? tensor_get(&tensors[1], at[1]) : a;
        tensor_set(&tensors[out], out == 2 ? at[2] : at[1], work(a, b));
    }
}

#define ELEMENT_KERNEL(name, opcode, form)                                                                             \
    static __global__ void element_kernel_##name(const __grid_constant__ struct element_launch launch)                 \
    {                                                                                                                  \
        elements_make(&launch, [&](float a, float b) { return element_##name(a, b, launch.parameters); });             \
    }
ELEMENT_TABLE(ELEMENT_KERNEL)
#undef ELEMENT_KERNEL

typedef void element_kernel(const struct element_launch launch);

/* NULL if the call is of no element-wise operation. */
static element_kernel *element_kernel_for(const struct operation_call *call)
{
    switch (element_row(call)) {
#define ELEMENT_CASE(name, opcode, form)                                                                               \
    case ELEMENT_ROW(opcode, form):                                                                                    \
        return element_kernel_##name;
        ELEMENT_TABLE(ELEMENT_CASE)
#undef ELEMENT_CASE
    default:
        return NULL;
    }
}

const char *launch_element(const struct operation_call *call, cudaStream_t stream)
{
    element_kernel *kernel = element_kernel_for(call);
    if (kernel == NULL) {
        return kernel_unknown;
    }
    struct element_launch launch = element_launch_of(call);
    for (int t = 0; t < call->tensor_count; t++) {
        launch.groups = group_converts(call->tensors[t].dtype) ? launch.groups : 0;
    }
    element_launch_spread(&launch);
    kernel<<<group_blocks(launch.count, launch.groups), LANES, 0, stream>>>(launch);
    return launch_result();
}

/* Element k of a dense tensor = work(k). */
template <typename function>
BODY void elements_create(const struct element_launch *launch, const struct tensor *out, function work)
{
    for (int64_t k = thread_first(); k < launch->groups; k += thread_step()) {
        int64_t first = group_first(k, launch->apart);
        struct element_group group;
#pragma unroll
        for (int n = 0; n < GROUP; n++) {
            group.at[n] = work(first + group_step(n, launch->apart));
        }
        group_set(out, first, group, launch->apart);
    }
    for (int64_t k = launch->groups * GROUP + thread_first(); k < launch->count; k += thread_step()) {
        tensor_set(out, k, work(k));
    }
}

/* The same of int64, two at a time: groups counts those. */
template <typename function> BODY void integers_create(const struct element_launch *launch, function work)
{
    int64_t *out = (int64_t *)launch->tensors[0].data;
    for (int64_t k = thread_first(); k < launch->groups; k += thread_step()) {
        uint64_t first = (uint64_t)work(2 * k), second = (uint64_t)work(2 * k + 1);
        uint32_t word[4] = {(uint32_t)first, (uint32_t)(first >> 32), (uint32_t)second, (uint32_t)(second >> 32)};
        words_store<16>(out + 2 * k, word);
    }
    for (int64_t k = 2 * launch->groups + thread_first(); k < launch->count; k += thread_step()) {
        out[k] = work(k);
    }
}

static __global__ void normal_kernel(const __grid_constant__ struct element_launch launch)
{
    struct random_key key = random_key_of(launch.i0);
    elements_create(&launch, &launch.tensors[0], [&](int64_t k) {
        return launch.parameters.f0 + launch.parameters.f1 * random_normal(key, (uint64_t)k);
    });
}

static __global__ void integer_kernel(const __grid_constant__ struct element_launch launch)
{
    struct random_key key = random_key_of(launch.i0);
    integers_create(&launch, [&](int64_t k) { return random_integer(key, (uint64_t)k, launch.i1); });
}

static __global__ void sequence_kernel(const __grid_constant__ struct element_launch launch, int64_t columns)
{
    integers_create(&launch, [&](int64_t k) { return sequence_element(k, columns, launch.i0, launch.i1); });
}

static __global__ void mask_kernel(const __grid_constant__ struct element_launch launch, struct mask_shape shape)
{
    elements_create(&launch, &launch.tensors[0], [&](int64_t k) { return causal_mask_element(k, shape); });
}

const char *launch_create(const struct operation_call *call, cudaStream_t stream)
{
    struct element_launch launch = element_launch_of(call);
    const struct tensor *out = &call->tensors[0];
    bool integers = out->dtype == DTYPE_INT64;
    launch.groups = integers ? (group_begins(out) ? launch.count / 2 : 0) : dense_groups(out, 1, launch.count);
    launch.apart = integers ? GROUP_HALF : groups_apart(out, 1, 0, &launch.groups);
    unsigned blocks =
        integers ? grid_blocks(launch.count - launch.groups, LANES) : group_blocks(launch.count, launch.groups);
    switch (call->opcode) {
    case OPCODE_RANDOM_NORMAL:
        normal_kernel<<<blocks, LANES, 0, stream>>>(launch);
        break;
    case OPCODE_RANDOM_INTEGER:
        integer_kernel<<<blocks, LANES, 0, stream>>>(launch);
        break;
    case OPCODE_SEQUENCE:
        sequence_kernel<<<blocks, LANES, 0, stream>>>(launch, rows_of(out).columns);
        break;
    default:
        mask_kernel<<<blocks, LANES, 0, stream>>>(launch, mask_shape_of(call));
    }
    return launch_result();
}

static __global__ void attention_mask_kernel(const __grid_constant__ struct element_launch launch,
                                             struct span_shape shape, const int64_t *seen, int out)
{
    elements_create(&launch, &launch.tensors[out],
                    [&](int64_t k) { return attention_mask_element(k, shape, seen) ? 1.0f : 0.0f; });
}

const char *launch_attention_mask(const struct operation_call *call, cudaStream_t stream)
{
    struct element_launch launch = element_launch_of(call);
    const struct tensor *out = &call->tensors[call->input_count];
    const int64_t *seen = call->input_count > 0 ? (const int64_t *)call->tensors[0].data : NULL;
    launch.count = out->size[0] * out->size[2] * out->size[3];
    launch.groups = dense_groups(out, 1, launch.count);
    launch.apart = groups_apart(out, 1, 0, &launch.groups);
    unsigned blocks = group_blocks(launch.count, launch.groups);
    attention_mask_kernel<<<blocks, LANES, 0, stream>>>(launch, span_shape_of(call), seen, call->input_count);
    return launch_result();
}

static __global__ void dropout_kernel(const __grid_constant__ struct element_launch launch)
{
    const struct tensor *a = &launch.tensors[0], *out = &launch.tensors[1], *mask = &launch.tensors[2];
    struct random_key key = random_key_of(launch.i0);
    float probability = launch.parameters.f0;
    float scale = dropout_scale(probability);
    int64_t at[WALK_TENSORS];
    for (int64_t k = thread_first(); k < launch.groups; k += thread_step()) {
        int64_t first = group_first(k, launch.apart);
        walk_element(&launch.walk, first, at);
        struct element_group value = group_get(a, at[0], launch.apart), kept;
#pragma unroll
        for (int n = 0; n < GROUP; n++) {
            kept.at[n] = dropout_keeps(key, (uint64_t)(first + group_step(n, launch.apart)), probability) ? 1.0f : 0.0f;
            value.at[n] = kept.at[n] != 0.0f ? value.at[n] * scale : 0.0f;
        }
        group_set(out, at[1], value, launch.apart);
        group_set(mask, at[2], kept, launch.apart);
    }
    for (int64_t k = launch.groups * GROUP + thread_first(); k < launch.count; k += thread_step()) {
        walk_element(&launch.walk, k, at);
        bool kept = dropout_keeps(key, (uint64_t)k, probability);
        tensor_set(out, at[1], kept ? tensor_get(a, at[0]) * scale : 0.0f);
        ((uint8_t *)mask->data)[at[2]] = kept;
    }
}

const char *launch_dropout(const struct operation_call *call, cudaStream_t stream)
{
    struct element_launch launch = element_launch_of(call);
    element_launch_spread(&launch);
    dropout_kernel<<<group_blocks(launch.count, launch.groups), LANES, 0, stream>>>(launch);
    return launch_result();
}
