/* Workload aliases: the table. A word stands here if those who write it mean one value; "amp" and "mixed" may be
 * two, and are refused. */
#include "harness/case/workload_alias.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct {
    enum case_field field;
    const char *alias, *name;
} rows[] = {
    {FIELD_MODE, "loading", "load"},
    {FIELD_MODE, "inference", "infer"},
    {FIELD_MODE, "forward", "infer"},
    {FIELD_MODE, "predict", "infer"},
    {FIELD_MODE, "prefill", "infer"},
    {FIELD_MODE, "generation", "generate"},
    {FIELD_MODE, "decode", "generate"},
    {FIELD_MODE, "decoding", "generate"},
    {FIELD_MODE, "training", "train"},
    {FIELD_MODE, "finetune", "train"},
    {FIELD_MODE, "fine-tune", "train"},
    {FIELD_MODE, "finetuning", "train"},
    {FIELD_MODE, "fine-tuning", "train"},
    {FIELD_PRECISION, "fp32", "float32"},
    {FIELD_PRECISION, "f32", "float32"},
    {FIELD_PRECISION, "float", "float32"},
    {FIELD_PRECISION, "full", "float32"},
    {FIELD_PRECISION, "32", "float32"},
    {FIELD_PRECISION, "fp16", "float16"},
    {FIELD_PRECISION, "f16", "float16"},
    {FIELD_PRECISION, "half", "float16"},
    {FIELD_PRECISION, "bf16", "bfloat16"},
    {FIELD_PRECISION, "bfloat", "bfloat16"},
    {FIELD_PRECISION, "brain", "bfloat16"},
    {FIELD_PRECISION, "amp-fp16", "amp-float16"},
    {FIELD_PRECISION, "amp-half", "amp-float16"},
    {FIELD_PRECISION, "16-mixed", "amp-float16"},
    {FIELD_PRECISION, "fp16-mixed", "amp-float16"},
    {FIELD_PRECISION, "mixed-fp16", "amp-float16"},
    {FIELD_PRECISION, "amp-bf16", "amp-bfloat16"},
    {FIELD_PRECISION, "bf16-mixed", "amp-bfloat16"},
    {FIELD_PRECISION, "mixed-bf16", "amp-bfloat16"},
    {FIELD_PRECISION, "8bit", "int8"},
    {FIELD_PRECISION, "8-bit", "int8"},
    {FIELD_PRECISION, "i8", "int8"},
    {FIELD_PRECISION, "llm.int8", "int8"},
    {FIELD_PRECISION, "4bit", "int4"},
    {FIELD_PRECISION, "4-bit", "int4"},
    {FIELD_PRECISION, "nf4", "int4"},
    {FIELD_PRECISION, "i4", "int4"},
    {FIELD_PRECISION, "float8", "fp8"},
    {FIELD_PRECISION, "f8", "fp8"},
    {FIELD_PRECISION, "float8-e4m3fn", "fp8"},
    {FIELD_PRECISION, "e4m3", "fp8"},
    {FIELD_CACHE_DTYPE, "8bit", "fp8"},
    {FIELD_CACHE_DTYPE, "float8", "fp8"},
    {FIELD_CACHE_DTYPE, "4bit", "int4"},
    {FIELD_CACHE_DTYPE, "2bit", "int2"},
    {FIELD_CACHE, "dynamiccache", "dynamic"},
    {FIELD_CACHE, "staticcache", "static"},
    {FIELD_ATTENTION, "flash-attention-2", "sdpa"},
    {FIELD_ATTENTION, "flash-attention", "sdpa"},
    {FIELD_ATTENTION, "flash-attn-2", "sdpa"},
    {FIELD_ATTENTION, "flash-attn", "sdpa"},
    {FIELD_ATTENTION, "flash", "sdpa"},
    {FIELD_ATTENTION, "flash2", "sdpa"},
    {FIELD_ATTENTION, "fa2", "sdpa"},
    /* The class without further words takes its foreach form on a GPU; transformers' adamw_torch is that class. */
    {FIELD_OPTIMIZER, "adam", "adam-foreach"},
    {FIELD_OPTIMIZER, "adamw", "adamw-foreach"},
    {FIELD_OPTIMIZER, "adamw-torch", "adamw-foreach"},
    {FIELD_OPTIMIZER, "adamw-torch-fused", "adamw-fused"},
    {FIELD_OPTIMIZER, "8bit", "adam-8bit"},
    {FIELD_OPTIMIZER, "adam8bit", "adam-8bit"},
    {FIELD_OPTIMIZER, "adamw8bit", "adam-8bit"},
    {FIELD_OPTIMIZER, "adamw-8bit", "adam-8bit"},
    {FIELD_OPTIMIZER, "adamw-bnb-8bit", "adam-8bit"},
    {FIELD_OPTIMIZER, "paged-adamw", "paged-adamw-32bit"},
    {FIELD_OPTIMIZER, "momentum", "sgd-momentum"},
    {FIELD_LOSS, "liger", "fused"},
    {FIELD_LORA_TARGETS, "all-linear", "linear"},
    {FIELD_CLIP_GRAD, "false", "none"},
    {FIELD_GRAD_SCALER, "true", "torch"}, /* a program has one, or none */
    {FIELD_GRAD_SCALER, "gradscaler", "torch"},
    {FIELD_GRAD_SCALER, "false", "none"},
    {FIELD_AUTOCAST_CACHE, "true", "enabled"}, /* as torch.autocast(cache_enabled=...) is written */
    {FIELD_AUTOCAST_CACHE, "false", "disabled"},
    {FIELD_PROGRAM, "trainer", "hf-trainer"},
    {FIELD_PROGRAM, "transformers-trainer", "hf-trainer"},
    {FIELD_PROGRAM, "pytorch-lightning", "lightning"},
    {FIELD_PROGRAM, "peft", "peft-script"},
    {FIELD_PROGRAM, "trl", "trl-sft"},
    {FIELD_PROGRAM, "sfttrainer", "trl-sft"},
    {FIELD_HEAD, "none", "bare"},
    /* Tasks, as the Hugging Face hub and PEFT name them. */
    {FIELD_HEAD, "feature-extraction", "bare"},
    {FIELD_HEAD, "text-generation", "causal-lm"},
    {FIELD_HEAD, "fill-mask", "masked-lm"},
    {FIELD_HEAD, "seq-2-seq-lm", "seq2seq-lm"},
    {FIELD_HEAD, "image-classification", "image"},
    {FIELD_HEAD, "sequence-classification", "sequence"},
    {FIELD_HEAD, "text-classification", "sequence"},
    {FIELD_HEAD, "seq-cls", "sequence"},
    {FIELD_HEAD, "token-classification", "token"},
    {FIELD_HEAD, "token-cls", "token"},
    {FIELD_HEAD, "question-answering", "question"},
    {FIELD_HEAD, "question-ans", "question"},
    {FIELD_HEAD, "sentence-similarity", "embedding"},
    {FIELD_HEAD, "mean", "embedding"},
};

