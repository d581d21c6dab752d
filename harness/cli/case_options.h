/* Case options: the fields of a case as options of a command, in the words of harness/case/workload.h. */
#ifndef ASSAY_CLI_CASE_OPTIONS_H
#define ASSAY_CLI_CASE_OPTIONS_H

#include "harness/case/workload.h"
#include "harness/cli/command.h"
#include "harness/suite/identity.h"

/* The rows, for the table of a command that takes a case. */
#define CASE_OPTION_ROWS                                                                                               \
    {"mode", OPTION_VALUE, "load|infer|generate|train", "what is done with the model"},                                \
        {"precision", OPTION_VALUE, "P",                                                                               \
         "as stored, else float32; or float16, bfloat16, amp-float16, amp-bfloat16, int8, int4, fp8"},                 \
        {"quantize", OPTION_VALUE, "linear|all", "what int8, int4 and fp8 store so (default: linear, projections)"},   \
        {"batch", OPTION_VALUE, "N", "samples at once (default: 1)"},                                                  \
        {"seq", OPTION_VALUE, "N", "tokens of a sample (default: 128); not for images"},                               \
        {"new-tokens", OPTION_VALUE, "N", "tokens that are generated (generate; default: 32)"},                        \
        {"cache", OPTION_VALUE, "dynamic|static", "keys and values grow by copying, or lie ready (generate)"},         \
        {"cache-dtype", OPTION_VALUE, "D", "auto (default): that of the keys; fp8, int4, int2: quantised (generate)"}, \
        {"beams", OPTION_VALUE, "N", "beams of the search (generate; default: 1, greedy)"},                            \
        {"attention", OPTION_VALUE, "A", "sdpa (default): as PyTorch chooses; eager: scores stored; native: ours"},    \
        {"padding", OPTION_BOOLEAN, NULL, "sequences of different lengths, under an attention mask (text)"},           \
        {"optimizer", OPTION_VALUE, "O",                                                                               \
         "adam- or adamw- and foreach, fused or single; adam-8bit; sgd-momentum (train)"},                             \
        {"loss", OPTION_VALUE, "composed|fused", "log-softmax and nll, or Liger's, in place of the logits (train)"},   \
        {"lora-rank", OPTION_VALUE, "N", "train LoRA adapters of this rank on a frozen model (train; default: 0)"},    \
        {"lora-targets", OPTION_VALUE, "attention|linear",                                                             \
         "PEFT's defaults, or all but the head (default: attention)"},                                                 \
        {"prepare-kbit", OPTION_BOOLEAN, NULL, "after PEFT's prepare_model_for_kbit_training (train, int8 or int4)"},  \
        {"checkpointing", OPTION_BOOLEAN, NULL, "recompute each block in the backward pass (train)"},                  \
        {"accumulate", OPTION_VALUE, "N", "micro-batches for each step of the optimizer (train; default: 1)"},         \
        {"logits", OPTION_VALUE, "all|last", "rows of the head that are computed (default: all; generate: last)"},     \
        {"tf32", OPTION_BOOLEAN, NULL, "GPUs may round float32 factors to TF32 (default: false)"},                     \
        {"tf32-convolutions", OPTION_BOOLEAN, NULL, "those of convolutions alone, as PyTorch does (images)"},          \
    {                                                                                                                  \
        "head", OPTION_VALUE, "bare|lm", "without or with the head of the task (default: bare for load, else lm)"      \
    }

/* Whether any of these options was given. */
bool case_options_given(const struct arguments *arguments);

/* The workload they say, checked; precision: where --precision is not among them. --mode must have been given. */
enum status_code case_options_read(const struct arguments *arguments, enum precision precision,
                                   struct workload *workload, struct status *error);

/* Whether every option that was given says something about the case, as suites have it (identity.h). What says no (a
 * switch that is false, a rank of 0, one beam, one micro-batch, cache_dtype auto) is true of every case. STATUS_INVALID
 * with a remedy. */
enum status_code case_options_check(const struct arguments *arguments, const struct identity *identity,
                                    struct status *error);

#endif
