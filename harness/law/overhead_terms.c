/* Overhead terms: what of a case each coefficient is multiplied with. Which tensors these are is the tape's affair
 * (models/forward); here only sizes are named. */
#include "harness/law/overhead_terms.h"

#include <string.h>

const struct overhead_term_words *overhead_term_words(enum overhead_term term)
{
    static const struct overhead_term_words rows[] = {
#define OVERHEAD_TERM_WORDS(name, key, symbol, unit, words) {key, symbol, unit, words},
        OVERHEAD_TERM_TABLE(OVERHEAD_TERM_WORDS)
#undef OVERHEAD_TERM_WORDS
    };
    return &rows[term];
}

const char *overhead_moment_name(enum overhead_moment moment)
{
    static const char *const names[] = {
#define OVERHEAD_MOMENT_NAME(name, key) key,
        OVERHEAD_MOMENT_TABLE(OVERHEAD_MOMENT_NAME)
#undef OVERHEAD_MOMENT_NAME
    };
    return names[moment];
}

/* logits a b, feed-forward c d f, attention g s t; the others differ too little between classes to move a moment. */
#define READING(a, b, c, d, f, g, s, t)                                                                                \
    {                                                                                                                  \
        [TERM_LOGIT_VOCAB] = a, [TERM_LOGIT_HIDDEN] = b, [TERM_FEED_HIDDEN] = c, [TERM_FEED_WIDTH] = d,                \
        [TERM_FEED_SCORES] = f, [TERM_ATTENTION_WIDTH] = g, [TERM_ATTENTION_SCORES] = s, [TERM_ATTENTION_FLOAT] = t,   \
        [TERM_CACHE] = 1.0, [TERM_DECODE_LAYER] = 0.5, [TERM_DECODE_REPEAT] = 1.5, [TERM_DECODE_VOCAB] = 3.0,          \
        [TERM_IMAGE] = 1.0                                                                                             \
    }

const double *overhead_reading(int index)
{
    static const double readings[][TERM_COUNT] = {
        READING(1, 2, 3, 2, 1, 2.5, 2, 0),   /* BERT */
        READING(1, 1, 4, 2, 1, 3, 2, 1.5),   /* a feed-forward without a gate: GPT-NeoX, OPT, ViT */
        READING(1, 1, 4, 2, 2, 3, 4, 0),     /* Falcon */
        READING(1, 2, 8, 1.5, 2, 4, 4, 0),   /* Falcon with grouped projections */
        READING(1, 1, 12, 3, 2, 5, 4, 1.5),  /* BLOOM */
        READING(1, 1, 4, 3, 1, 3.5, 2, 1.5), /* a feed-forward with a gate: LLaMA, Mistral, Qwen */
        READING(2, 1, 4, 3, 1, 3.5, 2, 1.5), /* logits are capped in a copy: Gemma 2 */
        READING(1, 1, 5, 4, 1, 4.5, 2, 1.5), /* gate and width in one product: Phi-3 */
        READING(1, 1, 5, 4, 1, 4.5, 2, 0),   /* GPT-2 */
        READING(1, 1, 5, 4, 2, 4.5, 3, 1),   /* GPT-Neo */
    };
    return index >= 0 && index < (int)(sizeof readings / sizeof readings[0]) ? readings[index] : NULL;
}

/* The numbers of a case that several terms share. */
struct sizes {
    double batch, tokens, element, hidden, width, scores, image;
    double token_cache;   /* numbers of keys and values of a token, of all layers */
    double cached_tokens; /* of a static cache it is all from the beginning on */
    double all_tokens;    /* at the end of a generation */
    bool is_eager, generates;
};

static struct sizes sizes_of(const struct law_point *point)
{
    double batch = (double)point->batch, seq = (double)point->seq, new_tokens = (double)point->new_tokens;
    bool generates = strcmp(point->mode, "generate") == 0;
    return (struct sizes){
        .batch = batch,
        .tokens = batch * seq,
        .element = law_element_bytes(point->precision),
        .hidden = (double)point->hidden,
        .width = (double)point->width,
        .scores = batch * (double)point->heads * seq * seq,
        .image = batch * (double)point->image_values,
        .token_cache = 2.0 * (double)point->layers * (double)point->cached_width,
        .cached_tokens = strcmp(point->cache, "none") == 0     ? 0.0
                         : strcmp(point->cache, "static") == 0 ? batch * (seq + new_tokens)
                                                               : batch * seq,
        .all_tokens = batch * (seq + new_tokens),
        .is_eager = strcmp(point->attention, "eager") == 0,
        .generates = generates,
    };
}

