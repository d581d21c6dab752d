/* Weights rule page: what the rule says, described once for every format for people: a grid of batch by length for each
 * series. Its figures are made in weights_rule.c, what programs read in weights_rule_document.c. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/report/page_format.h"
#include "harness/report/report_page.h"
#include "harness/report/weights_rule_view.h"

enum { CORNER_COLUMNS = 16, CELL_COLUMNS = 10, FACTOR_MAXIMUM = 1000 };

/* ---- grids ---- */

static struct cell ratio_cell(const struct rule_cell *cell)
{
    if (cell == NULL) {
        return (struct cell){.known = false};
    }
    return (struct cell){.known = true, .real = cell->ratio, .judgement = &rule_judgements[cell->word]};
}

static void grid_rows_add(struct page *page, struct page_table *table, const struct rule_series *series,
                          const struct rule_column *columns)
{
    int64_t *batches = NULL;
    int batch_count = rule_batches_find(series, &page->arena, &batches);
    struct cell *cells = arena_alloc(&page->arena, (size_t)table->column_count * sizeof *cells);
    page->failed = page->failed || batch_count < 0 || cells == NULL;
    for (int row = 0; cells != NULL && row < batch_count; row++) {
        cells[0] = cell_count(batches[row]);
        for (int at = 1; at < table->column_count; at++) {
            cells[at] = ratio_cell(rule_cell_find(series, batches[row], &columns[at - 1]));
        }
        page_row_add(page, table, cells);
    }
}

static void grid_describe(struct page *page, const struct rule_series *series)
{
    char word[WORDING_BYTES];
    struct rule_column *lengths = NULL;
    int count = rule_columns_find(series, &page->arena, &lengths);
    struct page_column *columns = count >= 0 ? arena_alloc(&page->arena, ((size_t)count + 1) * sizeof *columns) : NULL;
    if (columns == NULL) {
        page->failed = true;
        return;
    }
    columns[0] = (struct page_column){.title = "batch",
                                      .short_title = series->is_image ? "batch" : "batch \\ length",
                                      .kind = CELL_COUNT,
                                      .width = CORNER_COLUMNS};
    for (int at = 0; at < count; at++) {
        columns[at + 1] = (struct page_column){
            .title = page_word(page, rule_column_word(&lengths[at], word)), .kind = CELL_JUDGED, .width = CELL_COLUMNS};
    }
    struct page_table *table = page_table_add(page, MEDIUM_ALL, columns, count + 1);
    table->is_split = true;
    if (!page->failed) {
        grid_rows_add(page, table, series, lengths);
    }
}

/* A terminal has the boundary in its heading, a document in a table of all. */
static void series_describe(struct page *page, const struct weights_rule *rule, int index)
{
    const struct rule_series *series = &rule->series[index];
    struct text boundary = {0};
    rule_boundary_append(&boundary, series);
    page_say(page, BLOCK_HEADING, MEDIUM_TERMINAL, "%s: %s", series->title, text_string(&boundary));
    page_words(page, BLOCK_SUBHEADING, MEDIUM_DOCUMENT, series->title);
    page_anchored_heading(page, MEDIUM_SCREEN, "series", index, series->title);
    page_words_move(page, BLOCK_NOTE, MEDIUM_SCREEN, &boundary);
    grid_describe(page, series);
}

/* ---- what is over all series ---- */

static void boundaries_describe(struct page *page, const struct weights_rule *rule)
{
    static const struct page_column columns[] = {
        {.title = "model", .kind = CELL_WORD},       {.title = "cases", .kind = CELL_COUNT},
        {.title = "too little", .kind = CELL_COUNT}, {.title = "close", .kind = CELL_COUNT},
        {.title = "wasteful", .kind = CELL_COUNT},   {.title = "boundary", .kind = CELL_WORD},
    };
    page_words(page, BLOCK_HEADING, MEDIUM_DOCUMENT, "Where it stops");
    struct page_table *table = page_table_add(page, MEDIUM_DOCUMENT, columns, 6);
    for (int index = 0; index < rule->series_count; index++) {
        const struct rule_series *series = &rule->series[index];
        struct text boundary = {0};
        int word_count[RULE_WORD_COUNT] = {0};
        for (int at = 0; at < series->cell_count; at++) {
            word_count[series->cells[at].word]++;
        }
        rule_boundary_append(&boundary, series);
        const struct cell cells[] = {cell_word(series->title),
                                     cell_count(series->cell_count),
                                     cell_count(word_count[RULE_TOO_LITTLE]),
                                     cell_count(word_count[RULE_CLOSE]),
                                     cell_count(word_count[RULE_WASTEFUL]),
                                     cell_word(page_word_move(page, &boundary))};
        page_row_add(page, table, cells);
    }
}

static void totals_describe(struct page *page, const struct weights_rule *rule, const struct rule_totals *totals,
                            const char *kind)
{
    struct text line = {0};
    rule_totals_append(&line, rule, totals, kind);
    if (line.length > 0) {
        page_words(page, BLOCK_LEAD, MEDIUM_TERMINAL | MEDIUM_SCREEN, text_string(&line));
    }
    page_words_move(page, BLOCK_ITEM, MEDIUM_DOCUMENT, &line);
}

