/* Program: the register. A program is a row here and a word in PROGRAM_TABLE (case_field.h). What the habits come to in
 * bytes is the tape's matter; peers/pytorch/programs.py runs the programs themselves. */
#include "harness/case/program.h"

#include <limits.h>
#include <string.h>

#include "harness/case/release.h"

#define DEFAULTS(field_, value_, source_)                                                                              \
    {                                                                                                                  \
        .field = (field_), .value = (value_), .source = (source_)                                                      \
    }
#define FIXES(field_, value_, source_)                                                                                 \
    {                                                                                                                  \
        .field = (field_), .value = (value_), .is_fixed = true, .source = (source_)                                    \
    }

/* What several rows rest on. */
static const char foreach_source[] = "torch 2.11, optim/optimizer.py, _default_to_fused_or_foreach: foreach on a GPU";
static const char cache_source[] = "transformers 5.23, configurations of decoders: use_cache = True";
static const char named_source[] = "outputs = model(**batch); loss = outputs.loss";
static const char detach_source[] = "transformers 5.23, trainer.py, training_step: return loss.detach()";
static const char groups_source[] = "transformers 5.23, trainer.py, create_optimizer: two groups";
static const char override_source[] = "transformers 5.23, trainer.py, create_optimizer: register_module_override";
static const char accelerate_source[] = "accelerate 1.15, Accelerator.prepare_model: convert_outputs_to_fp32";
static const char scaler_source[] = "torch 2.11, docs, amp examples; accelerate, Lightning: torch.amp.GradScaler";

#define ADAMW_FOREACH DEFAULTS(FIELD_OPTIMIZER, "adamw-foreach", foreach_source)
#define CACHES        DEFAULTS(FIELD_USE_CACHE, "true", cache_source)
/* Under autocast; of another precision it says nothing. */
#define FLOAT32_OUTPUTS DEFAULTS(FIELD_FLOAT32_OUTPUTS, "true", accelerate_source)
/* In amp-float16; of another precision it says nothing. */
#define SCALES_LOSS DEFAULTS(FIELD_GRAD_SCALER, "torch", scaler_source)
/* Of an optimizer with moments in 8 bits; of another it says nothing. */
#define EMBEDDING_STATES FIXES(FIELD_EMBEDDING_STATES, "float32", override_source)
/* Of adapters with checkpointing or on weights of bitsandbytes; of others it says nothing. */
#define LOSS_DETACHED    FIXES(FIELD_LOSS_DETACHED, "true", detach_source)
#define PARAMETER_GROUPS DEFAULTS(FIELD_PARAMETER_GROUPS, "decay", groups_source)
#define KEEPS_OUTPUTS    DEFAULTS(FIELD_OUTPUTS, "kept", named_source)

