/* Groups: eight elements of a tensor, moved in accesses of 16 bytes (of 8 if an element has one byte), so that a warp
 * asks memory for whole lines. If a tensor's memory or strides do not allow it, or fewer than eight are left, elements
 * are moved one at a time. CUDA only.
 *
 * The elements of a group are neighbours if none has more than 2 bytes. Eight floats are two accesses, and if they were
 * neighbours each access of a warp would touch twice the sectors that it fills. So where there are float32 tensors a
 * warp takes 256 neighbours in two halves of 128: a lane has four of one half, and four of the other, `apart` elements
 * further on. */
#ifndef ASSAY_KERNELS_LAUNCH_GROUP_H
#define ASSAY_KERNELS_LAUNCH_GROUP_H

#include "harness/kernels/launch_grid.h"
#include "harness/kernels/launch_packet.h"

enum { GROUP = 8, GROUP_HALF = GROUP / 2, GROUP_APART = 32 * GROUP_HALF };

struct element_group {
    float at[GROUP];
};

/* Whether group_get and group_set know the dtype. */
static inline bool group_converts(enum dtype dtype)
{
    return dtype_is_packed(dtype) || dtype == DTYPE_BOOL || dtype == DTYPE_UINT8;
}

/* Whether the tensor's memory begins where a group may. */
static inline bool group_begins(const struct tensor *tensor)
{
    return (uintptr_t)tensor->data % (element_bytes(tensor->dtype) == 1 ? 8 : 16) == 0;
}

/* How many packets of `unit` neighbours the elements of a walk are, the first of them; 0 if any tensor stands in the
 * way. What is left is count - unit * packets elements, the last. */
static inline int64_t walk_packets(const struct walk *walk, const struct tensor *tensors, int unit)
{
    bool whole_lines = walk->line_length % unit == 0;
    bool fit = walk->line_count == 1 || whole_lines;
    for (int t = 0; t < walk->tensor_count; t++) {
        fit = fit && group_begins(&tensors[t]) && walk->stride[t][walk->rank - 1] == 1;
        for (int d = 0; d + 1 < walk->rank; d++) {
            fit = fit && walk->stride[t][d] % unit == 0;
        }
    }
    return fit ? walk->line_count * (walk->line_length / unit) : 0;
}

static inline int64_t walk_groups(const struct walk *walk, const struct tensor *tensors)
{
    return walk_packets(walk, tensors, GROUP);
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

/* How far apart the halves of groups lie: GROUP_HALF or GROUP_APART, for which whole warps have to be left of *groups.
 * line_length: of elements that are neighbours in all tensors, if there are several lines; else 0. */
static inline int64_t groups_apart(const struct tensor *tensors, int tensor_count, int64_t line_length, int64_t *groups)
{
    bool is_wide = false;
    for (int t = 0; t < tensor_count; t++) {
        is_wide = is_wide || element_bytes(tensors[t].dtype) == 4;
    }
    if (!is_wide || line_length % (2 * GROUP_APART) != 0 || *groups < 32) {
        return GROUP_HALF;
    }
    *groups -= *groups % 32;
    return GROUP_APART;
}

/* Blocks for that many groups and what is left of count. */
static inline unsigned group_blocks(int64_t count, int64_t groups)
{
    return grid_blocks(count - (GROUP - 1) * groups, LANES);
}

/* The first element of group k, and how many elements after it number n of the group lies. */
BODY int64_t group_first(int64_t k, int64_t apart)
{
    return apart == GROUP_HALF ? k * GROUP : k / 32 * (2 * GROUP_APART) + k % 32 * GROUP_HALF;
}

BODY int64_t group_step(int n, int64_t apart)
{
    return n < GROUP_HALF ? n : n - GROUP_HALF + apart;
}

BODY struct element_group group_alike(float value)
{
    struct element_group group;
#pragma unroll
    for (int k = 0; k < GROUP; k++) {
        group.at[k] = value;
    }
    return group;
}

/* The statements with `dtype` as a constant: one that group_converts knows. */
#define GROUP_SWITCH(of, ...)                                                                                          \
    do {                                                                                                               \
        if ((of) == DTYPE_BOOL) {                                                                                      \
            constexpr enum dtype dtype = DTYPE_BOOL;                                                                   \
            __VA_ARGS__                                                                                                \
        } else if ((of) == DTYPE_UINT8) {                                                                              \
            constexpr enum dtype dtype = DTYPE_UINT8;                                                                  \
            __VA_ARGS__                                                                                                \
        } else if ((of) == DTYPE_FLOAT32) {                                                                            \
            constexpr enum dtype dtype = DTYPE_FLOAT32;                                                                \
            __VA_ARGS__                                                                                                \
        } else {                                                                                                       \
            FLOATING_SWITCH(of, GROUP, __VA_ARGS__);                                                                   \
        }                                                                                                              \
    } while (0)

/* The group of a floating, bool or uint8 tensor that begins at this element. */
BODY struct element_group group_get(const struct tensor *tensor, int64_t index, int64_t apart = GROUP_HALF)
{
    struct element_group group;
    GROUP_SWITCH(tensor->dtype, {
        if (apart == GROUP_HALF) {
            packet_load<dtype, GROUP>(tensor->data, index, group.at);
        } else {
            packet_load<dtype, GROUP_HALF>(tensor->data, index, group.at);
            packet_load<dtype, GROUP_HALF>(tensor->data, index + apart, group.at + GROUP_HALF);
        }
    });
    return group;
}

BODY void group_set(const struct tensor *tensor, int64_t index, const struct element_group &group,
                    int64_t apart = GROUP_HALF)
{
    GROUP_SWITCH(tensor->dtype, {
        if (apart == GROUP_HALF) {
            packet_store<dtype, GROUP>(tensor->data, index, group.at);
        } else {
            packet_store<dtype, GROUP_HALF>(tensor->data, index, group.at);
            packet_store<dtype, GROUP_HALF>(tensor->data, index + apart, group.at + GROUP_HALF);
        }
    });
}

/* Calls work(e) for each element of dense tensors of one length: e[t] is that of tensor t; those from `inputs` on are
 * written back. */
template <int inputs, int tensors, typename function>
BODY void elements_update(const struct tensor *t, int64_t count, int64_t groups, int64_t apart, function work)
{
    for (int64_t k = thread_first(); k < groups; k += thread_step()) {
        struct element_group group[tensors];
#pragma unroll
        for (int i = 0; i < tensors; i++) {
            group[i] = group_get(&t[i], group_first(k, apart), apart);
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
            group_set(&t[i], group_first(k, apart), group[i], apart);
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
