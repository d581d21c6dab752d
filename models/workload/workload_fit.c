/* Workload fit: what a model refuses of a workload that is right in itself. */
#include "models/workload/workload_fit.h"

#include <stdio.h>
#include <string.h>

#include "harness/case/release.h"
#include "models/config/family.h"
#include "models/config/head.h"
#include "models/forward/decoder.h"
#include "models/forward/own_code.h"
#include "models/workload/generate.h"

/* What a program cannot do with a model. */
static enum status_code program_fit_check(const struct config *config, const struct workload *workload,
                                          struct status *error)
{
    const struct workload_words program = workload_value_words(error, FIELD_PROGRAM, program_name(workload->program));
    const struct workload_words loop = workload_value_words(error, FIELD_PROGRAM, "plain-loop");
    bool is_llama = strcmp(config->model_type, "llama") == 0, is_qwen = strcmp(config->model_type, "qwen2") == 0;
    const char *modelled =
        workload->program == PROGRAM_TORCHTITAN && (!is_llama || config->tied_head)
            ? "only Llama with a head apart from the embedding is modelled"
        : (workload->program == PROGRAM_TORCHTUNE || workload->program == PROGRAM_LITGPT) && !is_llama && !is_qwen
            ? "Llama and Qwen2 are modelled"
            : NULL;
    if (modelled != NULL) {
        return status_set(error, STATUS_INVALID, "%s: %s builds its own models, of which %s; for %s write %s",
                          program.text, program_name(workload->program), modelled, config->name, loop.text);
    }
    if (workload->program == PROGRAM_PEFT_SCRIPT && config->family->is_image) {
        return status_set(error, STATUS_INVALID, "%s: adapters of image models are not modelled; for %s write %s",
                          program.text, config->name, loop.text);
    }
    if (workload->program == PROGRAM_PEFT_SCRIPT && workload->lora_rank == 0) {
        return status_set(error, STATUS_INVALID, "%s: it trains adapters, but their rank is 0; write %s, or %s",
                          program.text, workload_value_words(error, FIELD_LORA_RANK, "8").text, loop.text);
    }
    if (workload->program == PROGRAM_TRL_SFT && !config->family->generates) {
        return status_set(error, STATUS_INVALID, "%s: it trains models that write text; for %s write %s", program.text,
                          config->name, workload_value_words(error, FIELD_PROGRAM, "hf-trainer").text);
    }
    return STATUS_OK;
}

/* What is asked for and the class of the model does not have; it would change nothing. */
static enum status_code class_check(const struct config *config, const struct workload *workload, struct status *error)
{
    const struct family *family = config->family;
    bool all_rows =
        !family->generates || family->encode != NULL || release_has(workload, config->model_type, RELEASE_ALL_LOGITS);
    bool is_eager = config_attends_eagerly(config) || release_has(workload, config->model_type, RELEASE_EAGER_ALONE);
    if (workload->mode == MODE_INFER && workload->logits == LOGITS_LAST && workload->head != HEAD_BARE && all_rows) {
        return status_set(error, STATUS_INVALID, "%s: the class of %s computes a result for every token%s; write all",
                          workload_name_words(error, FIELD_LOGITS, "last").text, config->name,
                          workload->release != NULL ? " in this release" : "");
    }
    if (workload->attention == ATTENTION_NATIVE && is_eager) {
        return status_set(error, STATUS_INVALID, "%s: the class of %s stores its scores itself%s; write eager",
                          workload_name_words(error, FIELD_ATTENTION, "native").text, config->name,
                          config_attends_eagerly(config) ? "" : " in this release");
    }
    return STATUS_OK;
}

