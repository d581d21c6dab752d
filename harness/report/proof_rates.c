/* Proof rates: counting, and the table of pages. What was tried and found is in the records. */
#include "harness/report/proof_rates.h"
#include "harness/report/page.h"

#include <string.h>

#include "harness/base/size.h"
#include "harness/record/level.h"
#include "harness/record/proof_words.h"
#include "harness/record/quantity.h"
#include "harness/report/escape.h"
#include "harness/report/html_page.h"
#include "harness/report/wording.h"

static const char rates_words[] = "Safe: with exactly the predicted bytes available the case runs. Tight: with one "
                                  "granule less it runs out of memory.";

static enum proof_outcome outcome_read(const struct json *runs)
{
    return json_kind(runs) != JSON_KIND_BOOLEAN ? PROOF_UNKNOWN
           : json_boolean_or(runs, false)       ? PROOF_RUNS
                                                : PROOF_OUT_OF_MEMORY;
}

static int64_t bytes_or_unknown(const struct json *value)
{
    return json_integer_or(value, BYTES_UNKNOWN);
}

static const char *word_of(enum proof_standing standing)
{
    return standing == PROOF_PASS ? "pass" : standing == PROOF_FAIL ? "fail" : "open";
}

bool proof_view_read(struct report *report, const struct json *line, const struct proof_view **proof)
{
    enum proof_standing standing = proof_standing_of(line);
    const struct json *object = json_get(line, "proof"), *limits = json_get(object, "limits");
    *proof = NULL;
    if (standing == PROOF_NONE) {
        return true;
    }
    size_t count = json_count(limits) <= PROOF_RATES_MAXIMUM ? json_count(limits) : PROOF_RATES_MAXIMUM;
    struct proof_view *view = arena_alloc(&report->arena, sizeof *view);
    struct proof_limit *rows = arena_alloc(&report->arena, (count + 1) * sizeof *rows);
    if (view == NULL || rows == NULL) {
        return false;
    }
    bool made = true;
    for (size_t i = 0; i < count; i++) {
        const struct json *limit = json_at(limits, i);
        rows[i] = (struct proof_limit){
            .estimator = report_word(report, json_string_or(json_get(limit, "estimator"), "(no estimator)")),
            .quantity = report_word(report, json_string_or(json_get(limit, "quantity"), "(no quantity)")),
            .outcome = outcome_read(json_get(limit, "runs")),
            .less_outcome = outcome_read(json_get(limit, "less_runs"))};
        made = made && rows[i].estimator != NULL && rows[i].quantity != NULL;
    }
    *view = (struct proof_view){.word = word_of(standing),
                                .least_bytes = bytes_or_unknown(json_get(object, "least_bytes")),
                                .limits = rows,
                                .limit_count = (int)count};
    *proof = view;
    return made;
}

const struct proof_limit *proof_limit_of(const struct proof_view *proof, const char *estimator)
{
    for (int i = 0; proof != NULL && i < proof->limit_count; i++) {
        const struct proof_limit *limit = &proof->limits[i];
        bool is_judged =
            strcmp(estimator, "replay") != 0 || strcmp(limit->quantity, level_peak_key(LEVEL_RESERVED)) == 0;
        if (is_judged && strcmp(limit->estimator, estimator) == 0) {
            return limit;
        }
    }
    return NULL;
}

static struct proof_rate *rate_find(struct proof_rate *rates, int *count, const struct proof_limit *limit)
{
    for (int i = 0; i < *count; i++) {
        if (strcmp(rates[i].estimator, limit->estimator) == 0 && strcmp(rates[i].quantity, limit->quantity) == 0) {
            return &rates[i];
        }
    }
    if (*count == PROOF_RATES_MAXIMUM) {
        return NULL;
    }
    rates[*count] = (struct proof_rate){.estimator = limit->estimator, .quantity = limit->quantity};
    return &rates[(*count)++];
}

bool report_has_proofs(const struct report *report)
{
    struct proof_rate rates[PROOF_RATES_MAXIMUM];
    return proof_rates_make(report, rates) > 0;
}

