/* Checks of shapes: images, in NCHW. */
#include <stddef.h>

#include "harness/kernels/call_check_shape.h"

/* Tensors 0 and 5 are equal in shape; those behind tensor 1 have one element for each channel. */
static bool channels_fit(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    bool fit = t[0].rank >= 2 && shapes_equal(&t[0], &t[5]);
    int64_t channels = fit ? t[0].size[1] : 0;
    for (int i = 2; fit && i < call->tensor_count; i++) {
        fit = i == 5 || tensor_element_count(&t[i]) == channels;
    }
    return fit;
}

const char *batchnorm_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    return shapes_verdict(channels_fit(call) && tensor_element_count(&t[1]) == t[0].size[1]);
}

const char *batchnorm_backward_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    return shapes_verdict(channels_fit(call) && shapes_equal(&t[0], &t[1]));
}

static const char *pool_check(const struct operation_call *call, const struct tensor *wide, const struct tensor *pooled,
                              const struct tensor *indices)
{
    const int64_t *i = call->attributes.i;
    if (i[0] < 1 || i[1] < 1 || i[2] < 0 || i[2] > i[0] / 2) {
        return attributes_wrong;
    }
    bool fit = wide->rank == 4 && pooled->rank == 4 && shapes_equal(pooled, indices);
    for (int d = 0; fit && d < 4; d++) {
        int64_t reach = wide->size[d] + 2 * i[2] - i[0];
        int64_t expected = d < 2 ? wide->size[d] : reach < 0 ? 0 : reach / i[1] + 1;
        fit = pooled->size[d] == expected;
    }
    return shapes_verdict(fit);
}

const char *max_pool_check(const struct operation_call *call)
{
    return pool_check(call, &call->tensors[0], &call->tensors[1], &call->tensors[2]);
}

const char *max_pool_backward_check(const struct operation_call *call)
{
    return pool_check(call, &call->tensors[2], &call->tensors[0], &call->tensors[1]);
}

const char *grouped_convolution_check(const struct operation_call *call)
{
    const int64_t *i = call->attributes.i;
    bool forward = call->opcode == OPCODE_GROUPED_CONVOLUTION;
    bool to_weight = call->opcode == OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT;
    const struct tensor *out = &call->tensors[call->input_count];
    const struct tensor *image = forward ? &call->tensors[0] : to_weight ? &call->tensors[1] : out;
    const struct tensor *weight = to_weight ? out : &call->tensors[1];
    const struct tensor *result = forward ? out : &call->tensors[0];
    if (i[0] < 1 || i[1] < 0 || i[2] < 1) {
        return attributes_wrong;
    }
    bool fit = image->rank == 4 && weight->rank == 4 && result->rank == 4 && image->size[0] == result->size[0] &&
               weight->size[0] == result->size[1] && weight->size[0] % i[2] == 0 && weight->size[2] >= 1 &&
               image->size[1] == weight->size[1] * i[2] && weight->size[2] == weight->size[3];
    for (int d = 2; fit && d < 4; d++) {
        int64_t reach = image->size[d] + 2 * i[1] - weight->size[d];
        fit = reach >= 0 && result->size[d] == reach / i[0] + 1;
    }
    if (fit && forward && call->input_count > 2) {
        fit = call->tensors[2].rank == 1 && call->tensors[2].size[0] == weight->size[0];
    }
    return shapes_verdict(fit);
}
