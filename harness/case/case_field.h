/* Case field: the register of what a case says besides its model. One row for each field, from which follow the member
 * of struct workload, its default and its check, suites, ids, the identity of a record, the columns of reports, and the
 * options of commands with their help. docs/ADDING.md says how a field is added. */
#ifndef ASSAY_CASE_CASE_FIELD_H
#define ASSAY_CASE_CASE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/case/training_words.h"

/* ---- the words of the fields that have words; X(enumerator, word) ---- */

#define MODE_TABLE(X)                                                                                                  \
    X(MODE_LOAD, "load")                                                                                               \
    X(MODE_INFER, "infer")                                                                                             \
    X(MODE_GENERATE, "generate")                                                                                       \
    X(MODE_TRAIN, "train")

/* Whose habits a case has: a row each in program.c. */
#define PROGRAM_TABLE(X)                                                                                               \
    X(PROGRAM_LEAN_LOOP, "lean-loop")                                                                                  \
    X(PROGRAM_PLAIN_LOOP, "plain-loop")                                                                                \
    X(PROGRAM_HF_TRAINER, "hf-trainer")                                                                                \
    X(PROGRAM_ACCELERATE, "accelerate")                                                                                \
    X(PROGRAM_LIGHTNING, "lightning")                                                                                  \
    X(PROGRAM_PEFT_SCRIPT, "peft-script")                                                                              \
    X(PROGRAM_TRL_SFT, "trl-sft")                                                                                      \
    X(PROGRAM_TORCHTITAN, "torchtitan")                                                                                \
    X(PROGRAM_TORCHTUNE, "torchtune")                                                                                  \
    X(PROGRAM_LITGPT, "litgpt")

#define PRECISION_TABLE(X)                                                                                             \
    X(PRECISION_FLOAT32, "float32")                                                                                    \
    X(PRECISION_FLOAT16, "float16")                                                                                    \
    X(PRECISION_BFLOAT16, "bfloat16")                                                                                  \
    X(PRECISION_AMP_FLOAT16, "amp-float16")                                                                            \
    X(PRECISION_AMP_BFLOAT16, "amp-bfloat16")                                                                          \
    X(PRECISION_INT8, "int8") /* the last three: weight storage, computed in bfloat16 */                               \
    X(PRECISION_INT4, "int4")                                                                                          \
    X(PRECISION_FP8, "fp8")

/* What int8, int4 and fp8 store so: quantization.h. The last two are checkpoints that were quantised before. */
#define QUANTIZE_TABLE(X)                                                                                              \
    X(QUANTIZE_LINEAR, "linear")                                                                                       \
    X(QUANTIZE_ALL, "all")                                                                                             \
    X(QUANTIZE_GPTQ, "gptq")                                                                                           \
    X(QUANTIZE_AWQ, "awq")

/* Whose layers multiply the weights of GPTQ and AWQ. auto: those that transformers takes by itself. */
#define QUANTIZED_KERNEL_TABLE(X)                                                                                      \
    X(QUANTIZED_KERNEL_AUTO, "auto")                                                                                   \
    X(QUANTIZED_KERNEL_EXLLAMA, "exllama")                                                                             \
    X(QUANTIZED_KERNEL_EXLLAMAV2, "exllamav2")                                                                         \
    X(QUANTIZED_KERNEL_CUDA_OLD, "cuda-old")                                                                           \
    X(QUANTIZED_KERNEL_GEMM, "gemm")                                                                                   \
    X(QUANTIZED_KERNEL_GEMV, "gemv")

/* How keys and values are kept while generating: grown by copying, or allocated once for prompt and new tokens. */
#define CACHE_TABLE(X)                                                                                                 \
    X(CACHE_DYNAMIC, "dynamic")                                                                                        \
    X(CACHE_STATIC, "static")

/* How a dynamic cache is stored: in the dtype of the keys, or as transformers' QuantizedCache does
 * (quantized_cache.h). */
#define CACHE_DTYPE_TABLE(X)                                                                                           \
    X(CACHE_DTYPE_AUTO, "auto")                                                                                        \
    X(CACHE_DTYPE_FP8, "fp8")                                                                                          \
    X(CACHE_DTYPE_INT4, "int4")                                                                                        \
    X(CACHE_DTYPE_INT2, "int2")

#define ATTENTION_TABLE(X)                                                                                             \
    X(ATTENTION_SDPA, "sdpa")                                                                                          \
    X(ATTENTION_EAGER, "eager")                                                                                        \
    X(ATTENTION_NATIVE, "native")

