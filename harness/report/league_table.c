/* League table: the league for a terminal. Every line fits the width; below 80 columns a row takes two lines. */
#include <stdio.h>

#include "harness/report/escape.h"
#include "harness/report/league_view.h"

enum {
    RANK_COLUMNS = 4,
    COVERAGE_COLUMNS = 8,
    BIAS_COLUMNS = 9,
    MEDIAN_COLUMNS = 10,
    ERROR_COLUMNS = 8,
    SHARE_COLUMNS = 6,
    FIGURE_COUNT = 7,
    FIGURE_COLUMNS = COVERAGE_COLUMNS + BIAS_COLUMNS + MEDIAN_COLUMNS + 2 * ERROR_COLUMNS + 2 * SHARE_COLUMNS,
    NAME_COLUMNS = 16,
    FAMILY_COLUMNS = 10
};

struct league_table {
    const struct league *league;
    struct text *text;
    int width, name_columns;
    bool colour, narrow;
};

static void style_append(const struct league_table *table, const char *code)
{
    text_append(table->text, table->colour ? code : "");
}

static void title_append(const struct league_table *table, const char *title)
{
    text_append(table->text, "\n");
    style_append(table, "\x1b[1m");
    outside_paragraph_append(table->text, title, table->width, 2, 0);
    style_append(table, "\x1b[0m");
}

static void columns_choose(struct league_table *table)
{
    int longest = NAME_COLUMNS;
    for (int index = 0; index < table->league->estimator_count; index++) {
        int needed = width_measure(table->league->estimators[index].name) + 2;
        longest = needed > longest ? needed : longest;
    }
    int room = table->width - RANK_COLUMNS - 1 - FIGURE_COLUMNS - (table->league->has_proofs ? SHARE_COLUMNS : 0);
    table->narrow = room < NAME_COLUMNS;
    room = table->narrow ? table->width - RANK_COLUMNS - 1 : room;
    table->name_columns = longest < room ? longest : room;
}

/* A narrow terminal has no room for all even in a line of their own: the two rightmost are left out there. */
static void figures_append(const struct league_table *table, const char *const *words)
{
    static const int columns[FIGURE_COUNT] = {COVERAGE_COLUMNS, BIAS_COLUMNS,  MEDIAN_COLUMNS, ERROR_COLUMNS,
                                              SHARE_COLUMNS,    SHARE_COLUMNS, ERROR_COLUMNS};
    int count = table->width < 1 + FIGURE_COLUMNS + (table->league->has_proofs ? SHARE_COLUMNS : 0) ? FIGURE_COUNT - 2
                                                                                                    : FIGURE_COUNT;
    bool is_whole = count == FIGURE_COUNT && words[FIGURE_COUNT] != NULL;
    if (table->narrow) {
        line_end_append(table->text);
    }
    for (int index = 0; index < count; index++) {
        int less = index == 0 && count < FIGURE_COUNT ? 1 : 0; /* no name stands before it there */
        cell_append(table->text, words[index], columns[index] - less, true);
    }
    if (is_whole) {
        cell_append(table->text, words[FIGURE_COUNT], SHARE_COLUMNS, true);
    }
    line_end_append(table->text);
}

static void heading_append(const struct league_table *table)
{
    const char *const words[FIGURE_COUNT + 1] = {
        "cases", "bias", "med |err|", "p90", "under", "±5 %", "common", table->league->has_proofs ? "safe" : NULL};
    style_append(table, "\x1b[2m");
    cell_append(table->text, "", RANK_COLUMNS + 1, false);
    cell_append(table->text, "estimator", table->name_columns, false);
    figures_append(table, words);
    style_append(table, "\x1b[0m");
}

static void name_append(const struct league_table *table, int estimator)
{
    const struct league_estimator *one = &table->league->estimators[estimator];
    struct text name = {0};
    text_format(&name, "%s%s", one->name, one->baseline != NULL ? " *" : "");
    outside_cell_append(table->text, text_string(&name), table->name_columns, false);
    text_release(&name);
}

static void row_append(const struct league_table *table, const struct league_scope *scope, const struct league_row *row)
{
    char rank[WORDING_BYTES], words[FIGURE_COUNT + 1][WORDING_BYTES];
    const struct league_figures *all = &row->all;
    coverage_word(scope, row, words[0]);
    if (width_measure(words[0]) >= COVERAGE_COLUMNS) { /* the count of all of them stands above the table */
        snprintf(words[0], sizeof words[0], "%d", row->all.case_count);
    }
    signed_word(true, all->bias, words[1]);
    magnitude_word(true, all->median, words[2]);
    magnitude_word(true, all->p90, words[3]);
    share_word(all->under_count, all->case_count, words[4]);
    share_word(all->within_count, all->case_count, words[5]);
    magnitude_word(row->common.case_count > 0, row->common.median, words[6]);
    share_word(all->safe_count, all->proved_count, words[FIGURE_COUNT]);
    const char *const cells[FIGURE_COUNT + 1] = {
        words[0], words[1], words[2], words[3],
        words[4], words[5], words[6], table->league->has_proofs ? words[FIGURE_COUNT] : NULL};
    cell_append(table->text, rank_word(row, rank), RANK_COLUMNS, true);
    text_append(table->text, " ");
    name_append(table, row->estimator);
    figures_append(table, cells);
}

