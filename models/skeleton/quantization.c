/* Quantisation of a model: the rule behind quantization.h. Nothing is computed or allocated here. */
#include "models/skeleton/quantization.h"

#include "harness/case/release.h"

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

static enum packed_kernel kernel_of(const struct workload *workload)
{
    switch (workload->quantized_kernel) {
    case QUANTIZED_KERNEL_EXLLAMA:
        return PACKED_EXLLAMA;
    case QUANTIZED_KERNEL_EXLLAMAV2:
        return PACKED_EXLLAMAV2;
    case QUANTIZED_KERNEL_CUDA_OLD:
        return PACKED_CUDA_OLD;
    case QUANTIZED_KERNEL_GEMM:
        return PACKED_AWQ_GEMM;
    case QUANTIZED_KERNEL_GEMV:
        return PACKED_AWQ_GEMV;
    default:
        /* GPTQConfig: use_exllama, version ONE; exllama has 4 bits alone. AwqConfig: version GEMM. */
        return workload->quantize == QUANTIZE_AWQ      ? PACKED_AWQ_GEMM
               : workload->precision == PRECISION_INT8 ? PACKED_CUDA_OLD
                                                       : PACKED_EXLLAMA;
    }
}

struct packing packing_of(const struct workload *workload, const char *model_type)
{
    bool gptq = workload->quantize == QUANTIZE_GPTQ;
    return (struct packing){
        .kernel = kernel_of(workload),
        .bits = workload->precision == PRECISION_INT8 ? 8 : 4,
        .group = workload->group_size,
        .ordered = workload->act_order,
        .always_biased = gptq && release_has(workload, model_type, RELEASE_PACKED_BIASES),
        .multiplies_all = !gptq && !release_has(workload, model_type, RELEASE_PACKED_PARTS),
    };
}

static const struct module_info *module_of(const struct skeleton *skeleton, int tensor)
{
    return &skeleton->modules[skeleton->tensors[tensor].module];
}

bool tensor_is_turned(const struct skeleton *skeleton, int tensor)
{
    return module_is_conv1d(module_of(skeleton, tensor)) && skeleton->tensors[tensor].rank == 2;
}

struct bitsandbytes_habits bitsandbytes_habits_of(const struct workload *workload, const char *model_type)
{
    return (struct bitsandbytes_habits){.inputs_kept = release_has(workload, model_type, RELEASE_INPUTS_KEPT),
                                        .weights_halved = release_has(workload, model_type, RELEASE_WEIGHTS_HALVED),
                                        .map_shared = release_has(workload, model_type, RELEASE_SCALE_MAP_SHARED),
                                        .rows_unfused = release_has(workload, model_type, RELEASE_ROWS_UNFUSED)};
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