static const struct program_row rows[] = {
    [PROGRAM_LEAN_LOOP] = {.what = "a loop that keeps nothing from one pass to the next", .modes = IN_ALL},
    [PROGRAM_PLAIN_LOOP] =
        {
            .what = "the loop of the documentation of transformers and PyTorch: outputs = model(**batch)",
            .modes = IN_INFER | IN_TRAIN,
            .settings = {SCALES_LOSS, ADAMW_FOREACH, CACHES, KEEPS_OUTPUTS,
                         DEFAULTS(FIELD_ZERO_GRAD, "after-step",
                                  "transformers, docs: optimizer.zero_grad() at the end")},
        },
    [PROGRAM_HF_TRAINER] =
        {
            .what = "transformers' Trainer, releases 4.32 to 5",
            .modes = IN_TRAIN,
            .settings = {SCALES_LOSS,
                         DEFAULTS(FIELD_OPTIMIZER, "adamw-fused",
                                  "transformers 5.23, training_args.py: optim = adamw_torch_fused"),
                         DEFAULTS(FIELD_USE_CACHE, "false", "transformers 5.23, training_args.py: use_cache = False"),
                         FIXES(FIELD_OUTPUTS, "dropped",
                               "transformers 5.23, trainer.py: compute_loss returns the loss alone"),
                         FIXES(FIELD_ZERO_GRAD, "after-step",
                               "transformers 5.23, trainer.py, _run_epoch: model.zero_grad() after the step"),
                         FIXES(FIELD_ZERO_GRAD_TO, "none", "torch 2.11, Module.zero_grad: set_to_none = True"),
                         DEFAULTS(FIELD_CLIP_GRAD, "foreach",
                                  "transformers 5.23, training_args.py: max_grad_norm = 1.0"),
                         FLOAT32_OUTPUTS, PARAMETER_GROUPS, EMBEDDING_STATES, LOSS_DETACHED},
        },
    [PROGRAM_ACCELERATE] =
        {
            .what = "the loop of accelerate's documentation: prepare, accelerator.backward",
            .modes = IN_TRAIN,
            .settings = {SCALES_LOSS, ADAMW_FOREACH, CACHES, KEEPS_OUTPUTS,
                         DEFAULTS(FIELD_ZERO_GRAD, "after-step", "accelerate, docs: optimizer.zero_grad() at the end"),
                         FLOAT32_OUTPUTS},
        },
    [PROGRAM_LIGHTNING] =
        {
            .what = "Lightning's Trainer around a module that returns outputs.loss",
            .modes = IN_TRAIN,
            .settings = {SCALES_LOSS, ADAMW_FOREACH, CACHES,
                         FIXES(FIELD_OUTPUTS, "dropped", "lightning 2.6: the names of training_step end with it"),
                         FIXES(FIELD_ZERO_GRAD, "before-backward",
                               "lightning 2.6, loops/optimization/automatic.py, Closure.closure"),
                         FIXES(FIELD_AUTOCAST_CACHE, "disabled",
                               "lightning 2.6, pytorch/plugins/precision/amp.py: cache_enabled=False")},
        },
    [PROGRAM_PEFT_SCRIPT] =
        {
            .what = "the loop of PEFT's documentation around get_peft_model",
            .modes = IN_TRAIN,
            .settings = {SCALES_LOSS, DEFAULTS(FIELD_LORA_RANK, "8", "peft 0.21, tuners/lora/config.py: r = 8"),
                         DEFAULTS(FIELD_LORA_DROPOUT, "0.1", "peft, docs, quicktour: lora_dropout=0.1"), ADAMW_FOREACH,
                         CACHES, KEEPS_OUTPUTS,
                         DEFAULTS(FIELD_ZERO_GRAD, "after-step", "peft, examples: optimizer.zero_grad() at the end")},
        },
    [PROGRAM_TRL_SFT] =
        {
            .what = "TRL's SFTTrainer, releases 0.22 to 1.2; from 1.7 on its loss comes in chunks",
            .modes = IN_TRAIN,
            .settings =
                {SCALES_LOSS,
                 DEFAULTS(FIELD_OPTIMIZER, "adamw-fused",
                          "transformers 5.23, training_args.py: optim = adamw_torch_fused"),
                 DEFAULTS(FIELD_CHECKPOINTING, "true",
                          "trl 1.0, trainer/base_config.py: gradient_checkpointing = True"),
                 FIXES(FIELD_USE_CACHE, "false",
                       "trl 1.0, sft_trainer.py, compute_loss: inputs[\"use_cache\"] = False"),
                 FIXES(FIELD_OUTPUTS, "dropped", "trl 1.0, sft_trainer.py: compute_loss returns the loss alone"),
                 FIXES(FIELD_ZERO_GRAD, "after-step",
                       "transformers 5.23, trainer.py, _run_epoch: model.zero_grad() after the step"),
                 FIXES(FIELD_ZERO_GRAD_TO, "none", "torch 2.11, Module.zero_grad: set_to_none = True"),
                 DEFAULTS(FIELD_CLIP_GRAD, "foreach", "transformers 5.23, training_args.py: max_grad_norm = 1.0"),
                 FLOAT32_OUTPUTS, PARAMETER_GROUPS, EMBEDDING_STATES, LOSS_DETACHED,
                 DEFAULTS(FIELD_METRICS, "entropy-accuracy",
                          "trl 1.0, sft_trainer.py, compute_loss: entropy_from_logits, argmax")},
        },
    [PROGRAM_TORCHTITAN] =
        {
            .what = "torchtitan's Trainer on one device, without its compiler",
            .modes = IN_TRAIN,
            .settings = {DEFAULTS(FIELD_OPTIMIZER, "adamw-fused",
                                  "torchtitan 0.2, config/job_config.py: AdamW, implementation = fused"),
                         FIXES(FIELD_USE_CACHE, "false", "torchtitan 0.2, models/llama3: it has no cache"),
                         FIXES(FIELD_OUTPUTS, "dropped", "torchtitan 0.2, train.py, forward_backward_step: del pred"),
                         FIXES(FIELD_ZERO_GRAD, "before-forward", "torchtitan 0.2, train.py, train_step: it begins so"),
                         FIXES(FIELD_ZERO_GRAD_TO, "none", "torch 2.11, Optimizer.zero_grad: set_to_none = True"),
                         FIXES(FIELD_CLIP_GRAD, "foreach", "torchtitan 0.2, train.py, train_step: foreach = True")},
        },
    [PROGRAM_TORCHTUNE] =
        {
            .what = "torchtune's recipe full_finetune_single_device, release 0.6, in bfloat16",
            .modes = IN_TRAIN,
            .settings = {FIXES(FIELD_MODEL_CODE, "torchtune", "torchtune 0.6, torchtune/modules: its own"),
                         DEFAULTS(
                             FIELD_LOSS, "chunked-output",
                             "torchtune 0.6, recipes/configs: loss: CEWithChunkedOutputLoss, num_output_chunks = 8"),
                         DEFAULTS(FIELD_OPTIMIZER, "adamw-foreach", foreach_source),
                         FIXES(FIELD_USE_CACHE, "false", "torchtune 0.6, a model has caches when it generates"),
                         FIXES(FIELD_OUTPUTS, "dropped",
                               "torchtune 0.6, recipes/full_finetune_single_device.py, _loss_step: del logits"),
                         FIXES(FIELD_ZERO_GRAD, "after-step",
                               "torchtune 0.6, recipes/full_finetune_single_device.py, train: after the step"),
                         FIXES(FIELD_ZERO_GRAD_TO, "none", "torchtune 0.6, train: zero_grad(set_to_none=True)"),
                         DEFAULTS(FIELD_ACCUMULATED_LOSS,
                                  "whole", "torchtune 0.6, train: gradients are scaled when all are there")},
        },
    [PROGRAM_LITGPT] =
        {
            .what = "litgpt's finetune_full, release 0.5",
            .modes = IN_TRAIN,
            .settings = {FIXES(FIELD_MODEL_CODE, "litgpt", "litgpt 0.5, litgpt/model.py: its own"),
                         DEFAULTS(FIELD_LOSS, "chunked",
                                  "litgpt 0.5, finetune/full.py: chunked_cross_entropy, chunk_size = 128"),
                         ADAMW_FOREACH,
                         FIXES(FIELD_USE_CACHE, "false", "litgpt 0.5, a model has caches when it generates"),
                         FIXES(FIELD_OUTPUTS, "kept", "litgpt 0.5, finetune/full.py, fit: logits = model(input_ids)"),
                         FIXES(FIELD_ZERO_GRAD, "after-step", "litgpt 0.5, finetune/full.py, fit: after the step"),
                         FIXES(FIELD_ZERO_GRAD_TO, "none", "torch 2.11, Optimizer.zero_grad: set_to_none = True")},
        },
};