/* Why no value stands for optimizers that transformers' TrainingArguments(optim=...) names, and what is closest. */
#define PAGED_LION  "it is not modelled; paged-adamw-8bit and paged-adamw-32bit are, with two states of each parameter"
#define PAGED_THREE "its third state is not modelled; paged-adamw-8bit and paged-adamw-32bit have two of each parameter"
#define CLIPS       "its clipping of updates is not modelled; adamw-fused has two states of each parameter, too"
#define TORCHAO     "it is torchao's and not modelled; adam-8bit is that of bitsandbytes, in 8 bits"
#define ELSEWHERE   "it is of no CUDA device; adamw-foreach and adamw-fused are"
#define PROJECTS    "it projects gradients, which is not modelled; adamw-fused is what it saves memory against"
#define ONE_STATE   "it is not modelled; sgd-momentum has one state of each parameter, too"
#define STATELESS   "it is not modelled; sgd with optimizer_in_backward steps without states in the backward pass, too"
#define AVERAGING   "its averages are not modelled; adamw-fused has two states of each parameter"
#define THREE       "its third state is not modelled; adamw-fused has two of each parameter"
#define CODED       "its states in 8 bits are not modelled; adam-8bit has those of Adam"
#define TRAINERS    "it is not modelled; it runs transformers' Trainer, so that hf-trainer is the closest"
#define COMPENSATES "the types of its states are not modelled; adamw-fused has them in that of the weights"

/* In place of a word: digits, as of an argument that is a number in PyTorch. */
#define ANY_NUMBER "#"