#define OPTIMIZER_TABLE(X)                                                                                             \
    X(OPTIMIZER_NONE, "none") /* not a train case */                                                                   \
    X(OPTIMIZER_ADAM_FOREACH, "adam-foreach")                                                                          \
    X(OPTIMIZER_ADAM_FUSED, "adam-fused")                                                                              \
    X(OPTIMIZER_ADAM_SINGLE, "adam-single")                                                                            \
    X(OPTIMIZER_ADAMW_FOREACH, "adamw-foreach")                                                                        \
    X(OPTIMIZER_ADAMW_FUSED, "adamw-fused")                                                                            \
    X(OPTIMIZER_ADAMW_SINGLE, "adamw-single")                                                                          \
    X(OPTIMIZER_ADAM_8BIT, "adam-8bit") /* bitsandbytes' */                                                            \
    X(OPTIMIZER_SGD_MOMENTUM, "sgd-momentum")                                                                          \
    X(OPTIMIZER_SGD, "sgd")                                                                                            \
    X(OPTIMIZER_ADAFACTOR_TORCH, "adafactor-torch") /* the rest is predicted and not run */                            \
    X(OPTIMIZER_ADAFACTOR_TRANSFORMERS, "adafactor-transformers")                                                      \
    X(OPTIMIZER_PAGED_ADAMW_32BIT, "paged-adamw-32bit")                                                                \
    X(OPTIMIZER_PAGED_ADAMW_8BIT, "paged-adamw-8bit")

#define LORA_TARGETS_TABLE(X)                                                                                          \
    X(LORA_TARGETS_ATTENTION, "attention")                                                                             \
    X(LORA_TARGETS_LINEAR, "linear")                                                                                   \
    X(LORA_TARGETS_PROJECTIONS, "projections")

#define LOGITS_TABLE(X)                                                                                                \
    X(LOGITS_ALL, "all")                                                                                               \
    X(LOGITS_LAST, "last")

/* How long the object that a call of the model returns is alive: until the next call has returned, as in
 * `outputs = model(**batch); loss = outputs.loss`, or not, as in `loss = model(**batch).loss`. */
#define OUTPUTS_TABLE(X)                                                                                               \
    X(OUTPUTS_DROPPED, "dropped")                                                                                      \
    X(OUTPUTS_KEPT, "kept")

/* Whether torch.autocast keeps the casts of parameters until it ends (its cache_enabled). */
#define AUTOCAST_CACHE_TABLE(X)                                                                                        \
    X(AUTOCAST_CACHE_ENABLED, "enabled")                                                                               \
    X(AUTOCAST_CACHE_DISABLED, "disabled")

/* What is computed of the logits of a training step beside its loss, to be logged: how many tokens were predicted, and
 * before that the entropy of each (models/workload/token_metrics.h). */
#define METRICS_TABLE(X)                                                                                               \
    X(METRICS_NONE, "none")                                                                                            \
    X(METRICS_ACCURACY, "accuracy")                                                                                    \
    X(METRICS_ENTROPY_ACCURACY, "entropy-accuracy")

/* How the batch is found, from the one of the case on: by accelerate's rule up to 1.8, that since 1.9, or bisection
 * (batch_search.h). */
#define FIND_BATCH_TABLE(X)                                                                                            \
    X(FIND_BATCH_NONE, "none")                                                                                         \
    X(FIND_BATCH_HALVE, "halve")                                                                                       \
    X(FIND_BATCH_NINE_TENTHS, "0.9")                                                                                   \
    X(FIND_BATCH_BISECT, "bisect")

/* CUDA_MODULE_LOADING, as the driver carries it out: kernels are loaded when they first run, or with their library. */
#define MODULE_LOADING_TABLE(X)                                                                                        \
    X(MODULE_LOADING_LAZY, "lazy")                                                                                     \
    X(MODULE_LOADING_EAGER, "eager")

/* What the model ends in. A model has one head over tokens or images, "lm"; the three words behind it say which kind is
 * meant, and stand for it where the model has that kind. models/config/head.h. */
#define HEAD_TABLE(X)                                                                                                  \
    X(HEAD_DEFAULT, "default") /* what the configuration names; nobody writes it */                                    \
    X(HEAD_BARE, "bare")                                                                                               \
    X(HEAD_LM, "lm")                                                                                                   \
    X(HEAD_CAUSAL_LM, "causal-lm")                                                                                     \
    X(HEAD_MASKED_LM, "masked-lm")                                                                                     \
    X(HEAD_SEQ2SEQ_LM, "seq2seq-lm")                                                                                   \
    X(HEAD_IMAGE, "image")                                                                                             \
    X(HEAD_SEQUENCE, "sequence")   /* a class of each sequence */                                                      \
    X(HEAD_TOKEN, "token")         /* a class of each token */                                                         \
    X(HEAD_QUESTION, "question")   /* where an answer begins and ends */                                               \
    X(HEAD_ENCODER, "encoder")     /* of an encoder and a decoder: the first alone */                                  \
    X(HEAD_EMBEDDING, "embedding") /* no head: the mean over the tokens of a sequence, as sentence-transformers */