/* Which models there are in classes that are not transformers', and which have a loss in chunks. */
static enum status_code code_fit_check(const struct config *config, const struct workload *workload,
                                       struct status *error)
{
    const struct workload_words loop = workload_name_words(error, FIELD_PROGRAM, "plain-loop");
    bool is_known = strcmp(config->model_type, "llama") == 0 || strcmp(config->model_type, "qwen2") == 0;
    if (own_code_is(workload) && !is_known) {
        return status_set(error, STATUS_INVALID,
                          "%s: of these classes those of Llama and Qwen2 are modelled; for %s write %s",
                          workload_value_words(error, FIELD_MODEL_CODE, model_code_name(workload->model_code)).text,
                          config->name, loop.text);
    }
    if (own_code_is(workload) && workload->seq > config->positions) {
        char seq[24];
        snprintf(seq, sizeof seq, "%lld", (long long)workload->seq);
        return status_set(error, STATUS_INVALID, "%s is more than the %lld positions of %s; write at most %lld",
                          workload_value_words(error, FIELD_SEQ, seq).text, (long long)config->positions, config->name,
                          (long long)config->positions);
    }
    if (workload_loss_is_chunked(workload) && config->family->forward != decoder_forward) {
        return status_set(error, STATUS_INVALID,
                          "%s: %s is no decoder with a head of tokens, of which the loss is taken in chunks; write %s",
                          workload_value_words(error, FIELD_LOSS, loss_name(workload->loss)).text, config->name,
                          workload_name_words(error, FIELD_LOSS, "composed").text);
    }
    if ((own_code_is(workload) || workload_loss_is_chunked(workload)) && workload->seq < 2) {
        return status_set(error, STATUS_INVALID, "%s: a sequence of 1 has no next token; write a seq of at least 2",
                          workload_key_words(error, FIELD_SEQ).text);
    }
    return STATUS_OK;
}

/* What was not compared with the real classes of heads other than that over tokens or images. */
static enum status_code head_fit_check(const struct config *config, const struct workload *workload,
                                       struct status *error)
{
    enum head head = head_of(&config->model_heads, workload);
    bool trains = workload->mode == MODE_TRAIN;
    const struct {
        bool is_strange;
        enum case_field field;
        const char *what;
    } rows[] = {
        {workload->release != NULL, FIELD_RELEASE, "older releases are"},
        {workload->lora_rank > 0, FIELD_LORA_RANK, "adapters beside a head that is trained too are"},
        {workload->precision >= PRECISION_INT8, FIELD_PRECISION, "quantised weights are"},
        {trains && workload->loss != LOSS_COMPOSED, FIELD_LOSS, "another loss than the class's own is"},
        {trains && workload->label_smoothing != LABEL_SMOOTHING_NONE, FIELD_LABEL_SMOOTHING, "smoothed labels are"},
        {own_code_is(workload), FIELD_MODEL_CODE, "classes other than transformers' are"},
        {trains && workload->program == PROGRAM_TRL_SFT, FIELD_PROGRAM, "a trainer of models that write text is"},
    };
    for (size_t i = 0; head != HEAD_BARE && head != HEAD_LM && i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].is_strange) {
            return status_set(error, STATUS_INVALID, "%s: %s not modelled with it; leave out %s, or write %s",
                              workload_name_words(error, FIELD_HEAD, head_name(head)).text, rows[i].what,
                              workload_key_words(error, rows[i].field).text,
                              workload_name_words(error, FIELD_HEAD, "lm").text);
        }
    }
    if (trains && head == HEAD_SEQUENCE && config->labels == 1) {
        return status_set(error, STATUS_INVALID,
                          "%s: %s has one label, and so learns by a mean square (regression), which is not modelled; "
                          "write %s, or a model with two labels or more",
                          workload_name_words(error, FIELD_HEAD, head_name(head)).text, config->name,
                          workload_name_words(error, FIELD_MODE, "infer").text);
    }
    return STATUS_OK;
}