static void scope_append(const struct league_table *table, const struct league_scope *scope)
{
    struct text title = {0};
    text_format(&title, scope->kind == SCOPE_ALL ? "All cases: %s%d" : "Mode %s: %d",
                scope->kind == SCOPE_ALL ? "" : scope->name, scope->case_count);
    if (scope->common_count > 0) {
        text_format(&title, " (all ranked ones answer %d)", scope->common_count);
    }
    title_append(table, text_string(&title));
    text_release(&title);
    heading_append(table);
    for (int index = 0; index < scope->row_count; index++) {
        row_append(table, scope, &scope->rows[index]);
    }
}

static void worst_append(const struct league_table *table, const struct league_scope *scope)
{
    title_append(table, "Worst case of each");
    for (int index = 0; index < scope->row_count; index++) {
        const struct league_row *row = &scope->rows[index];
        char error[WORDING_BYTES];
        cell_append(table->text, "", RANK_COLUMNS + 1, false);
        name_append(table, row->estimator);
        cell_append(table->text, signed_word(true, row->all.worst, error), BIAS_COLUMNS, true);
        text_append(table->text, "  ");
        int column = RANK_COLUMNS + 1 + table->name_columns + BIAS_COLUMNS + 2;
        if (table->width - column < 20) { /* no room beside: below */
            column = RANK_COLUMNS + 3;
            line_end_append(table->text);
            cell_append(table->text, "", column, false);
        }
        const char *label = row->all.worst_case != NULL ? row->all.worst_case : "(all exact)";
        outside_paragraph_append(table->text, label, table->width, column, column);
    }
}

static const struct league_row *row_of(const struct league_scope *scope, int estimator)
{
    for (int index = 0; index < scope->row_count; index++) {
        if (scope->rows[index].estimator == estimator) {
            return &scope->rows[index];
        }
    }
    return NULL;
}

/* Median per family: a row for each estimator in the order of all cases, as many families side by side as fit. */
static void families_append(const struct league_table *table, int first, int last)
{
    const struct league_scope *all = &table->league->scopes[0];
    style_append(table, "\x1b[2m");
    cell_append(table->text, "", RANK_COLUMNS + 1 + table->name_columns, false);
    for (int index = first; index < last; index++) {
        text_append(table->text, " ");
        outside_cell_append(table->text, table->league->scopes[index].name, FAMILY_COLUMNS - 1, true);
    }
    line_end_append(table->text);
    cell_append(table->text, "", RANK_COLUMNS + 1, false);
    cell_append(table->text, "cases", table->name_columns, false);
    for (int index = first; index < last; index++) {
        char count[16];
        snprintf(count, sizeof count, "%d", table->league->scopes[index].case_count);
        cell_append(table->text, count, FAMILY_COLUMNS, true);
    }
    line_end_append(table->text);
    style_append(table, "\x1b[0m");
    for (int at = 0; at < all->row_count; at++) {
        cell_append(table->text, "", RANK_COLUMNS + 1, false);
        name_append(table, all->rows[at].estimator);
        for (int index = first; index < last; index++) {
            char word[WORDING_BYTES];
            const struct league_row *row = row_of(&table->league->scopes[index], all->rows[at].estimator);
            magnitude_word(row != NULL, row != NULL ? row->all.median : 0.0, word);
            cell_append(table->text, word, FAMILY_COLUMNS, true);
        }
        line_end_append(table->text);
    }
}

static void scopes_append(const struct league_table *table)
{
    const struct league *league = table->league;
    int index = 1;
    while (index < league->scope_count && league->scopes[index].kind == SCOPE_MODE) {
        scope_append(table, &league->scopes[index++]);
    }
    int room = (table->width - RANK_COLUMNS - 1 - table->name_columns) / FAMILY_COLUMNS;
    room = room < 1 ? 1 : room;
    title_append(table, "Median |error| by family");
    for (; index < league->scope_count; index += room) {
        families_append(table, index, index + room < league->scope_count ? index + room : league->scope_count);
    }
}

static void words_append(const struct league_table *table, const char *words)
{
    text_append(table->text, "\n");
    paragraph_append(table->text, words, table->width, 0, 0);
}

void league_table_write(const struct league *league, const struct report_style *style, struct text *text)
{
    struct league_table table = {.league = league, .text = text, .width = style->width, .colour = style->colour};
    struct text line = {0};
    columns_choose(&table);
    text_append(&line, "League of estimators; ");
    counted_cases_append(&line, &league->counted);
    outside_paragraph_append(text, text_string(&line), table.width, 2, 0);
    text_release(&line);
    if (league->provenance[0] != '\0') {
        outside_paragraph_append(text, league->provenance, table.width, 2, 0);
    }
    if (league_is_empty(league)) {
        paragraph_append(text, "Nothing to judge: no row that counts has a prediction.", table.width, 0, 0);
        return;
    }
    scope_append(&table, &league->scopes[0]);
    worst_append(&table, &league->scopes[0]);
    scopes_append(&table);
    words_append(&table, league_rule_words);
    words_append(&table, league_rank_words);
    words_append(&table, league_replay_words);
    if (league->has_proofs) {
        words_append(&table, league_safe_words);
    }
    for (int index = 0; index < baseline_count(); index++) {
        struct text rule = {0};
        text_format(&rule, "* %s: %s", baseline_at(index)->name, baseline_at(index)->rule);
        paragraph_append(text, text_string(&rule), table.width, 2, 0);
        text_release(&rule);
    }
}