/* Of a training: the third shows what stays, and reserved bytes may grow in a later one; all are on the tape. */
enum { TRAINING_STEPS_USUAL = 3, TRAINING_STEPS_MAXIMUM = 64 };

/* ---- the fields ----
 *
 * X(NAME, member, KIND, RECORD, usual, modes, condition, spelling,
 *   HAS_OPTION, option, value, help, ...), in the order of an id:
 *
 * member       of struct workload; also the key in suites and records, and the name of the column
 * KIND         NAME: one of the words of its table above, an enum of the member's name. COUNT: an int64_t. SWITCH: a
 *              bool. SHARE: of a whole, below 1; an int64_t of millionths, written as a decimal number: 0.05 (share.h).
 *              TEXT: a const char *, borrowed; NULL: nothing is said
 * RECORD       how records have it: enum case_record
 * usual        its value when nobody says one; `mode` is that of the case
 * modes        those in which it says something about a case (IN_TRAIN)
 * condition    what must hold besides, of `workload`, whose fields above this one and whose head are set, and of
 *              `traits` of the model
 * spelling     in an id, with '%' for the value
 * HAS_OPTION   whether commands have an option for it (FIRST_OPTION: the first of them), else NO_OPTION
 * option, value, help   the row of that option: command.h
 * ...          what few rows say: members of struct case_field_row
 *
 * A new field is UNUSUAL in records, so that the identities of older records stay what they are. */
