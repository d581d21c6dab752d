/* Weights rule view: the page as plain C, for its writers (weights_rule_*.c). Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_WEIGHTS_RULE_VIEW_H
#define ASSAY_REPORT_WEIGHTS_RULE_VIEW_H

#include "harness/report/counted_cases.h"
#include "harness/report/table_cell.h"
#include "harness/report/weights_rule.h"
#include "harness/report/wording.h"

enum rule_word { RULE_TOO_LITTLE, RULE_CLOSE, RULE_WASTEFUL, RULE_WORD_COUNT };

/* What each of them means, "too little", and the sign behind a figure. */
extern const struct cell_judgement rule_judgements[RULE_WORD_COUNT];

/* One case. */
struct rule_cell {
    const struct counted_case *one;
    const char *series;
    int64_t batch, seq, new_tokens; /* seq 0: images; new_tokens 0: none */
    int64_t tokens;                 /* batch * beams * (seq + new_tokens); of images the batch */
    double ratio;                   /* peak / weights */
    enum rule_word word;
};

enum { TOKENS_NONE = -1 };

/* Cases that differ in batch and tokens alone: one model, precision, attention, ... */
struct rule_series {
    const char *title; /* "bert-base-cased float32 eager", "... (replayed for sm_90)" */
    bool meta;         /* replayed, not measured */
    bool is_image;
    const struct rule_cell *cells; /* by tokens, then by batch */
    int cell_count;
    int64_t enough_tokens;     /* the most with which, and below which, every case is enough; TOKENS_NONE */
    int64_t too_little_tokens; /* the fewest with which a case is too little; TOKENS_NONE */
    int64_t crossing_tokens;   /* where the line between these two crosses the factor; TOKENS_NONE: not both known */
    bool is_mixed; /* a case with more tokens than too_little_tokens is enough: tokens alone do not decide */
};

/* How many cases there are of each word. */
struct rule_totals {
    int case_count, word_count[RULE_WORD_COUNT]; /* enough: the close ones and the wasteful */
};

struct weights_rule {
    struct arena arena;
    struct counted_cases counted;
    const char *provenance, *title; /* of captions and pages (provenance.h) */
    double factor, wasteful;
    struct rule_cell *cells;
    int cell_count;
    struct rule_series *series; /* measured before replayed, then by title */
    int series_count;
    struct rule_totals measured, predicted;
};

/* "1.2 x weights is enough for 31 of 45 measured cases (69 %), close for 19 and wasteful for 12 of these". Nothing
 * if there are none. */
void rule_totals_append(struct text *text, const struct weights_rule *rule, const struct rule_totals *totals,
                        const char *kind);

/* ", 12 of these are inference", behind the count of rows; nothing if none is. */
void rule_inference_append(struct text *text, const struct weights_rule *rule);

/* "enough up to 512 tokens, too little from 2048 on; the line between them crosses at about 1310". */
void rule_boundary_append(struct text *text, const struct rule_series *series);

/* What the page counts and what its marks mean: sentences. */
void rule_explanation_append(struct text *text, const struct weights_rule *rule);

/* One column of a grid: cases with the same length. The columns of a series, ascending; at most maximum of them, from
 * the arena; returns how many, or -1 if memory ran out. */
struct rule_column {
    int64_t seq, new_tokens;
};
int rule_columns_find(const struct rule_series *series, struct arena *arena, struct rule_column **columns);

/* "512", "512+32", "images". Returns text. */
const char *rule_column_word(const struct rule_column *column, char text[WORDING_BYTES]);

/* The batches of a series, ascending, from the arena; returns how many, or -1 if memory ran out. */
int rule_batches_find(const struct rule_series *series, struct arena *arena, int64_t **batches);

/* The case of a series at a batch and a length; NULL: there is none. */
const struct rule_cell *rule_cell_find(const struct rule_series *series, int64_t batch,
                                       const struct rule_column *column);

/* What programs read, as its page calls them (page_format.h). */
void weights_rule_csv_write(const void *rule, const struct report_style *style, struct text *text);
struct json *weights_rule_json(const void *rule);

#endif