/* Words that people know and that name no one value: what they mean is not modelled, or may be two. */
static const struct {
    enum case_field field;
    const char *word, *remedy;
} refused[] = {
    {FIELD_PROGRAM, "axolotl", TRAINERS},
    {FIELD_PROGRAM, "llama-factory", TRAINERS},
    {FIELD_PRECISION, "amp", "it may be two precisions; write amp-float16 or amp-bfloat16"},
    {FIELD_PRECISION, "autocast", "it may be two precisions; write amp-float16 or amp-bfloat16"},
    {FIELD_PRECISION, "mixed", "it may be two precisions; write amp-float16 or amp-bfloat16"},
    {FIELD_PRECISION, "16", "it may be two precisions; write float16 or bfloat16"},
    {FIELD_PRECISION, "16bit", "it may be two precisions; write float16 or bfloat16"},
    {FIELD_PRECISION, "16-bit", "it may be two precisions; write float16 or bfloat16"},
    {FIELD_OPTIMIZER, "paged-ademamix-32bit", PAGED_THREE},
    {FIELD_OPTIMIZER, "paged-ademamix-8bit", PAGED_THREE},
    {FIELD_OPTIMIZER, "paged-lion-32bit", PAGED_LION},
    {FIELD_OPTIMIZER, "paged-lion-8bit", PAGED_LION},
    {FIELD_OPTIMIZER, "adamw-torch-4bit", TORCHAO},
    {FIELD_OPTIMIZER, "adamw-torch-8bit", TORCHAO},
    {FIELD_OPTIMIZER, "adamw-torch-xla", ELSEWHERE},
    {FIELD_OPTIMIZER, "adamw-torch-npu-fused", ELSEWHERE},
    {FIELD_OPTIMIZER, "adamw-anyprecision", COMPENSATES},
    {FIELD_OPTIMIZER, "ademamix", THREE},
    {FIELD_OPTIMIZER, "ademamix-8bit", THREE},
    {FIELD_OPTIMIZER, "lion", ONE_STATE},
    {FIELD_OPTIMIZER, "lion-32bit", ONE_STATE},
    {FIELD_OPTIMIZER, "lion-8bit", CODED},
    {FIELD_OPTIMIZER, "adagrad", ONE_STATE},
    {FIELD_OPTIMIZER, "rmsprop", ONE_STATE},
    {FIELD_OPTIMIZER, "rmsprop-bnb", ONE_STATE},
    {FIELD_OPTIMIZER, "rmsprop-bnb-32bit", ONE_STATE},
    {FIELD_OPTIMIZER, "rmsprop-bnb-8bit", CODED},
    {FIELD_OPTIMIZER, "galore-adamw", PROJECTS},
    {FIELD_OPTIMIZER, "galore-adamw-8bit", PROJECTS},
    {FIELD_OPTIMIZER, "galore-adafactor", PROJECTS},
    {FIELD_OPTIMIZER, "galore-adamw-layerwise", PROJECTS},
    {FIELD_OPTIMIZER, "galore-adamw-8bit-layerwise", PROJECTS},
    {FIELD_OPTIMIZER, "galore-adafactor-layerwise", PROJECTS},
    {FIELD_OPTIMIZER, "apollo-adamw", PROJECTS},
    {FIELD_OPTIMIZER, "apollo-adamw-layerwise", PROJECTS},
    {FIELD_OPTIMIZER, "lomo", STATELESS},
    {FIELD_OPTIMIZER, "adalomo", STATELESS},
    {FIELD_OPTIMIZER, "grokadamw", THREE},
    {FIELD_OPTIMIZER, "schedule-free-radam", AVERAGING},
    {FIELD_OPTIMIZER, "schedule-free-adamw", AVERAGING},
    {FIELD_OPTIMIZER, "schedule-free-sgd", AVERAGING},
    {FIELD_OPTIMIZER, "stable-adamw", CLIPS},
    {FIELD_CLIP_GRAD, ANY_NUMBER, "no size depends on the norm; write foreach, the form that a GPU takes, or single"},
    {FIELD_CLIP_GRAD, "true", "it has two forms; write foreach, which a GPU takes by itself, or single"},
    {FIELD_LABEL_SMOOTHING, ANY_NUMBER,
     "no size depends on how much is smoothed; write trainer (transformers' Trainer) or cross-entropy (torch's loss)"},
    {FIELD_WEIGHT_AVERAGE, "ema", "it may be three; write averaged-model (torch's), timm-ema or timm-ema-v2"},
    {FIELD_OPTIMIZER, "adafactor", "it may be two optimizers; write adafactor-torch or adafactor-transformers"},
};

static char plain(char letter)
{
    return letter == '_' ? '-' : (char)tolower((unsigned char)letter);
}

static bool same(const char *a, const char *b)
{
    while (*a != '\0' && plain(*a) == plain(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

const char *workload_word_remedy(enum case_field field, const char *text)
{
    const char *word = text[0] != '\0' && text[strspn(text, "0123456789.e-")] == '\0' ? ANY_NUMBER : text;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (refused[i].field == field && (same(refused[i].word, text) || same(refused[i].word, word))) {
            return refused[i].remedy;
        }
    }
    return NULL;
}

const char *workload_alias(enum case_field field, const char *text)
{
    const char *bare = strncasecmp(text, "torch.", 6) == 0 ? text + 6 : text;
    for (int64_t value = 0; case_field_word(field, value) != NULL; value++) {
        if (same(case_field_word(field, value), bare)) {
            return case_field_word(field, value);
        }
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].field == field && same(rows[i].alias, bare)) {
            return rows[i].name;
        }
    }
    return text;
}