/* lead, the rows that count, end. */
static void counted_describe(struct page *page, const struct weights_rule *rule, unsigned media, const char *lead,
                             const char *end)
{
    struct text line = {0};
    text_append(&line, lead);
    counted_cases_append(&line, &rule->counted);
    rule_inference_append(&line, rule);
    text_append(&line, end);
    page_words_move(page, media == MEDIUM_SCREEN ? BLOCK_NOTE : BLOCK_LEAD, media, &line);
}

static void head_describe(struct page *page, const struct weights_rule *rule)
{
    struct text line = {0};
    text_format(&line, "Is %g x weights enough for inference?", rule->factor);
    page_words(page, BLOCK_TITLE, MEDIUM_DOCUMENT, text_string(&line));
    text_append(&line, " ");
    counted_describe(page, rule, MEDIUM_TERMINAL, text_string(&line), "");
    text_append(&line, rule->title);
    page_words(page, BLOCK_TITLE, MEDIUM_SCREEN, text_string(&line));
    text_release(&line);
    text_format(&line, "%s%s", rule->provenance, rule->provenance[0] != '\0' ? "; " : "");
    counted_describe(page, rule, MEDIUM_DOCUMENT, text_string(&line), ".");
    counted_describe(page, rule, MEDIUM_SCREEN, "", ".");
    page->failed = page->failed || line.failed;
    text_release(&line);
    if (rule->provenance[0] != '\0') {
        page_words(page, BLOCK_LEAD, MEDIUM_TERMINAL, rule->provenance);
    }
}

static void provenance_describe(struct page *page, const struct weights_rule *rule)
{
    if (rule->provenance[0] != '\0') {
        page_words(page, BLOCK_NOTE, MEDIUM_SCREEN, rule->provenance);
    }
}

static void rule_describe(const void *subject, struct page *page)
{
    static const char nothing[] = "Nothing to judge: no row that counts is inference with known weights.";
    const struct weights_rule *rule = subject;
    struct text words = {0};
    head_describe(page, rule);
    if (weights_rule_is_empty(rule)) {
        page_words(page, BLOCK_TEXT, MEDIUM_TERMINAL | MEDIUM_DOCUMENT, nothing);
        page_words(page, BLOCK_NOTE, MEDIUM_SCREEN, nothing);
        provenance_describe(page, rule);
        return;
    }
    totals_describe(page, rule, &rule->measured, BASIS_MEASURED);
    totals_describe(page, rule, &rule->predicted, BASIS_REPLAYED);
    rule_explanation_append(&words, rule);
    page_words(page, BLOCK_NOTE, MEDIA_READ, text_string(&words));
    provenance_describe(page, rule);
    page_contents(page, MEDIUM_SCREEN);
    page_figure(page, MEDIUM_SCREEN, WEIGHTS_RULE_PLOT, "Where it is enough", false);
    boundaries_describe(page, rule);
    page_words(page, BLOCK_HEADING, MEDIUM_DOCUMENT, "Peak / weights, batch by length");
    for (int index = 0; index < rule->series_count; index++) {
        series_describe(page, rule, index);
    }
    page_words(page, BLOCK_NOTE, MEDIUM_TERMINAL, text_string(&words));
    page->failed = page->failed || words.failed;
    text_release(&words);
}

/* "1.2": decimal, at least 1. */
static enum status_code factor_parse(const char *text, double *factor, struct status *error)
{
    size_t whole = strspn(text, "0123456789");
    size_t fraction = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    size_t length = whole + (fraction > 0 ? 1 + fraction : 0);
    double value = whole > 0 && whole < 5 && text[0] != '0' && text[length] == '\0' ? strtod(text, NULL) : 0.0;
    if (value < 1.0 || value > FACTOR_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "report: --rule: '%s' is not a factor from 1 to %d; write --rule 1.2",
                          text, FACTOR_MAXIMUM);
    }
    *factor = value;
    return STATUS_OK;
}

static enum status_code rule_open(const struct page_material *material, void **subject, struct status *error)
{
    const char *wasteful_text = material->values[REPORT_OPTION_wasteful];
    double factor = 0.0, wasteful = 0.1;
    struct weights_rule *rule = NULL;
    enum status_code code = factor_parse(material->values[REPORT_OPTION_rule], &factor, error);
    if (code == STATUS_OK && wasteful_text != NULL) {
        code = percentage_parse(wasteful_text, &wasteful, error);
        if (code != STATUS_OK) {
            status_prefix(error, "report: --wasteful");
        }
    }
    if (code == STATUS_OK) {
        code = weights_rule_make(material->reports, material->report_count, factor, wasteful, &rule, error);
    }
    *subject = rule;
    return code;
}

const struct page_kind weights_rule_page = {
    .name = "a rule",
    .what = "a page about the weights",
    .describe = rule_describe,
    .own = {[REPORT_CSV] = weights_rule_csv_write},
    .value = weights_rule_json,
    .takes_several = true,
    .has_figures = true,
    .make = rule_open,
    .release = weights_rule_release,
    .is_empty = weights_rule_is_empty,
    .draw = weights_rule_plot,
};
