/* Workload: what is done with a model. The identity of a case is a model and a workload. */
#ifndef ASSAY_CASE_WORKLOAD_H
#define ASSAY_CASE_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"

enum mode { MODE_LOAD, MODE_INFER, MODE_GENERATE, MODE_TRAIN, MODE_COUNT };
enum precision {
    PRECISION_FLOAT32,
    PRECISION_FLOAT16,
    PRECISION_BFLOAT16,
    PRECISION_AMP_FLOAT16,
    PRECISION_AMP_BFLOAT16,
    PRECISION_INT8, /* the last three: weight storage, computed in bfloat16 */
    PRECISION_INT4,
    PRECISION_FP8,
    PRECISION_COUNT
};
/* How keys and values are kept while generating: grown by copying, or allocated once for prompt and new tokens. */
enum cache { CACHE_DYNAMIC, CACHE_STATIC, CACHE_COUNT };
/* How a dynamic cache is stored: in the dtype of the keys, or as transformers' QuantizedCache does
 * (quantized_cache.h). */
enum cache_dtype { CACHE_DTYPE_AUTO, CACHE_DTYPE_FP8, CACHE_DTYPE_INT4, CACHE_DTYPE_INT2, CACHE_DTYPE_COUNT };
enum quantize { QUANTIZE_LINEAR, QUANTIZE_ALL, QUANTIZE_COUNT }; /* what int8, int4 and fp8 store so: quantization.h */
enum attention { ATTENTION_SDPA, ATTENTION_EAGER, ATTENTION_NATIVE, ATTENTION_COUNT };
enum optimizer {
    OPTIMIZER_NONE, /* not a train case */
    OPTIMIZER_ADAM_FOREACH,
    OPTIMIZER_ADAM_FUSED,
    OPTIMIZER_ADAM_SINGLE,
    OPTIMIZER_ADAMW_FOREACH,
    OPTIMIZER_ADAMW_FUSED,
    OPTIMIZER_ADAMW_SINGLE,
    OPTIMIZER_ADAM_8BIT, /* bitsandbytes' */
    OPTIMIZER_SGD_MOMENTUM,
    OPTIMIZER_COUNT
};
/* Of classes: PyTorch's log_softmax and nll_loss, or Liger-Kernel's, whose gradient takes the place of the logits. */
enum loss { LOSS_COMPOSED, LOSS_FUSED, LOSS_COUNT };
enum lora_targets { LORA_TARGETS_ATTENTION, LORA_TARGETS_LINEAR, LORA_TARGETS_COUNT };
enum logits { LOGITS_ALL, LOGITS_LAST, LOGITS_COUNT };
/* How the batch is found, from the one of the case on: by accelerate's rule up to 1.8, that since 1.9, or bisection
 * (batch_search.h). */
enum find_batch { FIND_BATCH_NONE, FIND_BATCH_HALVE, FIND_BATCH_NINE_TENTHS, FIND_BATCH_BISECT, FIND_BATCH_COUNT };
enum head { HEAD_DEFAULT, HEAD_BARE, HEAD_LM, HEAD_COUNT }; /* default: bare for load, lm otherwise */

struct workload {
    enum mode mode;
    enum precision precision;
    enum quantize quantize;
    int64_t batch;      /* >= 1 */
    int64_t seq;        /* >= 1; 0 for images, where the configuration gives the size */
    int64_t new_tokens; /* generate: >= 1; otherwise without meaning */
    enum cache cache;
    enum cache_dtype cache_dtype; /* generate; other than auto: of a dynamic cache */
    int64_t beams;                /* >= 1; 1: greedy */
    enum attention attention;
    bool padding; /* text: sequences of different lengths under an attention mask */
    enum optimizer optimizer;
    enum loss loss;    /* of training */
    int64_t lora_rank; /* of the adapters that are trained instead of the model; 0: none */
    enum lora_targets lora_targets;
    bool prepare_kbit; /* PEFT's prepare_model_for_kbit_training has run: prepare_kbit.h */
    bool checkpointing;
    int64_t accumulate; /* >= 1 */
    enum logits logits;
    bool tf32;              /* products and convolutions may round float32 factors to TF32; changes no byte */
    bool tf32_convolutions; /* convolutions alone may; without meaning where all may */
    /* Texts are borrowed; NULL: nothing is said. */
    const char *place; /* where the parts lie (place_text.h): load and infer. NULL: all on one device */
    const char
        *checkpoint; /* load: from a checkpoint that is made for it, "single" or in shards of at most a size, "50MB" */
    enum find_batch find_batch;
    enum head head;
};

/* The fields in the order of a case's identity; X(NAME, member of struct workload). The member's name is its key in
 * suites and records and its option on a command line. A field of the enumerations above has a row of names in
 * workload.c, a count is an int64_t, a switch a bool, a text a const char *. Whether a field says something about a
 * case may depend on those above it, and on the head, which stays the last. */
