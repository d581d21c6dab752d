/* League page: what the league says, described once for every format for people. Its figures are made in league.c and
 * league_rank.c, what programs read in league_document.c. */
#include <stdio.h>

#include "harness/report/escape.h"
#include "harness/report/league_view.h"
#include "harness/report/page_format.h"
#include "harness/report/report_page.h"

enum { NAME_COLUMNS = 16, INDENT = 5, COLUMNS_MAXIMUM = 12 };

static const char *const rule_words =
    "Error = (predicted - measured) / measured: the total_bytes of an estimator (if it has none, its "
    "allocated_bytes_peak) against the highest allocated peak that was measured, which is the rule of the verdicts. "
    "Bias: mean of the signed errors. Median, p90: of their magnitudes. Under: cases for which too little was "
    "predicted. ±5 %: cases at most so far off. * needs measurements of other cases.";

static const char *const rank_words =
    "Ranked by the median, ties by p90, then by the worst case; 5= is shared by equals. No rank for who answers fewer "
    "than 5 cases (few) or fewer than half of them (part): easy cases alone do not win. Common: median over the cases "
    "that all ranked ones answer.";

static const char *const replay_words =
    "replay walks the very operations that are then measured: its row says that the replay is exact, not that the "
    "operations are the right ones. What tests those is in README.md.";

static const char *const safe_words =
    "Safe: of the cases that were proved, the share that ran with exactly the predicted bytes available for segments "
    "(assay run --prove-estimators); of replay, its reserved bytes.";

const char *rank_word(const struct league_row *row, char text[WORDING_BYTES])
{
    if (row->rank > 0) {
        snprintf(text, WORDING_BYTES, "%d%s", row->rank, row->is_shared ? "=" : "");
    } else {
        snprintf(text, WORDING_BYTES, "%s", row->few ? "few" : "part");
    }
    return text;
}

/* The name of an estimator, marked if it needs measurements. */
static struct cell name_cell(struct page *page, const struct league *league, int estimator)
{
    const struct league_estimator *one = &league->estimators[estimator];
    char *marked = one->baseline != NULL ? arena_format(&page->arena, "%s *", one->name) : NULL;
    page->failed = page->failed || (one->baseline != NULL && marked == NULL);
    return cell_word(marked != NULL ? marked : one->name);
}

/* ---- all figures of a scope ---- */

/* In the order of the cells of figures_add. */
static int columns_make(const struct league *league, struct page_column columns[COLUMNS_MAXIMUM])
{
    int longest = NAME_COLUMNS, count = 0;
    for (int index = 0; index < league->estimator_count; index++) {
        int needed = width_measure(league->estimators[index].name) + 2;
        longest = needed > longest ? needed : longest;
    }
    columns[count++] = (struct page_column){.title = "", .kind = CELL_MARK, .width = 4};
    columns[count++] = (struct page_column){
        .title = "estimator", .kind = CELL_WORD, .lead = 1, .width = NAME_COLUMNS, .width_most = longest};
    columns[count++] = (struct page_column){.title = "cases", .kind = CELL_PART, .width = 8};
    columns[count++] = (struct page_column){.title = "bias", .kind = CELL_SIGNED, .width = 9};
    columns[count++] = (struct page_column){
        .title = "median |error|", .short_title = "med |err|", .kind = CELL_MAGNITUDE, .width = 10};
    columns[count++] = (struct page_column){.title = "p90", .kind = CELL_MAGNITUDE, .width = 8};
    columns[count++] = (struct page_column){.title = "under", .kind = CELL_PERCENT, .width = 6};
    columns[count++] = (struct page_column){.title = "±5 %", .kind = CELL_PERCENT, .width = 6, .is_optional = true};
    columns[count++] = (struct page_column){.title = "common", .kind = CELL_MAGNITUDE, .width = 8, .is_optional = true};
    if (league->has_proofs) {
        columns[count++] = (struct page_column){.title = "safe", .kind = CELL_PERCENT, .width = 6, .is_optional = true};
    }
    columns[count++] = (struct page_column){.title = "worst", .kind = CELL_SIGNED, .media = MEDIA_READ};
    columns[count++] = (struct page_column){.title = "worst case", .kind = CELL_WORD, .media = MEDIA_READ};
    return count;
}

