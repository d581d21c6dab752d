/* Release: what other releases of transformers, torch and bitsandbytes do otherwise than those that the tape follows,
 * as far as it changes bytes. One register for all, in release.c: each row a habit, the releases that have it, the
 * model types, and the place in the library's source where it stands.
 *
 * The tape follows transformers 5.23, torch 2.11 and bitsandbytes 0.50. A case that names no release has none of these
 * habits.
 */
#ifndef ASSAY_CASE_RELEASE_H
#define ASSAY_CASE_RELEASE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/status.h"

struct workload;

enum release_library { LIBRARY_TRANSFORMERS, LIBRARY_TORCH, LIBRARY_BITSANDBYTES, LIBRARY_COUNT };

/* X(NAME, what such a release does) */
#define RELEASE_HABIT_TABLE(X)                                                                                         \
    X(EAGER_ALONE, "the class has no fused attention, and so it is the eager form whatever the case says")             \
    X(LOGITS_FLOAT32, "logits are cast to float32 behind the head, with labels and without")                           \
    X(ALL_LOGITS, "the forward pass computes the logits of all rows, that of a prompt too")                            \
    X(LOSS_SHIFTS_LOGITS, "the loss copies all logits but those of the last row, instead of padding the labels")       \
    X(LOSS_IN_DTYPE, "the loss is taken in the dtype of the logits")                                                   \
    X(LOSS_REBINDS_LOGITS, "the loss casts logits to float32 under their own name, which lets the narrower ones go")   \
    X(OUTPUTS_KEPT, "generate() keeps the outputs of a pass until the next one has returned")                          \
    X(CACHE_KEPT, "a pass makes new keys and values of all layers before the old ones are given back")                 \
    X(CACHE_TAKES_STATES, "a dynamic cache takes the keys and values of its first pass themselves, not copies")        \
    X(CACHE_WITHOUT_WINDOWS, "a dynamic cache keeps the keys and values of all tokens, of layers with a window too")   \
    X(CACHE_AS_TUPLES, "a pass returns keys and values as tuples, which accelerate copies to float32 with the logits") \
    X(SCORES_VIEW, "generate() takes the scores of a token as a view of the logits, without a copy")                   \
    X(LOGITS_CLONED, "generate() copies the logits of all rows before it takes the last one")                          \
    X(SCORES_IN_DTYPE, "generate() copies the scores of a token in the dtype of the logits")                           \
    X(ROTARY_INDEXED, "each layer looks its cosines and sines up in buffers of all positions")                         \
    X(ROTARY_IN_LAYERS, "each layer computes its own cosines and sines")                                               \
    X(HEADS_REPEATED_BEFORE, "each layer repeats keys and values for all heads, under their own names")                \
    X(HEADS_REPEATED, "fused attention is given keys and values repeated for all heads")                               \
    X(HEADS_CONTIGUOUS, "fused attention is given contiguous copies of queries, keys and values")                      \
    X(WEIGHTS_DROPPED, "the eager form's attention returns without the weights, which a layer then does not keep")     \
    X(PACKING_UNASKED, "nobody asks whether rows are packed sequences")                                                \
    X(MASK_IN_FULL, "fused attention is given a mask that is made of one of all positions (refused: not modelled)")    \
    X(LINEAR_WORKSPACE_PASSING, "cublasLt's workspace is taken and given back by every linear layer with a bias")      \
    X(PACKED_BIASES, "every layer of GPTQ has a bias, of zeros where the model has none")                              \
    X(PACKED_PARTS, "AWQ's gemm layer sums eight parts however many rows there are, and never dequantises a weight")   \
    X(CUDNN_ATTENTION_LAST, "fused attention does not ask cuDNN first on the GPUs where later releases do")            \
    X(FLASH_COUNTS_ONCE, "flash attention counts a multiprocessor once, not twice, where it divides columns")          \
    X(FLASH_UNDIVIDED, "flash attention never divides columns among blocks")                                           \
    X(EMBEDDING_PARTS_SUMMED, "the gradient of a lookup of few rows sums its parts, and does not add them at once")    \
    X(MEAN_KEEPS_INPUT, "a mean along dimensions keeps what it summed for the backward pass: the squares of RMSNorm")  \
    X(INPUTS_KEPT, "a layer with 4-bit weights keeps its input for the backward pass")                                 \
    X(WEIGHTS_HALVED, "4-bit weights are dequantised in float16, and then cast to the dtype of the input")             \
    X(SCALE_MAP_SHARED, "all weights that are quantised twice share one map, and their scales are centred in place")   \
    X(ROWS_UNFUSED, "only a single row is multiplied out of 4-bit codes, after double quantised scales are read")

enum release_habit {
#define RELEASE_HABIT_ENUM(name, ...) RELEASE_##name,
    RELEASE_HABIT_TABLE(RELEASE_HABIT_ENUM)
#undef RELEASE_HABIT_ENUM
        RELEASE_HABIT_COUNT
};

struct release_change {
    enum release_habit habit;
    enum release_library library;
    int since, until;        /* 4045 is 4.45; in force from since, which 0 leaves out, up to but not in until */
    const char *model_types; /* words; NULL: all */
    const char *source;      /* where the library's source has it */
};

/* Row number index of the register, NULL past the end. */
const struct release_change *release_change_at(size_t index);
/* "logits are cast to float32 ..." */
const char *release_habit_text(enum release_habit habit);
/* "transformers" */
const char *release_library_name(enum release_library library);

/* The releases of a field's text, "transformers=4.38.2+torch=2.1", by library: 4038 for 4.38, 4.38.2 and 4.38.0.dev0.
 * INT_MAX: the text does not name the library, or is NULL; the newest. The text has been checked. */
struct release_numbers {
    int of[LIBRARY_COUNT];
};
struct release_numbers release_numbers_of(const char *text);

/* Whether the text names no release of the library, or the one that the tape follows. */
bool release_is_followed(const char *text, enum release_library library);

/* That a field's text names releases between the first of the register and the one that the tape follows, each library
 * once and in the order of the enum, so that a case has one spelling. STATUS_INVALID says which they are. */
enum status_code release_text_check(const char *text, struct status *error);

/* Whether the releases of the case do so with this model type. */
bool release_has(const struct workload *workload, const char *model_type, enum release_habit habit);

/* All answers of release_has for a case and a model type, for who asks at every layer of every token. */
struct release_habits {
    bool has[RELEASE_HABIT_COUNT];
};
struct release_habits release_habits_of(const struct workload *workload, const char *model_type);

#endif
