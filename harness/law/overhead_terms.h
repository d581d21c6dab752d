/* Overhead terms: the structural law of inference, term by term.
 *
 * peak = weights + the highest of the moments + what the allocator rounds up. A moment is a time at which much is
 * alive, a sum of a few terms, each of which is a number that follows from the case times a coefficient that is fitted:
 *
 *   logits      the head writes T x V numbers                            (infer, logits of all tokens)
 *   feed        a feed-forward network works; in generation all caches are there already
 *   attention   attention works
 *   decode      a step of generation copies a cache that grows by one token
 *   decode end  a step of generation makes a row of logits
 *
 * T = batch x seq tokens of the pass, H hidden size, A width of all query heads, F width of the feed-forward, V
 * vocabulary, h heads, S seq, B batch, e bytes of a number, C numbers of keys and values of a token, all layers, N
 * batch x (seq + new tokens).
 *
 * Worked: LLaMA-like with H = 512, F = 1376 in float32, batch 1, seq 256, logits of the last token: the feed-forward
 * moment holds (4 x 512 + 3 x 1376) x 256 x 4 = 6,324,224 bytes beside the weights with coefficients 4 and 3. */
#ifndef ASSAY_LAW_OVERHEAD_TERMS_H
#define ASSAY_LAW_OVERHEAD_TERMS_H

#include <stdbool.h>

#include "harness/law/law_point.h"

/* X(NAME, key in files, symbol of its coefficient, what it is multiplied with, words). */
#define OVERHEAD_TERM_TABLE(X)                                                                                         \
    X(LOGIT_VOCAB, "logit_vocab", "a", "T V e", "logits of every token")                                               \
    X(LOGIT_HIDDEN, "logit_hidden", "b", "T H e", "beside the logits")                                                 \
    X(FEED_HIDDEN, "feed_hidden", "c", "T H e", "feed-forward: residual stream, norms, output")                        \
    X(FEED_WIDTH, "feed_width", "d", "T F e", "feed-forward: its width")                                               \
    X(FEED_SCORES, "feed_scores", "f", "B h S^2 e", "scores that are still alive there (eager)")                       \
    X(ATTENTION_WIDTH, "attention_width", "g", "T (H+A) e", "attention: stream, queries, keys, values")                \
    X(ATTENTION_SCORES, "attention_scores", "s", "B h S^2 e", "attention: scores (eager)")                             \
    X(ATTENTION_FLOAT, "attention_float", "t", "B h S^2 4", "attention: scores in float32 (eager, 16 bits)")           \
    X(CACHE, "cache", "k", "C N e", "keys and values of all layers")                                                   \
    X(DECODE_LAYER, "decode_layer", "l", "C/layers N e", "a layer's cache, copied to grow")                            \
    X(DECODE_REPEAT, "decode_repeat", "r", "N A e", "keys and values repeated for every head (eager)")                 \
    X(DECODE_VOCAB, "decode_vocab", "v", "B V e", "a row of logits for each sequence")                                 \
    X(IMAGE, "image", "i", "B pixels e", "the images")

enum overhead_term {
#define OVERHEAD_TERM_ENUM(name, key, symbol, unit, words) TERM_##name,
    OVERHEAD_TERM_TABLE(OVERHEAD_TERM_ENUM)
#undef OVERHEAD_TERM_ENUM
        TERM_COUNT
};

struct overhead_term_words {
    const char *key, *symbol, *unit, *words;
};

const struct overhead_term_words *overhead_term_words(enum overhead_term term);

/* X(NAME, key). */
#define OVERHEAD_MOMENT_TABLE(X)                                                                                       \
    X(LOGITS, "logits") X(FEED, "feed-forward") X(ATTENTION, "attention") X(DECODE, "decode") X(END, "decode end")

enum overhead_moment {
#define OVERHEAD_MOMENT_ENUM(name, key) MOMENT_##name,
    OVERHEAD_MOMENT_TABLE(OVERHEAD_MOMENT_ENUM)
#undef OVERHEAD_MOMENT_ENUM
        MOMENT_COUNT
};

const char *overhead_moment_name(enum overhead_moment moment);

/* Which part of a case a row is of: stages are counted apart, so that each is a row if it is known apart. */
enum overhead_part { PART_WHOLE, PART_PASS, PART_DECODE };

/* What the coefficients of each moment are multiplied with, in bytes. */
struct overhead_row {
    bool has[MOMENT_COUNT];
    double bytes[MOMENT_COUNT][TERM_COUNT];
};

void overhead_row_make(const struct law_point *point, enum overhead_part part, struct overhead_row *row);

/* The highest moment by coefficients, and its bytes. Every row has one. */
double overhead_row_value(const struct overhead_row *row, const double coefficients[TERM_COUNT],
                          enum overhead_moment *moment);

/* What a loop that keeps its outputs holds of the pass before, beside every moment: its logits, or the last hidden
 * state of a model without a head, and its cache. */
double overhead_kept_bytes(const struct law_point *point);

/* How many of each tensor classes of transformers hold at once, as one reads them in their code: which moment is the
 * highest of a case follows from a reading, so that the fit of each reading is a convex problem. A kind of model takes
 * the reading whose fit has the least error (overhead_law.h). Row number index, NULL past the end. */
const double *overhead_reading(int index);

#endif