#define GPTQ_REMEDY "write --precision int4 and --quantize gptq"
#define CASE_FIELD_TABLE(X)                                                                                            \
    X(MODE, mode, NAME, ALWAYS, mode, IN_ALL, true, "%", FIRST_OPTION, "mode", "load|infer|generate|train",            \
      "what is done with the model", .is_always_spelled = true)                                                        \
    X(PROGRAM, program, NAME, UNUSUAL, PROGRAM_LEAN_LOOP, IN_INFER | IN_TRAIN, true, "%", HAS_OPTION, "program", "P",  \
      "whose habits: plain-loop (default), lean-loop, hf-trainer, trl-sft, lightning ...",                             \
      .refusal = "has no loop of a program; leave it out, or write")                                                   \
    X(PRECISION, precision, NAME, ALWAYS, PRECISION_FLOAT32, IN_ALL, true, "%", HAS_OPTION, "precision", "P",          \
      "as stored, else float32; [amp-]float16, [amp-]bfloat16, int8, int4, fp8", .is_always_spelled = true)            \
    X(QUANTIZE, quantize, NAME, SINCE, QUANTIZE_LINEAR, IN_ALL, workload->precision >= PRECISION_INT8, "quantize-%",   \
      HAS_OPTION, "quantize", "Q", "of int8, int4, fp8: linear (default: the projections), all; gptq, awq",            \
      .label = "%", .remedy = "write --precision int8, int4 or fp8")                                                   \
    X(DOUBLE_QUANT, double_quant, SWITCH, UNUSUAL, false, IN_ALL,                                                      \
      workload_is_bitsandbytes(workload) && workload->precision == PRECISION_INT4, "double-quant", HAS_OPTION,         \
      "double-quant", NULL, "scales are quantised too, bnb_4bit_use_double_quant (int4)",                              \
      .remedy = "write --precision int4")                                                                              \
    X(STORED_HEAD, stored_head, SWITCH, UNUSUAL, false, IN_ALL, workload->head == HEAD_LM, "stored-head", HAS_OPTION,  \
      "stored-head", NULL, "the checkpoint has a head of its own, although it is tied", .remedy = "write --head lm")   \
    /* Inputs of a layer that share a scale; 0: all of them, which configurations write as -1. */                      \
    X(GROUP_SIZE, group_size, COUNT, UNUSUAL, 128, IN_ALL, workload_is_packed(workload), "group%", HAS_OPTION,         \
      "group-size", "N", "inputs that share a scale; 0: all of them (gptq, awq; default: 128)", .remedy = GPTQ_REMEDY) \
    X(ACT_ORDER, act_order, SWITCH, UNUSUAL, false, IN_ALL, workload->quantize == QUANTIZE_GPTQ, "act-order",          \
      HAS_OPTION, "act-order", NULL, "inputs were quantised by activation: desc_act (gptq)", .remedy = GPTQ_REMEDY)    \
    X(QUANTIZED_KERNEL, quantized_kernel, NAME, UNUSUAL, QUANTIZED_KERNEL_AUTO, IN_ALL, workload_is_packed(workload),  \
      "kernel-%", HAS_OPTION, "quantized-kernel", "K",                                                                 \
      "auto (default); exllama, exllamav2, cuda-old; awq: gemm, gemv", .remedy = GPTQ_REMEDY)                          \
    X(BATCH, batch, COUNT, NULLABLE, 1, IN_PASS, true, "b%", HAS_OPTION, "batch", "N", "samples at once (default: 1)", \
      .lowest = 1, .is_always_spelled = true, .is_length = true)                                                       \
    /* 0 for images: the configuration gives their size. */                                                            \
    X(SEQ, seq, COUNT, NULLABLE, 128, IN_PASS, !traits.is_image, "s%", HAS_OPTION, "seq", "N",                         \
      "tokens of a sample (default: 128); not for images", .lowest = 1, .is_always_spelled = true, .is_length = true)  \
    X(NEW_TOKENS, new_tokens, COUNT, SINCE, 32, IN_GENERATE, true, "n%", HAS_OPTION, "new-tokens", "N",                \
      "tokens that are generated (generate; default: 32)", .lowest = 1, .is_always_spelled = true, .is_length = true,  \
      .label = "+%", .remedy = "write --mode generate")                                                                \
    X(CACHE, cache, NAME, SINCE, CACHE_DYNAMIC, IN_GENERATE, true, "%", HAS_OPTION, "cache", "dynamic|static",         \
      "keys and values grow by copying, or have all room at once (generate)",                                          \
      .refusal = "does not generate; leave it out, or write", .remedy = "write --mode generate")                       \
    X(CACHE_DTYPE, cache_dtype, NAME, SINCE, CACHE_DTYPE_AUTO, IN_GENERATE, workload->cache == CACHE_DYNAMIC,          \
      "cache-%", HAS_OPTION, "cache-dtype", "D",                                                                       \
      "auto (default): that of the keys; fp8, int4, int2: quantised (generate)", .usual_is_no = true,                  \
      .refusal = "does not generate; leave it out, or write")                                                          \
    X(BEAMS, beams, COUNT, SINCE, 1, IN_GENERATE, true, "beams%", HAS_OPTION, "beams", "N",                            \
      "beams of the search (generate; default: 1, greedy)", .lowest = 1, .usual_is_no = true,                          \
      .refusal = "does not generate; leave it out, or write")                                                          \
    X(ATTENTION, attention, NAME, NULLABLE, ATTENTION_SDPA, IN_PASS, traits.has_attention, "%", HAS_OPTION,            \
      "attention", "A", "sdpa (default): as PyTorch chooses; eager: scores stored; native: ours")                      \
    /* What a layer keeps for the backward pass is decided by the code of its library: models/forward/own_layer.h. */  \
    X(MODEL_CODE, model_code, NAME, UNUSUAL, MODEL_CODE_TRANSFORMERS, IN_TRAIN, traits.writes_text, "code-%",          \
      HAS_OPTION, "model-code", "L", "whose classes: transformers (default), torchtune, litgpt (train)",               \
      .refusal = "runs transformers' classes; leave it out, or write")                                                 \
    /* Sequences of different lengths under an attention mask. */                                                      \
    X(PADDING, padding, SWITCH, SINCE, false, IN_INFER | IN_TRAIN, !traits.is_image, "padding", HAS_OPTION, "padding", \
      NULL, "sequences of different lengths, under an attention mask (text)")                                          \
    X(OPTIMIZER, optimizer, NAME, NULLABLE, mode == MODE_TRAIN ? OPTIMIZER_ADAMW_FUSED : OPTIMIZER_NONE, IN_TRAIN,     \
      true, "%", HAS_OPTION, "optimizer", "O",                                                                         \
      "adam- or adamw-foreach, -fused, -single; adam-8bit; sgd[-momentum] (train)", .lowest = OPTIMIZER_NONE + 1,      \
      .is_always_spelled = true, .refusal = "does not train; leave the optimizer out, or write")                       \
    X(LOSS, loss, NAME, SINCE, LOSS_COMPOSED, IN_TRAIN, true, "loss-%", HAS_OPTION, "loss", "L",                       \
      "composed (default), fused: Liger's, chunked, chunked-head, chunked-output (train)",                             \
      .refusal = "has no loss; leave it out, or write")                                                                \
    /* 0: as the loss has it by itself. */                                                                             \
    X(LOSS_CHUNK_SIZE, loss_chunk_size, COUNT, UNUSUAL, 0, IN_TRAIN, workload_loss_is_chunked(workload),               \
      "loss-chunks-of-%", HAS_OPTION, "loss-chunk-size", "N",                                                          \
      "tokens of a chunk of the loss (default: 0, the loss's own)", .remedy = "write --loss chunked")                  \
    /* No size depends on how much is smoothed; 0.1 is, as by those who switch it on. */                               \
    X(LABEL_SMOOTHING, label_smoothing, NAME, UNUSUAL, LABEL_SMOOTHING_NONE, IN_TRAIN, true, "label-smoothing-%",      \
      HAS_OPTION, "label-smoothing", "W", "none (default), cross-entropy (torch's argument), trainer (train)",         \
      .usual_is_no = true, .refusal = "has no loss; leave it out, or write")                                           \
    /* Of the adapters that are trained instead of the model; 0: none. */                                              \
    X(LORA_RANK, lora_rank, COUNT, SINCE, 0, IN_TRAIN, !traits.is_image, "lora%", HAS_OPTION, "lora-rank", "N",        \
      "train LoRA adapters of this rank on a frozen model (train; default: 0)", .usual_is_no = true,                   \
      .refusal = "trains no adapters; write 0, or")                                                                    \
    X(LORA_TARGETS, lora_targets, NAME, SINCE, LORA_TARGETS_ATTENTION, IN_TRAIN,                                       \
      !traits.is_image && workload->lora_rank > 0, "lora-%", HAS_OPTION, "lora-targets", "T",                          \
      "attention (default): PEFT's own; projections: all of attention; linear: all but the head", .label = "%",        \
      .remedy = "add --lora-rank 8")                                                                                   \
    /* nn.Dropout before the first factor of each adapter: of LoraConfig, whose own default is 0. */                   \
    X(LORA_DROPOUT, lora_dropout, SHARE, UNUSUAL, 0, IN_TRAIN, !traits.is_image && workload->lora_rank > 0,            \
      "lora-dropout%", HAS_OPTION, "lora-dropout", "P",                                                                \
      "dropout before each adapter of LoRA: 0.05, 0.1 (train; default: 0)", .usual_is_no = true,                       \
      .refusal = "trains no adapters; write 0, or", .remedy = "add --lora-rank 8")                                     \
    /* PEFT's prepare_model_for_kbit_training has run: prepare_kbit.h. */                                              \
    X(PREPARE_KBIT, prepare_kbit, SWITCH, SINCE, false, IN_TRAIN,                                                      \
      !traits.is_image && workload->lora_rank > 0 && workload_is_bitsandbytes(workload), "prepare-kbit", HAS_OPTION,   \
      "prepare-kbit", NULL, "as after PEFT's prepare_model_for_kbit_training (train, int8 or int4)")                   \
    X(CHECKPOINTING, checkpointing, SWITCH, NULLABLE, false, IN_TRAIN, true, "checkpointing", HAS_OPTION,              \
      "checkpointing", NULL, "recompute each block in the backward pass (train)",                                      \
      .refusal = "has no backward pass; write false, or")                                                              \
    X(ACCUMULATE, accumulate, COUNT, NULLABLE, 1, IN_TRAIN, true, "accumulate%", HAS_OPTION, "accumulate", "N",        \
      "micro-batches for each step of the optimizer (train; default: 1)", .lowest = 1, .usual_is_no = true,            \
      .refusal = "takes no optimizer step; write 1, or")                                                               \
    X(ACCUMULATED_LOSS, accumulated_loss, NAME, UNUSUAL, ACCUMULATED_LOSS_DIVIDED, IN_TRAIN, workload->accumulate > 1, \
      "accumulated-loss-%", HAS_OPTION, "accumulated-loss", "W",                                                       \
      "divided (default) by the number of micro-batches, or whole (train)",                                            \
      .refusal = "has no loss; leave it out, or write", .remedy = "write --accumulate 2 or more")                      \
    X(STEPS, steps, COUNT, UNUSUAL, TRAINING_STEPS_USUAL, IN_TRAIN, true, "steps%", HAS_OPTION, "steps", "N",          \
      "steps of the optimizer (train; default: 3); later ones may add a segment", .lowest = 1,                         \
      .refusal = "takes no optimizer step; leave it out, or write")                                                    \
    X(ZERO_GRAD, zero_grad, NAME, UNUSUAL, ZERO_GRAD_AFTER_STEP, IN_TRAIN, true, "zero-grad-%", HAS_OPTION,            \
      "zero-grad", "W", "after-step (default), before-forward, before-backward (train)", .usual_is_no = true,          \
      .refusal = "has no gradients; leave it out, or write")                                                           \
    X(ZERO_GRAD_TO, zero_grad_to, NAME, UNUSUAL, ZERO_GRAD_TO_NONE, IN_TRAIN, true, "zero-grad-to-%", HAS_OPTION,      \
      "zero-grad-to", "none|zeros", "none (default), or zeros: set_to_none=False, gradients stay (train)",             \
      .usual_is_no = true, .refusal = "has no gradients; leave it out, or write")                                      \
    /* Each parameter has an optimizer, which a hook calls when its gradient is there. */                              \
    X(OPTIMIZER_IN_BACKWARD, optimizer_in_backward, SWITCH, UNUSUAL, false, IN_TRAIN, true, "optimizer-in-backward",   \
      HAS_OPTION, "optimizer-in-backward", NULL, "parameters step in the backward pass, and gradients go (train)",     \
      .refusal = "has no backward pass; write false, or")                                                              \
    X(PARAMETER_GROUPS, parameter_groups, NAME, UNUSUAL, PARAMETER_GROUPS_ONE, IN_TRAIN, true, "groups-%", HAS_OPTION, \
      "parameter-groups", "W", "one (default), decay: biases and norms apart, as the Trainer (train)",                 \
      .usual_is_no = true, .refusal = "has no optimizer; leave it out, or write")                                      \
    X(EMBEDDING_STATES, embedding_states, NAME, UNUSUAL, EMBEDDING_STATES_8BIT, IN_TRAIN,                              \
      workload_steps_in_8bit(workload), "embedding-states-%", HAS_OPTION, "embedding-states", "W",                     \
      "of an 8-bit optimizer: 8bit (default), or float32, as the Trainer (train)", .usual_is_no = true,                \
      .refusal = "has no optimizer; leave it out, or write", .remedy = "write --optimizer adam-8bit")                  \
    X(CLIP_GRAD, clip_grad, NAME, UNUSUAL, CLIP_GRAD_NONE, IN_TRAIN, true, "clip-grad-%", HAS_OPTION, "clip-grad",     \
      "W", "none (default), foreach or single: a form of clip_grad_norm_ (train)", .usual_is_no = true,                \
      .refusal = "has no gradients; leave it out, or write")                                                           \
    X(GRAD_SCALER, grad_scaler, NAME, UNUSUAL, GRAD_SCALER_LEAN, IN_TRAIN,                                             \
      workload->precision == PRECISION_AMP_FLOAT16, "grad-scaler-%", HAS_OPTION, "grad-scaler", "W",                   \
      "of amp-float16: lean (default), none or torch, which is torch.amp.GradScaler",                                  \
      .refusal = "has no gradients; leave it out, or write", .remedy = "write --precision amp-float16")                \
    X(WEIGHT_AVERAGE, weight_average, NAME, UNUSUAL, WEIGHT_AVERAGE_NONE, IN_TRAIN, true, "%", HAS_OPTION,             \
      "weight-average", "W", "none (default), averaged-model, timm-ema[-v2]: an average of the weights (train)",       \
      .usual_is_no = true, .refusal = "changes no weights; leave it out, or write")                                    \
    X(LOGITS, logits, NAME, NULLABLE, mode == MODE_GENERATE ? LOGITS_LAST : LOGITS_ALL, IN_PASS,                       \
      !traits.is_image && workload->head == HEAD_LM, "logits-%", HAS_OPTION, "logits", "all|last",                     \
      "rows of the head that are computed (default: all; generate: last)", .label = "%", .usual_is_no = true)          \
    /* The plain pass returns keys and values (past_key_values); a model that does not write text has none. */         \
    X(USE_CACHE, use_cache, SWITCH, UNUSUAL, false, IN_INFER | IN_TRAIN, traits.writes_text, "use-cache", HAS_OPTION,  \
      "use-cache", NULL, "the pass returns keys and values, as the program or class has it (infer, train)",            \
      .refusal = "has no plain forward pass; leave it out, or write")                                                  \
    X(OUTPUTS, outputs, NAME, UNUSUAL, OUTPUTS_DROPPED, IN_INFER | IN_TRAIN, true, "outputs-%", HAS_OPTION, "outputs", \
      "dropped|kept", "kept: alive until the next pass has returned (infer, train)",                                   \
      .refusal = "has no plain forward pass; leave it out, or write")                                                  \
    X(LOSS_DETACHED, loss_detached, SWITCH, UNUSUAL, false, IN_TRAIN, workload_graph_holds(workload), "loss-detached", \
      HAS_OPTION, "loss-detached", NULL, "the loss's graph goes with its backward pass (train, LoRA)",                 \
      .refusal = "has no loss; leave it out, or write", .remedy = "add --lora-rank 8 --checkpointing")                 \
    /* Weights in 16 bits or quantised under torch.autocast; those in float32 are a precision's, amp-. */              \
    X(AUTOCAST, autocast, SWITCH, UNUSUAL, false, IN_INFER | IN_TRAIN, workload_takes_autocast(workload), "autocast",  \
      HAS_OPTION, "autocast", NULL, "run weights of 16 bits, or quantised, under torch.autocast (infer, train)",       \
      .refusal = "has no plain forward pass; leave it out, or write",                                                  \
      .remedy = "write --precision amp-bfloat16, which is float32 weights under it")                                   \
    /* accelerate's convert_outputs_to_fp32, which its prepare() and so the Trainer of transformers wrap models in. */ \
    X(FLOAT32_OUTPUTS, float32_outputs, SWITCH, UNUSUAL, false, IN_INFER | IN_TRAIN, workload_is_autocast(workload),   \
      "float32-outputs", HAS_OPTION, "float32-outputs", NULL,                                                          \
      "what a pass returns is copied to float32, as accelerate does (autocast)",                                       \
      .refusal = "has no plain forward pass; leave it out, or write", .remedy = "write --precision amp-bfloat16")      \
    X(METRICS, metrics, NAME, UNUSUAL, METRICS_NONE, IN_TRAIN, traits.writes_text && workload->head == HEAD_LM,        \
      "metrics-%", HAS_OPTION, "metrics", "W",                                                                         \
      "none (default), accuracy, entropy-accuracy: of the logits, as TRL logs them (train)", .usual_is_no = true,      \
      .refusal = "has no logits of a training step; leave it out, or write")                                           \
    X(AUTOCAST_CACHE, autocast_cache, NAME, UNUSUAL, AUTOCAST_CACHE_ENABLED, IN_PASS, workload_is_autocast(workload),  \
      "autocast-cache-%", HAS_OPTION, "autocast-cache", "W",                                                           \
      "enabled (default), or disabled: casts of parameters go after each use",                                         \
      .remedy = "write --precision amp-bfloat16")                                                                      \
    /* Products and convolutions may round float32 factors to TF32; changes no byte. */                                \
    X(TF32, tf32, SWITCH, SINCE, false, IN_PASS, workload->precision == PRECISION_FLOAT32, "tf32", HAS_OPTION, "tf32", \
      NULL, "GPUs may round float32 factors to TF32 (default: false)")                                                 \
    /* Convolutions alone may; without meaning where all may. */                                                       \
    X(TF32_CONVOLUTIONS, tf32_convolutions, SWITCH, SINCE, false, IN_PASS,                                             \
      workload->precision == PRECISION_FLOAT32 && traits.is_image && !workload->tf32, "tf32-convolutions", HAS_OPTION, \
      "tf32-convolutions", NULL, "the same for convolutions alone, as PyTorch does (images)")                          \
    /* torch.backends.cudnn.benchmark: the first pass tries cuDNN's engines (harness/tape/cudnn_search.h). */          \
    X(CUDNN_BENCHMARK, cudnn_benchmark, SWITCH, UNUSUAL, false, IN_PASS, traits.is_image, "cudnn-benchmark",           \
      HAS_OPTION, "cudnn-benchmark", NULL, "cuDNN's engines are tried, and the fastest kept (images)",                 \
      .refusal = "convolves nothing; write false, or")                                                                 \
    /* Where the parts lie: place_text.h. NULL: all on one device. */                                                  \
    X(PLACE, place, TEXT, UNUSUAL, NULL, IN_LOAD | IN_INFER, true, "place-%", NO_OPTION, NULL, NULL, NULL,             \
      .check = place_check, .refusal = "runs on one device; leave it out, or write")                                   \
    /* A load from a checkpoint that is made for it, "single" or in shards of at most a size, "50MB". */               \
    X(CHECKPOINT, checkpoint, TEXT, UNUSUAL, NULL, IN_LOAD, true, "checkpoint-%", NO_OPTION, NULL, NULL, NULL,         \
      .check = checkpoint_check, .refusal = "makes its weights on the device; leave it out, or write")                 \
    X(FIND_BATCH, find_batch, NAME, UNUSUAL, FIND_BATCH_NONE, IN_PASS, true, "find-%", NO_OPTION, NULL, NULL, NULL,    \
      .refusal = "has no batch; leave it out, or write")                                                               \
    /* The releases of transformers and torch that are followed: release.h. NULL: those of the tape. */                \
    X(RELEASE, release, TEXT, UNUSUAL, NULL, IN_ALL, true, "%", HAS_OPTION, "release", "LIBRARY=RELEASE",              \
      "of older libraries: transformers=4.46, or with +torch=2.1", .check = release_text_check)                        \
    /* Says nothing about segments, but about what lies beside them: harness/tape/module_table.h. */                   \
    X(MODULE_LOADING, module_loading, NAME, UNUSUAL, MODULE_LOADING_LAZY, IN_ALL, true, "modules-%", HAS_OPTION,       \
      "module-loading", "lazy|eager", "lazy (default), or eager: all kernels at once, as drivers before 515")          \
    X(HEAD, head, NAME, NULLABLE, HEAD_DEFAULT, IN_ALL, true, "head-%", HAS_OPTION, "head", "H",                       \
      "bare, lm, sequence, token, question, encoder or embedding (default: by config.json)", .lowest = HEAD_BARE,      \
      .label = "%")

