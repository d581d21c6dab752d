/* Workload loss: checks. Which models there are in those classes is a matter of the model: workload_fit.c. */
#include "harness/case/workload_loss.h"

#include "harness/case/workload_words.h"

static enum status_code smoothing_check(const struct workload *workload, struct status *error)
{
    if (workload->label_smoothing == LABEL_SMOOTHING_NONE || workload->loss == LOSS_COMPOSED) {
        return STATUS_OK;
    }
    return status_set(
        error, STATUS_INVALID,
        "%s: smoothed labels are those of PyTorch's own loss or of the Trainer, which %s takes the place of; write %s, "
        "or leave one of them out",
        workload_value_words(error, FIELD_LABEL_SMOOTHING, label_smoothing_name(workload->label_smoothing)).text,
        workload->loss == LOSS_FUSED ? "Liger-Kernel's" : "a loss in chunks",
        workload_name_words(error, FIELD_LOSS, "composed").text);
}

static enum status_code metrics_check(const struct workload *workload, struct status *error)
{
    if (workload->metrics == METRICS_NONE || workload->loss == LOSS_COMPOSED) {
        return STATUS_OK;
    }
    return status_set(error, STATUS_INVALID, "%s: the %s, of which nothing can be computed then; write none, or %s",
                      workload_value_words(error, FIELD_METRICS, metrics_name(workload->metrics)).text,
                      workload->loss == LOSS_FUSED ? "gradient of the fused loss takes the place of the logits"
                                                   : "pass with a loss in chunks returns no logits",
                      workload_value_words(error, FIELD_LOSS, "composed").text);
}

static enum status_code chunks_check(const struct workload *workload, struct status *error)
{
    if (!workload_loss_is_chunked(workload) || !workload_is_autocast(workload)) {
        return STATUS_OK;
    }
    return status_set(error, STATUS_INVALID, "%s: a loss in chunks is not modelled under autocast; write %s, or %s",
                      workload_value_words(error, FIELD_LOSS, loss_name(workload->loss)).text,
                      workload_name_words(error, FIELD_PRECISION, "bfloat16").text,
                      workload_value_words(error, FIELD_LOSS, "composed").text);
}

/* The first field that says what these classes have not, or what was not compared; FIELD_MODEL: none does. */
static enum case_field stranger_find(const struct workload *workload)
{
    const struct {
        bool is_strange;
        enum case_field field;
    } strangers[] = {
        {workload->loss == LOSS_FUSED, FIELD_LOSS},
        {workload->label_smoothing != LABEL_SMOOTHING_NONE, FIELD_LABEL_SMOOTHING},
        {workload->metrics != METRICS_NONE, FIELD_METRICS},
        {workload->attention != ATTENTION_SDPA, FIELD_ATTENTION},
        {workload->padding, FIELD_PADDING},
        {workload->lora_rank > 0, FIELD_LORA_RANK},
        {workload->use_cache, FIELD_USE_CACHE},
        {workload->weight_average != WEIGHT_AVERAGE_NONE, FIELD_WEIGHT_AVERAGE},
        {workload->checkpointing && workload->model_code == MODEL_CODE_LITGPT, FIELD_CHECKPOINTING},
        {workload->release != NULL, FIELD_RELEASE},
    };
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        if (strangers[i].is_strange) {
            return strangers[i].field;
        }
    }
    return FIELD_MODEL;
}

static enum status_code code_check(const struct workload *workload, struct status *error)
{
    enum precision precision = workload->precision;
    bool halves = precision == PRECISION_FLOAT16 || precision == PRECISION_BFLOAT16, is_tune;
    if (workload->mode != MODE_TRAIN || workload->model_code == MODEL_CODE_TRANSFORMERS) {
        return STATUS_OK;
    }
    is_tune = workload->model_code == MODEL_CODE_TORCHTUNE;
    const struct workload_words code =
        workload_value_words(error, FIELD_MODEL_CODE, model_code_name(workload->model_code));
    const struct workload_words loop = workload_name_words(error, FIELD_PROGRAM, "plain-loop");
    if ((!halves && (is_tune || precision != PRECISION_FLOAT32)) || workload->autocast) {
        return status_set(error, STATUS_INVALID, "%s: these classes are modelled with weights in %s; write %s, or %s",
                          code.text, is_tune ? "16 bits" : "float32 or 16 bits, without autocast",
                          workload_name_words(error, FIELD_PRECISION, "bfloat16").text, loop.text);
    }
    enum case_field stranger = stranger_find(workload);
    if (stranger != FIELD_MODEL) {
        return status_set(error, STATUS_INVALID, "%s: %s is not modelled with these classes; leave it out, or write %s",
                          code.text, workload_key_words(error, stranger).text, loop.text);
    }
    return STATUS_OK;
}

enum status_code workload_loss_check(const struct workload *workload, struct status *error)
{
    enum status_code code = workload->mode == MODE_TRAIN ? smoothing_check(workload, error) : STATUS_OK;
    code = code == STATUS_OK ? metrics_check(workload, error) : code;
    code = code == STATUS_OK ? chunks_check(workload, error) : code;
    return code == STATUS_OK ? code_check(workload, error) : code;
}
