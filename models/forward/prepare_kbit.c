/* prepare_model_for_kbit_training: which parameters get copies in float32. Not what layers compute with them:
 * forward.c. */
#include "models/forward/prepare_kbit.h"

#include "models/forward/parameter_recast.h"

void prepare_kbit(struct forward *forward)
{
    const struct skeleton *skeleton = forward->skeleton;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        struct value *value = forward->values[i];
        if (value != NULL && !skeleton->tensors[i].is_buffer && value_dtype(value) == DTYPE_BFLOAT16) {
            parameter_recast(forward, i, DTYPE_FLOAT32);
        }
    }
}