/* ---- what follows from the table ---- */

enum case_field {
    FIELD_MODEL, /* the model; no member of a workload */
#define CASE_FIELD_ENUM(name, ...) FIELD_##name,
    CASE_FIELD_TABLE(CASE_FIELD_ENUM)
#undef CASE_FIELD_ENUM
        FIELD_COUNT
};

/* The field alone has words: enum mode, enum precision, ... */
#define CASE_WORD_ENUM(enumerator, word) enumerator,
#define CASE_WORDS_NAME(name, member)    enum member { name##_TABLE(CASE_WORD_ENUM) name##_COUNT };
#define CASE_WORDS_COUNT(name, member)
#define CASE_WORDS_SWITCH(name, member)
#define CASE_WORDS_SHARE(name, member)
#define CASE_WORDS_TEXT(name, member)
#define CASE_WORDS(name, member, kind, ...) CASE_WORDS_##kind(name, member)
CASE_FIELD_TABLE(CASE_WORDS)
#undef CASE_WORDS
#undef CASE_WORDS_TEXT
#undef CASE_WORDS_SHARE
#undef CASE_WORDS_SWITCH
#undef CASE_WORDS_COUNT
#undef CASE_WORDS_NAME
#undef CASE_WORD_ENUM

/* What is done with the model: sets of modes, a bit for each. */
enum {
    IN_LOAD = 1 << MODE_LOAD,
    IN_INFER = 1 << MODE_INFER,
    IN_GENERATE = 1 << MODE_GENERATE,
    IN_TRAIN = 1 << MODE_TRAIN,
    IN_PASS = IN_INFER | IN_GENERATE | IN_TRAIN, /* it is run */
    IN_ALL = (1 << MODE_COUNT) - 1
};

