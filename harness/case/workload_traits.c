/* Workload traits: what several fields say together, for those who check a case and those who build it. They rest on
 * the fields alone, not on the register of fields nor on a check. */
#include "harness/case/workload.h"

bool head_has_loss(enum head head)
{
    return head != HEAD_BARE && head != HEAD_ENCODER && head != HEAD_EMBEDDING;
}

bool workload_is_autocast(const struct workload *workload)
{
    return workload->precision == PRECISION_AMP_FLOAT16 || workload->precision == PRECISION_AMP_BFLOAT16 ||
           workload->autocast;
}

bool workload_takes_autocast(const struct workload *workload)
{
    return workload->precision != PRECISION_FLOAT32 && workload->precision != PRECISION_AMP_FLOAT16 &&
           workload->precision != PRECISION_AMP_BFLOAT16;
}

bool workload_is_scaled(const struct workload *workload)
{
    return workload->precision == PRECISION_AMP_FLOAT16 && workload->grad_scaler != GRAD_SCALER_NONE;
}

bool workload_steps_in_8bit(const struct workload *workload)
{
    return workload->optimizer == OPTIMIZER_ADAM_8BIT || workload->optimizer == OPTIMIZER_PAGED_ADAMW_8BIT;
}

bool workload_is_bitsandbytes(const struct workload *workload)
{
    return (workload->precision == PRECISION_INT8 || workload->precision == PRECISION_INT4) &&
           workload->quantize == QUANTIZE_LINEAR;
}

bool workload_graph_holds(const struct workload *workload)
{
    return workload->lora_rank > 0 && (workload->checkpointing || workload_is_bitsandbytes(workload));
}

bool workload_is_packed(const struct workload *workload)
{
    return workload->precision >= PRECISION_INT8 && workload->quantize >= QUANTIZE_GPTQ;
}

bool workload_loss_is_chunked(const struct workload *workload)
{
    return workload->mode == MODE_TRAIN && workload->loss >= LOSS_CHUNKED;
}
