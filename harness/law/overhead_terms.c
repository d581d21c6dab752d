/* Overhead terms: what of a case each coefficient is multiplied with. Which tensors these are is the tape's affair
 * (models/forward); here only sizes are named. */
#include "harness/law/overhead_terms.h"

#include <string.h>

#define MEBIBYTE 1048576.0

const char *overhead_term_key(enum overhead_term term)
{
    static const char *const keys[] = {
#define OVERHEAD_TERM_KEY(name, key, symbol, unit, words) key,
        OVERHEAD_TERM_TABLE(OVERHEAD_TERM_KEY)
#undef OVERHEAD_TERM_KEY
    };
    return keys[term];
}

const char *overhead_term_symbol(enum overhead_term term)
{
    static const char *const symbols[] = {
#define OVERHEAD_TERM_SYMBOL(name, key, symbol, unit, words) symbol,
        OVERHEAD_TERM_TABLE(OVERHEAD_TERM_SYMBOL)
#undef OVERHEAD_TERM_SYMBOL
    };
    return symbols[term];
}

const char *overhead_term_unit(enum overhead_term term)
{
    static const char *const units[] = {
#define OVERHEAD_TERM_UNIT(name, key, symbol, unit, words) unit,
        OVERHEAD_TERM_TABLE(OVERHEAD_TERM_UNIT)
#undef OVERHEAD_TERM_UNIT
    };
    return units[term];
}

const char *overhead_term_words(enum overhead_term term)
{
    static const char *const texts[] = {
#define OVERHEAD_TERM_WORDS(name, key, symbol, unit, words) words,
        OVERHEAD_TERM_TABLE(OVERHEAD_TERM_WORDS)
#undef OVERHEAD_TERM_WORDS
    };
    return texts[term];
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

const struct moment_terms *overhead_moment_terms(enum overhead_moment moment)
{
    static const struct moment_terms moments[] = {
        [MOMENT_LOGITS] = {4, {TERM_LOGIT_VOCAB, TERM_LOGIT_HIDDEN, TERM_IMAGE, TERM_CONSTANT}},
        [MOMENT_FEED] = {6,
                         {TERM_FEED_HIDDEN, TERM_FEED_WIDTH, TERM_FEED_SCORES, TERM_CACHE, TERM_IMAGE, TERM_CONSTANT}},
        [MOMENT_ATTENTION] = {6,
                              {TERM_ATTENTION_WIDTH, TERM_ATTENTION_SCORES, TERM_ATTENTION_FLOAT, TERM_CACHE,
                               TERM_IMAGE, TERM_CONSTANT}},
        [MOMENT_DECODE] = {5, {TERM_CACHE, TERM_DECODE_LAYER, TERM_DECODE_REPEAT, TERM_IMAGE, TERM_CONSTANT}},
        [MOMENT_END] = {4, {TERM_CACHE, TERM_DECODE_VOCAB, TERM_IMAGE, TERM_CONSTANT}},
    };
    return &moments[moment];
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
        .cached_tokens = !generates                            ? 0.0
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
            row->bytes[moment][TERM_CONSTANT] = MEBIBYTE;
            row->bytes[moment][TERM_IMAGE] = sizes.image * sizes.element;
        }
    }
}

double overhead_row_value(const struct overhead_row *row, const double coefficients[TERM_COUNT],
                          enum overhead_moment *moment)
{
    double highest = 0.0;
    bool found = false;
    for (int at = 0; at < MOMENT_COUNT; at++) {
        const struct moment_terms *terms = overhead_moment_terms((enum overhead_moment)at);
        double sum = 0.0;
        for (int term = 0; term < terms->count; term++) {
            sum += coefficients[terms->terms[term]] * row->bytes[at][terms->terms[term]];
        }
        if (row->has[at] && (!found || sum > highest)) {
            highest = sum;
            *moment = (enum overhead_moment)at;
            found = true;
        }
    }
    return highest;
}
