/* Complex numbers: real and imaginary part are neighbours in the last dimension, which a walk leaves out. */
#ifndef ASSAY_KERNELS_BODY_COMPLEX_H
#define ASSAY_KERNELS_BODY_COMPLEX_H

#include "harness/kernels/body.h"
#include "harness/kernels/body_walk.h"

/* The walk over the numbers of a call; offsets are those of the real parts, strides count elements. */
static inline struct walk complex_walk_of(const struct operation_call *call)
{
    struct tensor tensors[WALK_TENSORS];
    for (int t = 0; t < 3; t++) {
        tensors[t] = call->tensors[t];
        tensors[t].rank--;
    }
    return walk_of(tensors, 3);
}

/* out = a * b, sign * imaginary part for that of b. tensors: a, b, out; at: their real parts; steps: to the
 * imaginary. */
BODY void complex_product(const struct tensor *tensors, const int64_t *at, const int64_t *steps, float sign)
{
    float a_real = float_load(tensors[0].data, tensors[0].dtype, at[0]);
    float a_imaginary = float_load(tensors[0].data, tensors[0].dtype, at[0] + steps[0]);
    float b_real = float_load(tensors[1].data, tensors[1].dtype, at[1]);
    float b_imaginary = sign * float_load(tensors[1].data, tensors[1].dtype, at[1] + steps[1]);
    float_store(tensors[2].data, tensors[2].dtype, at[2], a_real * b_real - a_imaginary * b_imaginary);
    float_store(tensors[2].data, tensors[2].dtype, at[2] + steps[2], a_real * b_imaginary + a_imaginary * b_real);
}

#endif