enum case_field_kind {
    FIELD_KIND_MODEL,
    FIELD_KIND_NAME,
    FIELD_KIND_COUNT,
    FIELD_KIND_SWITCH,
    FIELD_KIND_SHARE,
    FIELD_KIND_TEXT
};

/* How the identity of a record has a field. */
enum case_record {
    RECORD_ALWAYS,   /* in every record, and never null */
    RECORD_NULLABLE, /* in every record; null where it says nothing about the case */
    RECORD_SINCE,    /* the same, but for older records, which lack it */
    RECORD_UNUSUAL   /* left out where it has its usual value, as in older records */
};

struct case_field_row {
    const char *key;
    enum case_field_kind kind;
    enum case_record record;
    unsigned modes;            /* those in which it says something */
    const char *spelling;      /* in an id */
    const char *label;         /* in the label of a report; NULL: as in an id */
    const char *option, *help; /* NULL: a case has no such option */
    int lowest;                /* the lowest count that may be written, or the first of the words */
    bool is_always_spelled;    /* in an id, its usual value too */
    bool is_length;            /* a count that series of cases vary: what reports hold together differs in it alone */
    bool usual_is_no;          /* its usual value says that there is no such thing, which is true of every case */
    const char *refusal; /* in a mode that has none: "has no loss; leave it out, or write", which the modes follow;
                            NULL: harness/case/workload.c says it, or nobody does */
    const char *remedy;  /* what would make it say something, besides leaving it out; NULL: nothing simple */
    enum status_code (*check)(const char *text, struct status *error); /* of a text; never NULL there */
    const char *const *words;                                          /* NULL for a count and a text */
    int word_count;
    size_t offset, bytes; /* of its member in struct workload */
};

