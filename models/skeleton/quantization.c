/* Quantisation of a model: the rule behind quantization.h. Nothing is computed or allocated here. */
#include "models/skeleton/quantization.h"

bool precision_is_quantized(enum precision precision, enum quantized_form *form)
{
    switch (precision) {
    case PRECISION_INT8:
        *form = QUANTIZED_INT8;
        return true;
    case PRECISION_INT4:
        *form = QUANTIZED_NF4;
        return true;
    case PRECISION_FP8:
        *form = QUANTIZED_FLOAT8;
        return true;
    default:
        return false;
    }
}

static const struct module_info *module_of(const struct skeleton *skeleton, int tensor)
{
    return &skeleton->modules[skeleton->tensors[tensor].module];
}

bool tensor_is_turned(const struct skeleton *skeleton, int tensor)
{
    return module_is_conv1d(module_of(skeleton, tensor)) && skeleton->tensors[tensor].rank == 2;
}

bool tensor_is_quantized(const struct skeleton *skeleton, int tensor, enum quantize quantize)
{
    const struct skeleton_tensor *row = &skeleton->tensors[tensor];
    const struct module_info *module = module_of(skeleton, tensor);
    if (row->is_buffer || row->is_adapter) {
        return false;
    }
    return quantize == QUANTIZE_ALL || (row->rank == 2 && module_is_projection(module) &&
                                        !module_is_output_embedding(module) && !row->stays_float32);
}
