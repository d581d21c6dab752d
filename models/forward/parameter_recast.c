/* Parameter recast: copies in the place of parameters. Who asks for them, and when, is not here. */
#include "models/forward/parameter_recast.h"

void parameter_recast(const struct forward *forward, int index, enum dtype dtype)
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

struct value *bias_recast(const struct forward *forward, const char *path, enum dtype dtype)
{
    int index = skeleton_find(forward->skeleton, path);
    if (index < 0) {
        return NULL;
    }
    if (value_dtype(forward->values[index]) != dtype) {
        parameter_recast(forward, index, dtype);
    }
    return forward->values[index];
}