enum status_code workload_fit_check(const struct config *config, const struct workload *workload, bool repeats,
                                    struct status *error)
{
    bool text = !config->family->is_image;
    if (workload_is_packed(workload) && (config->experts > 0 || config->latent > 0)) {
        return status_set(error, STATUS_INVALID, "%s: of %s, packed %s are not modelled; write %s",
                          workload_value_words(error, FIELD_QUANTIZE, quantize_name(workload->quantize)).text,
                          config->name, config->experts > 0 ? "experts" : "latent projections",
                          workload_value_words(error, FIELD_QUANTIZE, "linear").text);
    }
    if (workload->stored_head && !config->tied_head) {
        return status_set(error, STATUS_INVALID,
                          "%s: the head of %s is not its embedding, and every checkpoint has one; leave it out",
                          workload_key_words(error, FIELD_STORED_HEAD).text, config->name);
    }
    if (workload->mode == MODE_LOAD) {
        return STATUS_OK;
    }
    if (config->family->forward == NULL) {
        return status_set(error, STATUS_INVALID, "mode %s: of %s models only loading is modelled; write %s",
                          mode_name(workload->mode), config->family->name,
                          workload_name_words(error, FIELD_MODE, "load").text);
    }
    if (release_has(workload, config->model_type, RELEASE_MASK_IN_FULL)) {
        return status_set(error, STATUS_INVALID,
                          "%s: the class of %s makes its mask of one of all positions in this release, which is not "
                          "modelled; write the release before or behind it (transformers=4.37, transformers=4.40)",
                          workload_value_words(error, FIELD_RELEASE, workload->release).text, config->name);
    }
    enum status_code code = head_fit_check(config, workload, error);
    code = code == STATUS_OK ? program_fit_check(config, workload, error) : code;
    code = code == STATUS_OK ? class_check(config, workload, error) : code;
    code = code == STATUS_OK ? code_fit_check(config, workload, error) : code;
    if (code != STATUS_OK) {
        return code;
    }
    if (config->only_loads.cause != NULL) {
        return status_set(error, STATUS_INVALID, "mode %s: %s only loads: %s; write %s, or %s",
                          mode_name(workload->mode), config->name, config->only_loads.cause,
                          workload_name_words(error, FIELD_MODE, "load").text, config->only_loads.remedy);
    }
    if (config->is_timm && config->classes == 0 && workload->mode == MODE_TRAIN) {
        return status_set(error, STATUS_INVALID,
                          "mode %s: %s has no classifier (num_classes: 0), and so no loss; write %s, or the number of "
                          "classes into its config.json",
                          mode_name(workload->mode), config->name,
                          workload_name_words(error, FIELD_MODE, "infer").text);
    }
    if (workload->checkpointing && config->family->refuses_checkpointing) {
        return status_set(error, STATUS_INVALID, "%s: the class of %s cannot recompute its blocks; write false",
                          workload_key_words(error, FIELD_CHECKPOINTING).text, config->name);
    }
    if (text && workload->seq < 1) {
        return status_set(error, STATUS_INVALID, "%s: %s reads text; give a sequence length of at least 1",
                          workload_key_words(error, FIELD_SEQ).text, config->name);
    }
    if (text && workload->padding && workload->seq < 2) {
        return status_set(error, STATUS_INVALID, "%s: a sequence of 1 cannot be shorter; write a seq of at least 2",
                          workload_key_words(error, FIELD_PADDING).text);
    }
    if (config->family->bounds_positions && workload->seq > config->positions) {
        char seq[24];
        snprintf(seq, sizeof seq, "%lld", (long long)workload->seq);
        return status_set(error, STATUS_INVALID, "%s is more than the %lld positions of %s; write at most %lld",
                          workload_value_words(error, FIELD_SEQ, seq).text, (long long)config->positions, config->name,
                          (long long)config->positions);
    }
    return workload->mode == MODE_GENERATE ? generate_check(config, workload, repeats, error) : STATUS_OK;
}

int64_t workload_tokens_beyond(const struct config *config, const struct workload *workload)
{
    bool has_length = config->positions > 0 && !config->family->is_image && !config->family->bounds_positions;
    if (!has_length || workload->mode == MODE_LOAD) {
        return 0;
    }
    /* the last token is chosen, not read */
    int64_t tokens = workload->seq + (workload->mode == MODE_GENERATE ? workload->new_tokens - 1 : 0);
    return tokens > config->positions ? tokens : 0;
}
