/* prepare_model_for_kbit_training: copies in float32 in the place of 16-bit parameters. Not what layers compute with
 * them: forward.c. */
#include "models/forward/prepare_kbit.h"

/* A copy of the parameter in dtype, which takes its place, also for those that are tied to it. */
static void parameter_replace(const struct forward *forward, int index, enum dtype dtype)
{
    struct tape *tape = forward->tape;
    const struct skeleton *skeleton = forward->skeleton;
    const struct skeleton_tensor *own = &skeleton->tensors[index];
    struct value *old = forward->values[index];
    struct value *copy = tape_leaf(tape, CATEGORY_WEIGHTS, dtype, own->rank, own->size, false, own->path);
    tape_copy_into(tape, old, copy);
    copy = tape_hold(tape, copy);
    for (int i = 0; i < skeleton->tensor_count; i++) {
        if (forward->values[i] == old) {
            forward->values[i] = copy;
        }
    }
    tape_let_go(tape, old);
}

void prepare_kbit(struct forward *forward)
{
    const struct skeleton *skeleton = forward->skeleton;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        struct value *value = forward->values[i];
        if (value != NULL && !skeleton->tensors[i].is_buffer && value_dtype(value) == DTYPE_BFLOAT16) {
            parameter_replace(forward, i, DTYPE_FLOAT32);
        }
    }
}

struct value *prepare_kbit_bias(const struct forward *forward, const char *path, enum dtype dtype)
{
    int index = skeleton_find(forward->skeleton, path);
    if (index < 0) {
        return NULL;
    }
    if (value_dtype(forward->values[index]) != dtype) {
        parameter_replace(forward, index, dtype);
    }
    return forward->values[index];
}