_Static_assert(sizeof rows / sizeof rows[0] == PROGRAM_COUNT, "every program has a row");

const struct program_row *program_row(enum program program)
{
    return &rows[program];
}

/* What a program had in older releases, where that is not its row's. */
static const struct era {
    enum program program;
    int since, until; /* of transformers, as release.h numbers them; until: not in it; 0: for ever */
    int torch_until;  /* and only with a torch before it; 0: with any */
    enum case_field field;
    const char *value;
} eras[] = {
    /* transformers 4.53, training_args.py: optim = adamw_torch */
    {PROGRAM_HF_TRAINER, 0, 4054, 0, FIELD_OPTIMIZER, "adamw-foreach"},
    /* transformers 4.54, training_args.py: adamw_torch_fused from torch 2.8 on */
    {PROGRAM_HF_TRAINER, 4054, 0, 2008, FIELD_OPTIMIZER, "adamw-foreach"},
    {PROGRAM_TRL_SFT, 4054, 0, 2008, FIELD_OPTIMIZER, "adamw-foreach"},
    /* transformers 4.57, training_args.py has no use_cache; configurations of decoders: True */
    {PROGRAM_HF_TRAINER, 0, 5000, 0, FIELD_USE_CACHE, "true"},
};

/* The first release of transformers that a program runs with; INT_MAX: it runs with none. */
static const struct first_release {
    enum program program;
    int transformers;
    const char *why, *release, *instead; /* what is written in place of an older one, or of the program */
} first_releases[] = {
    {PROGRAM_HF_TRAINER, 4032,
     "before transformers 4.32 the Trainer's own optimizer was transformers' AdamW (adamw_hf), which is not modelled",
     "transformers=4.32", "accelerate"},
    {PROGRAM_TRL_SFT, 4055, "TRL 0.22, the first with this trainer, needs transformers 4.55", "transformers=4.55",
     "hf-trainer"},
    {PROGRAM_TORCHTITAN, INT_MAX, "it runs no part of transformers", "torch=2.11", "plain-loop"},
};