static void figures_add(struct page *page, struct page_table *table, const struct league *league,
                        const struct league_scope *scope, const struct league_row *row)
{
    char rank[WORDING_BYTES];
    const struct league_figures *all = &row->all;
    struct cell cells[COLUMNS_MAXIMUM];
    int count = 0;
    cells[count++] = cell_word(page_word(page, rank_word(row, rank)));
    cells[count++] = name_cell(page, league, row->estimator);
    cells[count++] = cell_part(all->case_count, scope->case_count);
    cells[count++] = cell_error(true, all->bias);
    cells[count++] = cell_error(true, all->median);
    cells[count++] = cell_error(true, all->p90);
    cells[count++] = cell_part(all->under_count, all->case_count);
    cells[count++] = cell_part(all->within_count, all->case_count);
    cells[count++] = cell_error(row->common.case_count > 0, row->common.median);
    if (league->has_proofs) {
        cells[count++] = cell_part(all->safe_count, all->proved_count);
    }
    cells[count++] = cell_error(true, all->worst);
    cells[count++] = cell_word(all->worst_case);
    page_row_add(page, table, cells);
}

/* A terminal has the counts in its heading, and of families their medians alone; a document those, too. */
static void scope_describe(struct page *page, const struct league *league, int index)
{
    const struct league_scope *scope = &league->scopes[index];
    const char *kind = scope->kind == SCOPE_ALL ? "All cases" : scope->kind == SCOPE_MODE ? "Mode " : "Family ";
    const unsigned long_media = scope->kind == SCOPE_FAMILY ? MEDIUM_SCREEN : MEDIA_READ;
    struct page_column columns[COLUMNS_MAXIMUM];
    struct text words = {0};
    text_format(&words, "%s%s", kind, scope->kind == SCOPE_ALL ? "" : scope->name);
    page_anchored_heading(page, long_media, "scope", index, text_string(&words));
    text_format(&words, ": %d", scope->case_count);
    if (scope->common_count > 0) {
        text_format(&words, " (all ranked ones answer %d)", scope->common_count);
    }
    if (scope->kind != SCOPE_FAMILY) {
        page_words(page, BLOCK_HEADING, MEDIUM_TERMINAL, text_string(&words));
    }
    text_release(&words);
    page_say(page, BLOCK_TEXT, long_media, "%d case%s; all ranked estimators answer %d of them.", scope->case_count,
             scope->case_count == 1 ? "" : "s", scope->common_count);
    const int column_count = columns_make(league, columns);
    struct page_table *table =
        page_table_add(page, scope->kind == SCOPE_FAMILY ? MEDIUM_SCREEN : MEDIUM_ALL, columns, column_count);
    for (int at = 0; at < scope->row_count; at++) {
        figures_add(page, table, league, scope, &scope->rows[at]);
    }
}

/* ---- what a terminal and a document show in other tables ---- */

/* A terminal has no room for the worst case beside the figures. */
static void worst_describe(struct page *page, const struct league *league)
{
    static const struct page_column columns[] = {
        {.title = "estimator", .kind = CELL_WORD, .width = WIDTH_NAME},
        {.title = "worst", .kind = CELL_SIGNED, .width = 9},
        {.title = "worst case", .kind = CELL_WORD, .lead = 2, .width = WIDTH_REST},
    };
    const struct league_scope *all = &league->scopes[0];
    page_words(page, BLOCK_HEADING, MEDIUM_TERMINAL, "Worst case of each");
    struct page_table *table = page_table_add(page, MEDIUM_TERMINAL, columns, 3);
    table->indent = INDENT;
    table->has_no_heading = true;
    for (int at = 0; at < all->row_count; at++) {
        const struct league_figures *figures = &all->rows[at].all;
        const struct cell cells[] = {name_cell(page, league, all->rows[at].estimator), cell_error(true, figures->worst),
                                     cell_word(figures->worst_case != NULL ? figures->worst_case : "(all exact)")};
        page_row_add(page, table, cells);
    }
}

static struct cell median_cell(const struct league_scope *scope, int estimator)
{
    for (int at = 0; at < scope->row_count; at++) {
        if (scope->rows[at].estimator == estimator) {
            return cell_error(true, scope->rows[at].all.median);
        }
    }
    return cell_error(false, 0.0);
}

/* A row for each estimator in the order of all cases, a column for each family. */
static void medians_describe(struct page *page, const struct league *league, int first)
{
    const unsigned media = MEDIUM_TERMINAL | MEDIUM_DOCUMENT;
    const struct league_scope *all = &league->scopes[0];
    int count = 1 + league->scope_count - first;
    struct page_column *columns = arena_alloc(&page->arena, (size_t)count * sizeof *columns);
    struct cell *cells = arena_alloc(&page->arena, (size_t)count * sizeof *cells);
    page_words(page, BLOCK_HEADING, MEDIUM_TERMINAL, "Median |error| by family");
    page_words(page, BLOCK_HEADING, MEDIUM_DOCUMENT, "Families");
    page_words(page, BLOCK_TEXT, MEDIUM_DOCUMENT,
               "Median of the magnitudes of errors, by family and its number of cases.");
    if (columns == NULL || cells == NULL) {
        page->failed = true;
        return;
    }
    columns[0] = (struct page_column){.title = "estimator", .short_title = "", .kind = CELL_WORD, .width = WIDTH_NAME};
    for (int index = 1; index < count; index++) {
        const struct league_scope *family = &league->scopes[first + index - 1];
        columns[index] = (struct page_column){
            .title = family->name, .kind = CELL_MAGNITUDE, .case_count = family->case_count, .width = 10};
    }
    struct page_table *table = page_table_add(page, media, columns, count);
    table->indent = INDENT;
    table->is_split = true;
    for (int at = 0; at < all->row_count; at++) {
        cells[0] = name_cell(page, league, all->rows[at].estimator);
        for (int index = 1; index < count; index++) {
            cells[index] = median_cell(&league->scopes[first + index - 1], all->rows[at].estimator);
        }
        page_row_add(page, table, cells);
    }
}