const struct case_field_row *case_field_row(enum case_field field);

/* The key in suites and records: "batch". */
const char *case_field_key(enum case_field field);
enum case_field_kind case_field_kind(enum case_field field);

/* The field of a key of this length; FIELD_COUNT: there is none. */
enum case_field case_field_find(const char *key, size_t length);

/* The word for a value ("bfloat16", "true"); NULL for a model, a count, a share and a text. */
const char *case_field_word(enum case_field field, int64_t value);

/* A value as a suite writes it: its word, or in buffer "8", "0.05". Not of a model or a text. */
enum { CASE_VALUE_BYTES = 24 };
const char *case_field_value_text(enum case_field field, int64_t value, char buffer[CASE_VALUE_BYTES]);

/* Appends a spelling or a label ("lora-%") with its value. */
void case_field_spell(const char *spelling, const char *value, struct text *text);

/* One value of an enumerated field, as the interface spells it: mode_name, precision_name, ... */
#define CASE_WORD_OF_NAME(member) const char *member##_name(enum member member);
#define CASE_WORD_OF_COUNT(member)
#define CASE_WORD_OF_SWITCH(member)
#define CASE_WORD_OF_SHARE(member)
#define CASE_WORD_OF_TEXT(member)
#define CASE_WORD_OF(name, member, kind, ...) CASE_WORD_OF_##kind(member)
CASE_FIELD_TABLE(CASE_WORD_OF)
#undef CASE_WORD_OF
#undef CASE_WORD_OF_TEXT
#undef CASE_WORD_OF_SHARE
#undef CASE_WORD_OF_SWITCH
#undef CASE_WORD_OF_COUNT
#undef CASE_WORD_OF_NAME

#endif