/* The value that a setting has in the releases of the workload. */
static const char *value_then(const struct workload *workload, const struct program_setting *setting)
{
    const struct release_numbers numbers = release_numbers_of(workload->release);
    int transformers = numbers.of[LIBRARY_TRANSFORMERS], torch = numbers.of[LIBRARY_TORCH];
    for (size_t i = 0; i < sizeof eras / sizeof eras[0]; i++) {
        const struct era *era = &eras[i];
        bool is_then = transformers >= era->since && (era->until == 0 || transformers < era->until) &&
                       (era->torch_until == 0 || torch < era->torch_until);
        if (is_then && era->program == workload->program && era->field == setting->field) {
            return era->value;
        }
    }
    return setting->value;
}

static bool mode_has(const struct workload *workload, enum case_field field)
{
    return (case_field_row(field)->modes >> workload->mode & 1U) != 0;
}

void program_apply(enum program program, struct workload *workload)
{
    const struct program_setting *settings = rows[program].settings;
    workload->program = program;
    for (int i = 0; i < PROGRAM_SETTINGS_MAXIMUM && settings[i].value != NULL; i++) {
        struct case_value value;
        if (mode_has(workload, settings[i].field) &&
            case_value_parse(settings[i].field, value_then(workload, &settings[i]), &value, NULL) == STATUS_OK) {
            workload_put(workload, settings[i].field, &value);
        }
    }
}

void program_take_back(struct workload *workload, uint64_t fields_said)
{
    const struct workload usual = workload_default(workload->mode);
    const struct program_setting *settings = rows[workload->program].settings;
    for (int i = 0; i < PROGRAM_SETTINGS_MAXIMUM && settings[i].value != NULL; i++) {
        enum case_field field = settings[i].field;
        const struct case_value value = {.number = workload_field_value(&usual, field)};
        struct case_value own;
        if ((fields_said >> field & 1U) == 0 && mode_has(workload, field) &&
            case_value_parse(field, value_then(workload, &settings[i]), &own, NULL) == STATUS_OK &&
            own.number == workload_field_value(workload, field)) {
            workload_put(workload, field, &value);
        }
    }
}

enum program program_of_questions(enum mode mode)
{
    return (rows[PROGRAM_PLAIN_LOOP].modes >> mode & 1U) != 0 ? PROGRAM_PLAIN_LOOP : PROGRAM_LEAN_LOOP;
}

struct workload program_leave(const struct workload *workload, uint64_t fields_named)
{
    struct workload lean = *workload;
    program_take_back(&lean, fields_named);
    lean.program = PROGRAM_LEAN_LOOP;
    return lean;
}

bool program_fixes(enum program program, enum case_field field)
{
    const struct program_setting *settings = rows[program].settings;
    bool fixes = false;
    for (int i = 0; i < PROGRAM_SETTINGS_MAXIMUM && settings[i].value != NULL; i++) {
        fixes = fixes || (settings[i].field == field && settings[i].is_fixed);
    }
    return fixes;
}

bool program_is_habit(enum case_field field)
{
    for (int program = 0; program < PROGRAM_COUNT; program++) {
        const struct program_setting *settings = rows[program].settings;
        for (int i = 0; i < PROGRAM_SETTINGS_MAXIMUM && settings[i].value != NULL; i++) {
            if (settings[i].field == field) {
                return true;
            }
        }
    }
    return false;
}