#define WORKLOAD_FIELD_TABLE(X)                                                                                        \
    X(MODE, mode)                                                                                                      \
    X(PRECISION, precision)                                                                                            \
    X(QUANTIZE, quantize)                                                                                              \
    X(BATCH, batch)                                                                                                    \
    X(SEQ, seq)                                                                                                        \
    X(NEW_TOKENS, new_tokens)                                                                                          \
    X(CACHE, cache)                                                                                                    \
    X(CACHE_DTYPE, cache_dtype)                                                                                        \
    X(BEAMS, beams)                                                                                                    \
    X(ATTENTION, attention)                                                                                            \
    X(PADDING, padding)                                                                                                \
    X(OPTIMIZER, optimizer)                                                                                            \
    X(LOSS, loss)                                                                                                      \
    X(LORA_RANK, lora_rank)                                                                                            \
    X(LORA_TARGETS, lora_targets)                                                                                      \
    X(PREPARE_KBIT, prepare_kbit)                                                                                      \
    X(CHECKPOINTING, checkpointing)                                                                                    \
    X(ACCUMULATE, accumulate)                                                                                          \
    X(LOGITS, logits)                                                                                                  \
    X(TF32, tf32)                                                                                                      \
    X(TF32_CONVOLUTIONS, tf32_convolutions)                                                                            \
    X(PLACE, place)                                                                                                    \
    X(CHECKPOINT, checkpoint)                                                                                          \
    X(FIND_BATCH, find_batch)                                                                                          \
    X(HEAD, head)

enum workload_field {
#define WORKLOAD_FIELD_ENUM(name, member) FIELD_##name,
    WORKLOAD_FIELD_TABLE(WORKLOAD_FIELD_ENUM)
#undef WORKLOAD_FIELD_ENUM
        FIELD_COUNT
};

enum workload_field_kind { FIELD_KIND_NAME, FIELD_KIND_COUNT, FIELD_KIND_SWITCH, FIELD_KIND_TEXT };

const char *workload_field_key(enum workload_field field);
enum workload_field_kind workload_field_kind(enum workload_field field);
/* The value: of a name its enumerator, of a switch 0 or 1, of a text 1 where there is one. */
int64_t workload_field_value(const struct workload *workload, enum workload_field field);
/* The name of a value of a field of that kind ("bfloat16", "true"); NULL for a count and a text. */
const char *workload_field_name(enum workload_field field, int64_t value);
/* Of a text; NULL: nothing is said. */
const char *workload_field_text(const struct workload *workload, enum workload_field field);

/* One value of an enumerated field, as the interface spells it. */
const char *mode_name(enum mode mode);
const char *precision_name(enum precision precision);
const char *cache_name(enum cache cache);
const char *cache_dtype_name(enum cache_dtype dtype);
const char *quantize_name(enum quantize quantize);
const char *attention_name(enum attention attention);
const char *optimizer_name(enum optimizer optimizer); /* "none" for OPTIMIZER_NONE */
const char *loss_name(enum loss loss);
const char *lora_targets_name(enum lora_targets targets);
const char *logits_name(enum logits logits);
const char *find_batch_name(enum find_batch find);
const char *head_name(enum head head);

/* The defaults of a mode: float32 (quantised: linear), batch 1, seq 128, sdpa, adamw-fused when training, no
 * adapters, 1 micro-batch; all logits,
 * but the last alone when generating, as transformers does; 32 new tokens, a dynamic cache in the dtype of the keys, 1
 * beam. */
struct workload workload_default(enum mode mode);

/* A field in an error, in the words of the one who reads it (status.h; error NULL: of a suite). By value, so that it
 * can stand among the arguments of status_set. */
struct workload_words {
    char text[64];
};

/* The field alone: "lora_rank", "--lora-rank". */
struct workload_words workload_key_words(const struct status *error, enum workload_field field);

/* With a value, which it has or should have: "lora_rank: 8", "--lora-rank 8". */
struct workload_words workload_value_words(const struct status *error, enum workload_field field, const char *value);

/* The same in the middle of a sentence: "mode train", "--mode train". */
struct workload_words workload_name_words(const struct status *error, enum workload_field field, const char *name);

/* Sets one field, named by its key, from text: a value's name, or an alias of it (workload_alias.h).
 * A text is not copied: it outlives the workload.
 * STATUS_INVALID says what is wrong and lists what would be right; an unknown key is STATUS_INVALID too. */
enum status_code workload_set(struct workload *workload, const char *key, const char *text, struct status *error);

/* Whether weights are stored as bitsandbytes stores them: int8 or int4, and projections alone. */
bool workload_is_bitsandbytes(const struct workload *workload);

/* Whether the fields fit together (an optimizer only when training, ...). STATUS_INVALID with the reason. */
enum status_code workload_check(const struct workload *workload, struct status *error);

#endif