/* ---- words ---- */

static void notes_describe(struct page *page, const struct league *league, unsigned media)
{
    page_words(page, BLOCK_NOTE, media, rule_words);
    page_words(page, BLOCK_NOTE, media, rank_words);
    page_words(page, BLOCK_NOTE, media, replay_words);
    if (league->has_proofs) {
        page_words(page, BLOCK_NOTE, media, safe_words);
    }
}

static void baselines_describe(struct page *page)
{
    for (int index = 0; index < baseline_count(); index++) {
        const struct baseline *one = baseline_at(index);
        page_say(page, BLOCK_ITEM, MEDIUM_TERMINAL | MEDIUM_SCREEN, "* %s: %s", one->name, one->rule);
        page_say(page, BLOCK_ITEM, MEDIUM_DOCUMENT, "%s: %s", one->name, one->rule); /* there, items have a mark */
    }
}

/* "lead; 45 rows, ..." and what stands behind it. */
static void counted_describe(struct page *page, const struct league *league, unsigned media, const char *lead,
                             const char *end)
{
    struct text line = {0};
    text_format(&line, "%s%s", lead, lead[0] != '\0' ? "; " : "");
    counted_cases_append(&line, &league->counted);
    text_append(&line, end);
    page_words_move(page, BLOCK_LEAD, media, &line);
}

static void head_describe(struct page *page, const struct league *league)
{
    page_say(page, BLOCK_TITLE, MEDIUM_SCREEN, "League of estimators%s%s", league->title[0] != '\0' ? ": " : "",
             league->title);
    page_words(page, BLOCK_TITLE, MEDIUM_DOCUMENT, "League of estimators");
    counted_describe(page, league, MEDIUM_TERMINAL, "League of estimators", "");
    counted_describe(page, league, MEDIUM_DOCUMENT, league->provenance, ".");
    counted_describe(page, league, MEDIUM_SCREEN, league->device, ".");
    if (league->provenance[0] != '\0') {
        page_words(page, BLOCK_LEAD, MEDIUM_TERMINAL, league->provenance);
    }
}

static void league_describe(const void *subject, struct page *page)
{
    const struct league *league = subject;
    head_describe(page, league);
    if (league_is_empty(league)) {
        page_words(page, BLOCK_TEXT, MEDIUM_ALL, "Nothing to judge: no row that counts has a prediction.");
        return;
    }
    if (league->provenance[0] != '\0') {
        page_words(page, BLOCK_NOTE, MEDIUM_SCREEN, league->provenance);
    }
    page_contents(page, MEDIUM_SCREEN);
    notes_describe(page, league, MEDIUM_SCREEN);
    scope_describe(page, league, 0);
    page_figure(page, MEDIUM_SCREEN, LEAGUE_PLOT, "Errors of each estimator", false);
    worst_describe(page, league);
    int first_family = 1;
    while (first_family < league->scope_count && league->scopes[first_family].kind != SCOPE_FAMILY) {
        scope_describe(page, league, first_family++);
    }
    for (int index = first_family; index < league->scope_count; index++) {
        scope_describe(page, league, index);
    }
    medians_describe(page, league, first_family);
    page_words(page, BLOCK_HEADING, MEDIUM_DOCUMENT, "How to read it");
    notes_describe(page, league, MEDIUM_TERMINAL | MEDIUM_DOCUMENT);
    baselines_describe(page);
}

static enum status_code league_open(const struct page_material *material, void **subject, struct status *error)
{
    struct league *league = NULL;
    enum status_code code = league_make(material->reports, material->report_count, &league, error);
    *subject = league;
    return code;
}

const struct page_kind league_page = {
    .name = "a league",
    .what = "a league of the estimators",
    .describe = league_describe,
    .own = {[REPORT_CSV] = league_csv_write},
    .value = league_json,
    .takes_several = true,
    .has_figures = true,
    .make = league_open,
    .release = league_release,
    .is_empty = league_is_empty,
    .draw = league_plot,
};
