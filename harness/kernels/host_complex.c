/* Products of complex numbers on the host. */
#include "harness/kernels/body_complex.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_walk.h"

static void complex_piece(void *context, const struct walk *walk, const struct walk_piece *piece)
{
    const struct operation_call *call = context;
    float sign = call->attributes.i[0] == 1 ? -1.0f : 1.0f;
    int64_t at[WALK_TENSORS], steps[WALK_TENSORS];
    for (int t = 0; t < 3; t++) {
        at[t] = piece->offset[t];
        steps[t] = call->tensors[t].stride[call->tensors[t].rank - 1];
    }
    for (int64_t k = 0; k < piece->count; k++) {
        complex_product(call->tensors, at, steps, sign);
        for (int t = 0; t < 3; t++) {
            at[t] += walk_step(walk, t);
        }
    }
}

const char *host_complex_multiply(const struct operation_call *call)
{
    struct operation_call product = *call;
    struct walk walk = complex_walk_of(call);
    host_walk_run(&walk, complex_piece, &product);
    return NULL;
}