static void pass_fill(const struct law_point *point, const struct sizes *sizes, struct overhead_row *row)
{
    double *feed = row->bytes[MOMENT_FEED], *attention = row->bytes[MOMENT_ATTENTION];
    double scores = sizes->is_eager ? sizes->scores : 0.0;
    double cache = sizes->token_cache * sizes->cached_tokens * sizes->element;
    row->has[MOMENT_FEED] = row->has[MOMENT_ATTENTION] = true;
    feed[TERM_FEED_HIDDEN] = sizes->tokens * sizes->hidden * sizes->element;
    feed[TERM_FEED_WIDTH] = sizes->tokens * (double)point->ffn * sizes->element;
    feed[TERM_FEED_SCORES] = scores * sizes->element;
    attention[TERM_ATTENTION_WIDTH] = sizes->tokens * (sizes->hidden + sizes->width) * sizes->element;
    attention[TERM_ATTENTION_SCORES] = scores * sizes->element;
    attention[TERM_ATTENTION_FLOAT] = sizes->element < 4.0 ? scores * 4.0 : 0.0;
    feed[TERM_CACHE] = attention[TERM_CACHE] = cache;
    if (!sizes->generates && point->vocab > 0 && strcmp(point->logits, "all") == 0) {
        row->has[MOMENT_LOGITS] = true;
        row->bytes[MOMENT_LOGITS][TERM_LOGIT_VOCAB] = sizes->tokens * (double)point->vocab * sizes->element;
        row->bytes[MOMENT_LOGITS][TERM_LOGIT_HIDDEN] = sizes->tokens * sizes->hidden * sizes->element;
        row->bytes[MOMENT_LOGITS][TERM_CACHE] = cache;
    }
}

static void decode_fill(const struct law_point *point, const struct sizes *sizes, struct overhead_row *row)
{
    double cache = sizes->token_cache * sizes->all_tokens * sizes->element;
    double *decode = row->bytes[MOMENT_DECODE], *end = row->bytes[MOMENT_END];
    row->has[MOMENT_DECODE] = row->has[MOMENT_END] = true;
    decode[TERM_CACHE] = end[TERM_CACHE] = cache;
    decode[TERM_DECODE_LAYER] = strcmp(point->cache, "static") == 0 ? 0.0 : cache / (double)point->layers;
    decode[TERM_DECODE_REPEAT] = sizes->is_eager ? sizes->all_tokens * sizes->width * sizes->element : 0.0;
    end[TERM_DECODE_VOCAB] = sizes->batch * (double)point->vocab * sizes->element;
}

void overhead_row_make(const struct law_point *point, enum overhead_part part, struct overhead_row *row)
{
    struct sizes sizes = sizes_of(point);
    *row = (struct overhead_row){0};
    if (part != PART_DECODE) {
        pass_fill(point, &sizes, row);
    }
    if (part != PART_PASS && sizes.generates) {
        decode_fill(point, &sizes, row);
    }
    for (int moment = 0; moment < MOMENT_COUNT; moment++) {
        if (row->has[moment]) {
            row->bytes[moment][TERM_IMAGE] = sizes.image * sizes.element;
        }
    }
}

double overhead_row_value(const struct overhead_row *row, const double coefficients[TERM_COUNT],
                          enum overhead_moment *moment)
{
    double highest = -1.0;
    for (int at = 0; at < MOMENT_COUNT; at++) {
        double sum = 0.0;
        for (int term = 0; term < TERM_COUNT; term++) {
            sum += coefficients[term] * row->bytes[at][term];
        }
        if (row->has[at] && sum > highest) {
            highest = sum;
            *moment = (enum overhead_moment)at;
        }
    }
    return highest;
}

double overhead_kept_bytes(const struct law_point *point)
{
    struct sizes sizes = sizes_of(point);
    double outputs = strcmp(point->logits, "none") == 0   ? sizes.tokens * sizes.hidden
                     : strcmp(point->logits, "last") == 0 ? sizes.batch * (double)point->vocab
                                                          : sizes.tokens * (double)point->vocab;
    return (outputs + sizes.token_cache * sizes.cached_tokens) * sizes.element;
}
