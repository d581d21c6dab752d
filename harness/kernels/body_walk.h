/* Walk: the elements of several tensors of equal shape in row-major order, whatever their strides.
 *
 * Dimensions of size 1 are left out and neighbours that can be stepped over as one in every tensor are joined, so that
 * dense tensors become one line of elements. A line is a run along the last dimension. */
#ifndef ASSAY_KERNELS_BODY_WALK_H
#define ASSAY_KERNELS_BODY_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/kernels/operation.h"

#ifdef __CUDACC__
#define WALK static __host__ __device__ __forceinline__
#else
#define WALK static inline
#endif

enum { WALK_TENSORS = 4 };

struct walk {
    int tensor_count;
    int rank; /* at least 1 */
    int64_t size[TENSOR_RANK_MAXIMUM];
    int64_t stride[WALK_TENSORS][TENSOR_RANK_MAXIMUM]; /* in elements */
    int64_t line_length;                               /* size[rank - 1] */
    int64_t line_count;                                /* product of the other sizes */
};

/* Whether dimension `outer` steps over exactly the whole of `inner` in every tensor. */
WALK bool walk_joins(const struct walk *walk, int outer, int inner)
{
    for (int t = 0; t < walk->tensor_count; t++) {
        if (walk->stride[t][outer] != walk->stride[t][inner] * walk->size[inner]) {
            return false;
        }
    }
    return true;
}

/* Appends one dimension of tensors[0 .. tensor_count), joined to the one before if that is possible. */
WALK void walk_append(struct walk *walk, const struct tensor *tensors, int dimension)
{
    int last = walk->rank;
    walk->size[last] = tensors[0].size[dimension];
    for (int t = 0; t < walk->tensor_count; t++) {
        walk->stride[t][last] = tensors[t].stride[dimension];
    }
    if (last > 0 && walk_joins(walk, last - 1, last)) {
        walk->size[last - 1] *= walk->size[last];
        for (int t = 0; t < walk->tensor_count; t++) {
            walk->stride[t][last - 1] = walk->stride[t][last];
        }
        return;
    }
    walk->rank++;
}

/* The tensors have the same rank and sizes. */
WALK struct walk walk_of(const struct tensor *tensors, int tensor_count)
{
    struct walk walk = {0};
    walk.tensor_count = tensor_count;
    /* cppcheck-suppress uninitvar ; a call has at least one tensor, and its caller set those that it has */
    for (int d = 0; d < tensors[0].rank; d++) {
        if (tensors[0].size[d] != 1) {
            walk_append(&walk, tensors, d);
        }
    }
    if (walk.rank == 0) {
        walk.rank = 1;
        walk.size[0] = 1;
        for (int t = 0; t < tensor_count; t++) {
            walk.stride[t][0] = 1;
        }
    }
    walk.line_length = walk.size[walk.rank - 1];
    walk.line_count = 1;
    for (int d = 0; d + 1 < walk.rank; d++) {
        walk.line_count *= walk.size[d];
    }
    return walk;
}

/* The walk over the tensors of an element-wise call: they agree in shape, or are dense and agree in length. */
WALK struct walk walk_of_call(const struct operation_call *call)
{
    struct tensor tensors[WALK_TENSORS];
    bool alike = true;
    tensors[0] = call->tensors[0];
    for (int t = 0; t < call->tensor_count; t++) {
        tensors[t] = call->tensors[t];
        alike = alike && tensors[t].rank == tensors[0].rank;
        for (int d = 0; alike && d < tensors[0].rank; d++) {
            alike = tensors[t].size[d] == tensors[0].size[d];
        }
    }
    for (int t = 0; !alike && t < call->tensor_count; t++) {
        int64_t count = 1;
        for (int d = 0; d < tensors[t].rank; d++) {
            count *= tensors[t].size[d];
        }
        tensors[t].rank = 1;
        tensors[t].size[0] = count;
        tensors[t].stride[0] = 1;
    }
    return walk_of(tensors, call->tensor_count);
}

/* offsets[t] = the position of the first element of a line in tensor t. */
WALK void walk_line(const struct walk *walk, int64_t line, int64_t offsets[WALK_TENSORS])
{
    for (int t = 0; t < walk->tensor_count; t++) {
        offsets[t] = 0;
    }
    for (int d = walk->rank - 2; d >= 0; d--) {
        int64_t index = line % walk->size[d];
        line /= walk->size[d];
        for (int t = 0; t < walk->tensor_count; t++) {
            offsets[t] += index * walk->stride[t][d];
        }
    }
}

#endif
