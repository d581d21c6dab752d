/* Groups: eight neighbouring elements of a tensor, moved in accesses of 16 bytes (of 8 where an element has one byte), so
 * that a warp asks memory for whole lines. Where a tensor's memory or strides do not allow it, or fewer than eight
 * are left, elements are moved one at a time. CUDA only. */
#ifndef ASSAY_KERNELS_LAUNCH_GROUP_H
#define ASSAY_KERNELS_LAUNCH_GROUP_H

#include "harness/kernels/launch_grid.h"

enum { GROUP = 8 };

struct alignas(16) group_of_16 {
    uint32_t word[4];
};

struct alignas(8) group_of_8 {
    uint32_t word[2];
};

struct element_group {
    float at[GROUP];
};

/* Whether group_get and group_set know the dtype. */
static inline bool group_converts(enum dtype dtype)
{
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16 || dtype == DTYPE_BOOL ||
           dtype == DTYPE_UINT8;
}

/* Whether the tensor's memory begins where a group may. */
static inline bool group_begins(const struct tensor *tensor)
{
    return (uintptr_t)tensor->data % (element_bytes(tensor->dtype) == 1 ? 8 : 16) == 0;
}

/* How many groups the elements of a walk are, the first of them; 0 where any tensor stands in the way. What is left is
 * count - GROUP * groups elements, the last. */
static inline int64_t walk_groups(const struct walk *walk, const struct tensor *tensors)
{
    bool whole_lines = walk->line_length % GROUP == 0;
    bool fit = walk->line_count == 1 || whole_lines;
    for (int t = 0; t < walk->tensor_count; t++) {
        fit = fit && group_begins(&tensors[t]) && walk->stride[t][walk->rank - 1] == 1;
        for (int d = 0; d + 1 < walk->rank; d++) {
            fit = fit && walk->stride[t][d] % GROUP == 0;
        }
    }
    return fit ? walk->line_count * (walk->line_length / GROUP) : 0;
}

/* The same of dense tensors of `count` elements. */
static inline int64_t dense_groups(const struct tensor *tensors, int tensor_count, int64_t count)
{
    bool fit = true;
    for (int t = 0; t < tensor_count; t++) {
        fit = fit && group_converts(tensors[t].dtype) && group_begins(&tensors[t]);
    }
    return fit ? count / GROUP : 0;
}

/* Blocks for that many groups and what is left of count. */
static inline unsigned group_blocks(int64_t count, int64_t groups)
{
    return grid_blocks(count - (GROUP - 1) * groups, LANES);
}

/* Elements [index, index + GROUP) of a floating, bool or uint8 tensor. */
BODY struct element_group group_get(const struct tensor *tensor, int64_t index)
{
    const void *from = (const char *)tensor->data + index * element_bytes(tensor->dtype);
    struct element_group group;
    if (tensor->dtype == DTYPE_FLOAT32) {
        struct group_of_16 low = ((const struct group_of_16 *)from)[0], high = ((const struct group_of_16 *)from)[1];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            group.at[k] = float_from_bits(low.word[k]);
            group.at[4 + k] = float_from_bits(high.word[k]);
        }
    } else if (tensor->dtype == DTYPE_FLOAT16 || tensor->dtype == DTYPE_BFLOAT16) {
        struct group_of_16 pairs = *(const struct group_of_16 *)from;
#pragma unroll
        for (int k = 0; k < GROUP; k++) {
            uint16_t bits = (uint16_t)(pairs.word[k / 2] >> 16 * (k % 2));
            group.at[k] = tensor->dtype == DTYPE_FLOAT16 ? float_from_float16(bits) : float_from_bfloat16(bits);
        }
    } else {
        struct group_of_8 bytes = *(const struct group_of_8 *)from;
#pragma unroll
        for (int k = 0; k < GROUP; k++) {
            uint32_t byte = bytes.word[k / 4] >> 8 * (k % 4) & 0xffu;
            group.at[k] = tensor->dtype == DTYPE_BOOL ? (byte != 0 ? 1.0f : 0.0f) : (float)byte;
        }
    }
    return group;
}

BODY void group_set(const struct tensor *tensor, int64_t index, const struct element_group &group)
{
    void *to = (char *)tensor->data + index * element_bytes(tensor->dtype);
    if (tensor->dtype == DTYPE_FLOAT32) {
        struct group_of_16 low, high;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            low.word[k] = float_bits(group.at[k]);
            high.word[k] = float_bits(group.at[4 + k]);
        }
        ((struct group_of_16 *)to)[0] = low;
        ((struct group_of_16 *)to)[1] = high;
    } else if (tensor->dtype == DTYPE_FLOAT16 || tensor->dtype == DTYPE_BFLOAT16) {
        struct group_of_16 pairs = {};
#pragma unroll
        for (int k = 0; k < GROUP; k++) {
            float value = group.at[k];
            uint32_t bits = tensor->dtype == DTYPE_FLOAT16 ? float_to_float16(value) : float_to_bfloat16(value);
            pairs.word[k / 2] |= bits << 16 * (k % 2);
        }
        *(struct group_of_16 *)to = pairs;
    } else {
        struct group_of_8 bytes = {};
#pragma unroll
        for (int k = 0; k < GROUP; k++) {
            uint32_t byte = tensor->dtype == DTYPE_BOOL ? group.at[k] != 0.0f : (uint8_t)group.at[k];
            bytes.word[k / 4] |= byte << 8 * (k % 4);
        }
        *(struct group_of_8 *)to = bytes;
    }
}

/* Calls work(e) for each element of dense tensors of one length: e[t] is that of tensor t; those from `inputs` on are
 * written back. */
template <int inputs, int tensors, typename function>
BODY void elements_update(const struct tensor *t, int64_t count, int64_t groups, function work)
{
    for (int64_t k = thread_first(); k < groups; k += thread_step()) {
        struct element_group group[tensors];
#pragma unroll
        for (int i = 0; i < tensors; i++) {
            group[i] = group_get(&t[i], k * GROUP);
        }
#pragma unroll
        for (int n = 0; n < GROUP; n++) {
            float e[tensors];
#pragma unroll
            for (int i = 0; i < tensors; i++) {
                e[i] = group[i].at[n];
            }
            work(e);
#pragma unroll
            for (int i = inputs; i < tensors; i++) {
                group[i].at[n] = e[i];
            }
        }
#pragma unroll
        for (int i = inputs; i < tensors; i++) {
            group_set(&t[i], k * GROUP, group[i]);
        }
    }
    for (int64_t k = groups * GROUP + thread_first(); k < count; k += thread_step()) {
        float e[tensors];
#pragma unroll
        for (int i = 0; i < tensors; i++) {
            e[i] = tensor_get(&t[i], k);
        }
        work(e);
#pragma unroll
        for (int i = inputs; i < tensors; i++) {
            tensor_set(&t[i], k, e[i]);
        }
    }
}

#endif
