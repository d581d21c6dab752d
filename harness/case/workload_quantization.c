/* Workload, quantised weights: which of their fields go together. Not what a field of its own may say, which its row of
 * case_field.h does. */
#include "harness/case/workload_quantization.h"

#include "harness/case/release.h"

/* Weights that GPTQ or AWQ has packed: which layers there are for them, and what is done with them. */
static enum status_code packed_check(const struct workload *workload, struct status *error)
{
    enum quantized_kernel kernel = workload->quantized_kernel;
    const struct workload_words quantize =
        workload_name_words(error, FIELD_QUANTIZE, quantize_name(workload->quantize));
    bool awq = workload->quantize == QUANTIZE_AWQ, eight = workload->precision == PRECISION_INT8;
    bool any = kernel == QUANTIZED_KERNEL_AUTO;
    bool of_awq = kernel == QUANTIZED_KERNEL_GEMM || kernel == QUANTIZED_KERNEL_GEMV;
    bool of_four = kernel == QUANTIZED_KERNEL_EXLLAMA || kernel == QUANTIZED_KERNEL_EXLLAMAV2;
    if (!workload_is_packed(workload)) {
        return STATUS_OK;
    }
    if (workload->precision == PRECISION_FP8 || (awq && eight)) {
        return status_set(error, STATUS_INVALID, "%s: its weights have %s; write %s", quantize.text,
                          awq ? "4 bits" : "4 or 8 bits", workload_name_words(error, FIELD_PRECISION, "int4").text);
    }
    if (workload->mode == MODE_TRAIN) {
        return status_set(error, STATUS_INVALID, "%s: training beside packed weights is not modelled; write %s, or %s",
                          quantize.text, workload_name_words(error, FIELD_MODE, "infer").text,
                          workload_value_words(error, FIELD_QUANTIZE, "linear").text);
    }
    if (!any && (of_awq != awq || (of_four && eight))) {
        return status_set(error, STATUS_INVALID, "%s: it does not read the %d bits of %s; write %s",
                          workload_name_words(error, FIELD_QUANTIZED_KERNEL, quantized_kernel_name(kernel)).text,
                          eight ? 8 : 4, quantize_name(workload->quantize),
                          awq     ? "gemm or gemv"
                          : eight ? "cuda-old"
                                  : "exllama, exllamav2 or cuda-old");
    }
    if (workload->act_order && workload->group_size > 0 && (eight || kernel == QUANTIZED_KERNEL_CUDA_OLD)) {
        return status_set(error, STATUS_INVALID,
                          "%s: for 8 bits and without exllama AutoGPTQ reads such groups with a layer that is not "
                          "modelled; write %s, or false",
                          workload_key_words(error, FIELD_ACT_ORDER).text,
                          workload_value_words(error, FIELD_GROUP_SIZE, "0").text);
    }
    return STATUS_OK;
}

/* Layers of 8 bits and 8-bit Adam changed between releases, and those before are not followed. */
static enum status_code bitsandbytes_check(const struct workload *workload, struct status *error)
{
    bool eight = workload_is_bitsandbytes(workload) && workload->precision == PRECISION_INT8;
    bool adam = workload->optimizer == OPTIMIZER_ADAM_8BIT;
    if (!(eight || adam) || release_is_followed(workload->release, LIBRARY_BITSANDBYTES)) {
        return STATUS_OK;
    }
    return status_set(error, STATUS_INVALID,
                      "%s: of older releases of bitsandbytes only weights in 4 bits are modelled, and not %s; write "
                      "transformers' and torch's releases alone",
                      workload_value_words(error, FIELD_RELEASE, workload->release).text,
                      eight ? "those in 8" : "adam-8bit");
}

enum status_code workload_quantization_check(const struct workload *workload, struct status *error)
{
    enum status_code code = packed_check(workload, error);
    return code == STATUS_OK ? bitsandbytes_check(workload, error) : code;
}