static enum status_code setting_check(const struct workload *workload, const struct program_setting *setting,
                                      struct status *error)
{
    struct case_value wanted;
    char buffer[CASE_VALUE_BYTES];
    enum case_field field = setting->field;
    enum status_code code = case_value_parse(field, setting->value, &wanted, error);
    if (code != STATUS_OK || workload_field_value(workload, field) == wanted.number) {
        return code;
    }
    return status_set(
        error, STATUS_INVALID, "%s: %s itself has %s and no other; leave it out, or write %s",
        workload_value_words(error, field, case_field_value_text(field, workload_field_value(workload, field), buffer))
            .text,
        program_name(workload->program), setting->value, workload_value_words(error, FIELD_PROGRAM, "plain-loop").text);
}

static enum status_code release_check(const struct workload *workload, struct status *error)
{
    int transformers = release_numbers_of(workload->release).of[LIBRARY_TRANSFORMERS];
    for (size_t i = 0; i < sizeof first_releases / sizeof first_releases[0]; i++) {
        const struct first_release *first = &first_releases[i];
        if (first->program == workload->program && transformers < first->transformers) {
            return status_set(error, STATUS_INVALID, "%s: %s; write %s, or %s",
                              workload_value_words(error, FIELD_PROGRAM, program_name(workload->program)).text,
                              first->why, workload_name_words(error, FIELD_RELEASE, first->release).text,
                              workload_name_words(error, FIELD_PROGRAM, first->instead).text);
        }
    }
    return STATUS_OK;
}

enum status_code program_check(const struct workload *workload, struct status *error)
{
    const struct program_row *row = &rows[workload->program];
    /* What a program fixes of a field that says nothing here, such as the cache of autocast in float32, binds nobody.
     * Which model it is, is not known yet. */
    const struct case_traits any_text = {.has_attention = true, .writes_text = true};
    uint64_t fields_said = workload_fields_said(workload, any_text);
    enum status_code code = STATUS_OK;
    if ((row->modes >> workload->mode & 1U) == 0) {
        return status_set(error, STATUS_INVALID, "%s: this program only trains; leave it out, or write %s",
                          workload_value_words(error, FIELD_PROGRAM, program_name(workload->program)).text,
                          workload_name_words(error, FIELD_MODE, "train").text);
    }
    code = release_check(workload, error);
    for (int i = 0; i < PROGRAM_SETTINGS_MAXIMUM && row->settings[i].value != NULL && code == STATUS_OK; i++) {
        if (row->settings[i].is_fixed && (fields_said >> row->settings[i].field & 1U) != 0) {
            code = setting_check(workload, &row->settings[i], error);
        }
    }
    return code;
}

static int habits_append(const struct workload *workload, uint64_t fields_said, struct text *text)
{
    int count = 0;
    char buffer[CASE_VALUE_BYTES];
    for (enum case_field field = FIELD_MODE; field < FIELD_COUNT; field++) {
        bool is_said = (fields_said >> field & 1U) != 0 && !case_field_row(field)->is_always_spelled;
        if (is_said && program_is_habit(field) && !workload_field_is_usual(workload, field)) {
            text_format(text, "%s%s", count == 0 ? "" : ", ",
                        workload_name_words(NULL, field,
                                            case_field_value_text(field, workload_field_value(workload, field), buffer))
                            .text);
            count++;
        }
    }
    return count;
}

void program_line(const struct workload *workload, uint64_t fields_said, struct text *text)
{
    struct text habits = {0};
    if ((fields_said >> FIELD_PROGRAM & 1U) == 0) {
        return;
    }
    int count = habits_append(workload, fields_said, &habits);
    text_format(text, "program %s%s: ", program_name(workload->program),
                workload->program == program_of_questions(workload->mode) ? ", the default" : "");
    text_format(text, "%s\n", count > 0 ? text_string(&habits) : "keeps nothing from pass to pass");
    text_release(&habits);
}

struct json *program_json(const struct workload *workload, uint64_t fields_said)
{
    bool is_said = (fields_said >> FIELD_PROGRAM & 1U) != 0;
    return is_said ? json_string_new(program_name(workload->program)) : json_null_new();
}
