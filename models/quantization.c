/* Quantisation of a model: the rule behind quantization.h. Nothing is computed or allocated here. */
#include "models/quantization.h"

#include <string.h>

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

static const char *class_of(const struct skeleton *skeleton, int tensor)
{
    return skeleton->modules[skeleton->tensors[tensor].module].class_name;
}

static bool tensor_is_output_embedding(const struct skeleton *skeleton, int tensor)
{
    const char *path = skeleton->tensors[tensor].path;
    return strcmp(path, "lm_head.weight") == 0 || strcmp(path, "cls.predictions.decoder.weight") == 0;
}

bool tensor_is_turned(const struct skeleton *skeleton, int tensor)
{
    return strcmp(class_of(skeleton, tensor), "Conv1D") == 0 && skeleton->tensors[tensor].rank == 2;
}

bool tensor_is_quantized(const struct skeleton *skeleton, int tensor, enum quantize quantize)
{
    const struct skeleton_tensor *row = &skeleton->tensors[tensor];
    if (row->is_buffer || row->is_adapter || quantize == QUANTIZE_ALL) {
        return !row->is_buffer && !row->is_adapter;
    }
    bool projection = row->rank == 2 && (strcmp(class_of(skeleton, tensor), "Linear") == 0 ||
                                         strcmp(class_of(skeleton, tensor), "Conv1D") == 0);
    return projection && !tensor_is_output_embedding(skeleton, tensor);
}