int proof_rates_make(const struct report *report, struct proof_rate rates[PROOF_RATES_MAXIMUM])
{
    int count = 0;
    for (int index = 0; index < report->case_count; index++) {
        const struct proof_view *proof = report->cases[index].proof;
        for (int i = 0; proof != NULL && i < proof->limit_count; i++) {
            const struct proof_limit *limit = &proof->limits[i];
            struct proof_rate *rate = rate_find(rates, &count, limit);
            if (rate != NULL) {
                rate->known_count += limit->outcome != PROOF_UNKNOWN ? 1 : 0;
                rate->safe_count += limit->outcome == PROOF_RUNS ? 1 : 0;
                rate->unknown_count += limit->outcome == PROOF_UNKNOWN ? 1 : 0;
                rate->less_known_count += limit->less_outcome != PROOF_UNKNOWN ? 1 : 0;
                rate->tight_count += limit->less_outcome == PROOF_OUT_OF_MEMORY ? 1 : 0;
            }
        }
    }
    return count;
}

void proof_rate_append(struct text *text, const struct proof_rate *rate)
{
    text_format(text, "safe in %d of %d case%s", rate->safe_count, rate->known_count,
                rate->known_count == 1 ? "" : "s");
    if (rate->less_known_count > 0) {
        text_format(text, ", tight in %d of %d", rate->tight_count, rate->less_known_count);
    }
    if (rate->unknown_count > 0) {
        text_format(text, ", not known in %d", rate->unknown_count);
    }
}

static void name_append(struct text *text, const struct proof_rate *rate)
{
    text_format(text, "%s ", rate->estimator);
    quantity_words_append(text, rate->quantity);
}

void proof_rates_paragraphs(const struct report *report, int width, struct text *text)
{
    enum { NAME_COLUMNS = 32 };
    struct proof_rate rates[PROOF_RATES_MAXIMUM];
    int count = proof_rates_make(report, rates);
    if (count > 0) {
        text_append(text, "\n");
        paragraph_append(text, rates_words, width, 2, 0);
    }
    for (int i = 0; i < count; i++) {
        struct text line = {0};
        name_append(&line, &rates[i]);
        text_append(&line, ": ");
        proof_rate_append(&line, &rates[i]);
        text_append(text, "  ");
        outside_paragraph_append(text, text_string(&line), width, 4, 2);
        text_release(&line);
    }
}

void proof_rates_describe(const struct report *report, struct page *page)
{
    static const struct page_column columns[] = {
        {.title = "estimator", .kind = CELL_WORD},
        {.title = "figure", .kind = CELL_WORD},
        {.title = "safe", .kind = CELL_PART},
        {.title = "tight", .kind = CELL_PART},
    };
    const unsigned media = MEDIA_READ;
    struct proof_rate rates[PROOF_RATES_MAXIMUM];
    int count = proof_rates_make(report, rates);
    if (count == 0) {
        return;
    }
    page_link_heading(page, media, "limits", "Estimates as limits");
    page_words(page, BLOCK_NOTE, media, rates_words);
    struct page_table *table = page_table_add(page, media, columns, 4);
    for (int i = 0; i < count; i++) {
        struct text quantity = {0};
        quantity_words_append(&quantity, rates[i].quantity);
        const struct cell cells[] = {cell_word(rates[i].estimator), cell_word(page_word_move(page, &quantity)),
                                     cell_part(rates[i].safe_count, rates[i].known_count),
                                     cell_part(rates[i].tight_count, rates[i].less_known_count)};
        page_row_add(page, table, cells);
    }
}

struct json *proof_rates_json(const struct report *report)
{
    struct proof_rate rates[PROOF_RATES_MAXIMUM];
    struct json *value = json_array_new();
    int count = proof_rates_make(report, rates);
    bool made = value != NULL;
    for (int i = 0; made && i < count; i++) {
        struct json *row = json_object_new();
        bool set = json_set(row, "estimator", json_string_new(rates[i].estimator)) &&
                   json_set(row, "quantity", json_string_new(rates[i].quantity)) &&
                   json_set(row, "tried", json_integer_new(rates[i].known_count)) &&
                   json_set(row, "safe", json_integer_new(rates[i].safe_count)) &&
                   json_set(row, "tried_less", json_integer_new(rates[i].less_known_count)) &&
                   json_set(row, "tight", json_integer_new(rates[i].tight_count)) &&
                   json_set(row, "unknown", json_integer_new(rates[i].unknown_count));
        made = json_append(value, json_made(row, set));
    }
    return json_made(value, made);
}
