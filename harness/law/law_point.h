/* Law point: one measured case of inference, with the numbers of its model: what a law of memory is fitted to.
 *
 * From records, whose models are looked up by their names (harness/law/law_points.h), or from a table of points, which
 * has the numbers too (points_table.h): then nothing else is needed. */
#ifndef ASSAY_LAW_LAW_POINT_H
#define ASSAY_LAW_LAW_POINT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/case/workload.h"
#include "models/config/config.h"

enum { POINT_BYTES_UNKNOWN = -1 };

/* X(member, heading in a table of points): texts. */
#define LAW_POINT_TEXTS(X)                                                                                             \
    X(model, "model")         /* as the case names it */                                                               \
    X(kind, "kind")           /* its type: "llama", "falcon/grouped" */                                                \
    X(target, "target")       /* class of the device, as a tape has it: "host", "sm_90" */                             \
    X(program, "program")     /* that was measured: "assay", "PyTorch 2.1" */                                          \
    X(mode, "mode")           /* "infer", "generate" */                                                                \
    X(precision, "precision") /* "float32", "float16", "bfloat16" */                                                   \
    X(attention, "attention") /* "sdpa", "eager": what the class does, whatever was asked; "none" */                   \
    X(logits, "logits")       /* "all", "last"; "none": without logits over the vocabulary */                          \
    X(cache, "cache")         /* "none", "dynamic", "static"; of a pass that returns one, "dynamic" */

/* X(member, heading): what is known of a case before it is measured: counts, and the bytes of the weights. */
#define LAW_POINT_SIZES(X)                                                                                             \
    X(batch, "batch")                                                                                                  \
    X(seq, "seq") /* tokens of the prompt; of an image its patches and the class */                                    \
    X(new_tokens, "new_tokens")                                                                                        \
    X(hidden, "hidden")                                                                                                \
    X(width, "width")         /* of all query heads together */                                                        \
    X(cached_width, "cached") /* of the heads of keys as a cache keeps them */                                         \
    X(heads, "heads")                                                                                                  \
    X(layers, "layers")                                                                                                \
    X(ffn, "ffn")               /* of a feed-forward; of experts that of one, times how many a token takes */          \
    X(vocab, "vocab")           /* 0: it has no logits over tokens */                                                  \
    X(image_values, "image")    /* numbers of one image; 0: text */                                                    \
    X(weights_bytes, "weights") /* parameters and buffers after loading */

/* Bytes, POINT_BYTES_UNKNOWN where they are not known. */
#define LAW_POINT_MEASURED(X)                                                                                          \
    X(pass_bytes, "pass")     /* requested: highest of the pass, or of the prompt's */                                 \
    X(decode_bytes, "decode") /* requested: highest while tokens were generated */                                     \
    X(allocated_bytes, "allocated")                                                                                    \
    X(footprint_bytes, "footprint") /* of the device, or of the process, context and all; less what others held */

#define LAW_POINT_NUMBERS(X) LAW_POINT_SIZES(X) LAW_POINT_MEASURED(X)

struct law_point {
#define LAW_POINT_TEXT(member, heading) const char *member;
    LAW_POINT_TEXTS(LAW_POINT_TEXT)
#undef LAW_POINT_TEXT
#define LAW_POINT_NUMBER(member, heading) int64_t member; /* of bytes: POINT_BYTES_UNKNOWN */
    LAW_POINT_NUMBERS(LAW_POINT_NUMBER)
#undef LAW_POINT_NUMBER
    const char *source; /* the operand that it was read from */
    bool is_repeat;     /* another source has the same case, figure for figure */
};

/* Bytes of a number that is computed with; 0: no moment has terms for the precision (quantised, autocast). */
int law_element_bytes(const char *precision);

/* Why no moment has terms for a model ("experts"); NULL: they have. Static. */
const char *law_point_obstacle(const struct config *config);

/* The numbers of a model that moments have terms for, its kind and its attention (asked for: "sdpa" or "eager").
 * False: a size is beyond 63 bits. Texts are static or config's. */
bool law_point_model(const struct config *config, const char *attention, struct law_point *point);

/* Whether it was measured on a GPU, and tests a law; else a host replayed it, and a law is fitted to it. */
bool law_point_is_test(const struct law_point *point);

/* batch x (seq + new_tokens): the tokens that lie in memory at the end. A batch of 8 and 512 tokens each may lie within
 * what was measured of batches and of lengths, and their 4096 tokens beyond it. INT64_MAX: beyond 63 bits. */
int64_t law_point_tokens(const struct law_point *point);

#endif
