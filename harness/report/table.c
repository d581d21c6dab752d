/* Table: the report for a terminal. Every line fits the width; colour only if the caller asks for it.
 *
 * Below 72 columns a comparison takes two lines: what is compared, then the figures. */
#include <stdio.h>
#include <string.h>

#include "harness/report/case_phrases.h"
#include "harness/report/cases_page.h"
#include "harness/report/escape.h"
#include "harness/report/headline.h"
#include "harness/report/proof_rates.h"
#include "harness/report/side_table.h"
#include "harness/report/spread.h"
#include "harness/report/wording.h"

enum {
    FIGURE_COLUMNS = 12,
    ERROR_COLUMNS = 11,
    MEDIAN_COLUMNS = 15,
    COUNT_COLUMNS = 6,
    ACCURACY_COLUMNS = 18,
    VERDICT_COLUMNS = 4,
    NARROW_COLUMNS = 72,
    INDENT = 2
};

struct table {
    struct text *text;
    int width;
    bool colour, narrow, accuracy_narrow;
    int estimator_columns, quantity_columns;
    bool has_measured; /* else predictions stand alone */
    const char *basis; /* of the report */
};

static void colour_begin(const struct table *table, const char *code)
{
    text_append(table->text, table->colour ? code : "");
}

static void colour_end(const struct table *table)
{
    text_append(table->text, table->colour ? "\x1b[0m" : "");
}

static const char *status_colour(const char *status)
{
    if (strcmp(status, "ok") == 0 || strcmp(status, "pass") == 0) {
        return "\x1b[32m";
    }
    return strcmp(status, "skip") == 0 ? "\x1b[33m" : "\x1b[31m";
}

static void note_append(const struct table *table, const char *name, const char *string)
{
    if (string[0] != '\0') {
        text_append(table->text, "  ");
        cell_append(table->text, name, 8, false);
        outside_paragraph_append(table->text, string, table->width, 10, 10);
    }
}

static void rule_append(const struct table *table, const char *title)
{
    text_append(table->text, "\n");
    colour_begin(table, "\x1b[1m");
    paragraph_append(table->text, title, table->width, 0, 0);
    colour_end(table);
}

static void columns_choose(struct table *table, const struct report *report)
{
    table->has_measured = report_is_measured(report);
    int figures = table->has_measured ? 2 * FIGURE_COLUMNS + ERROR_COLUMNS : FIGURE_COLUMNS;
    table->narrow = table->width < (table->has_measured ? NARROW_COLUMNS : NARROW_COLUMNS - FIGURE_COLUMNS);
    table->estimator_columns = 10;
    for (int index = 0; index < report->estimator_count; index++) {
        int needed = width_measure(report->estimators[index]);
        table->estimator_columns = needed > table->estimator_columns ? needed : table->estimator_columns;
    }
    table->estimator_columns = table->estimator_columns > 20 ? 20 : table->estimator_columns;
    table->quantity_columns = table->width - INDENT - table->estimator_columns - 1 - figures - 1 - VERDICT_COLUMNS;
    table->accuracy_narrow = table->narrow || table->width < INDENT + table->estimator_columns + 1 + ACCURACY_COLUMNS +
                                                                 MEDIAN_COLUMNS + ERROR_COLUMNS + 2 * COUNT_COLUMNS;
    table->quantity_columns = table->quantity_columns > 28 ? 28 : table->quantity_columns;
}

static void heading_append(const struct table *table)
{
    colour_begin(table, "\x1b[2m");
    text_append(table->text, "  ");
    cell_append(table->text, "estimator", table->estimator_columns, false);
    text_append(table->text, " ");
    cell_append(table->text, "quantity", table->narrow ? 16 : table->quantity_columns, false);
    if (table->narrow) {
        line_end_append(table->text);
    }
    cell_append(table->text, "predicted", FIGURE_COLUMNS, true);
    if (table->has_measured) {
        cell_append(table->text, table->basis, FIGURE_COLUMNS, true);
        cell_append(table->text, "error", ERROR_COLUMNS, true);
    }
    line_end_append(table->text);
    colour_end(table);
}

static void row_append(const struct table *table, const char *estimator, const char *quantity, const char *predicted,
                       const char *measured, const char *error, const char *verdict)
{
    text_append(table->text, "  ");
    outside_cell_append(table->text, estimator, table->estimator_columns, false);
    text_append(table->text, " ");
    int columns = table->narrow ? table->width - INDENT - 1 - table->estimator_columns : table->quantity_columns;
    outside_cell_append(table->text, quantity, columns, false);
    if (table->narrow) {
        line_end_append(table->text);
    }
    cell_append(table->text, predicted, FIGURE_COLUMNS, true);
    if (table->has_measured) {
        cell_append(table->text, measured, FIGURE_COLUMNS, true);
        cell_append(table->text, error, ERROR_COLUMNS, true);
    }
    if (verdict[0] != '\0') {
        text_append(table->text, " ");
        colour_begin(table, status_colour(verdict));
        text_append(table->text, verdict);
        colour_end(table);
    }
    line_end_append(table->text);
}

static void comparison_append(const struct table *table, const struct comparison *row)
{
    char words[WORDING_BYTES], predicted[WORDING_BYTES], measured[WORDING_BYTES], error[WORDING_BYTES];
    struct text quantity = {0};
    place_prefix_append(&quantity, row);
    text_append(&quantity, quantity_word(row->quantity, words));
    row_append(table, row->estimator, text_string(&quantity), bytes_word(row->predicted_bytes, false, predicted),
               bytes_word(row->measured_bytes, false, measured), error_word(row->error_known, row->error, error),
               row->judgement == JUDGEMENT_PASS   ? "pass"
               : row->judgement == JUDGEMENT_FAIL ? "FAIL"
                                                  : "");
    text_release(&quantity);
}

/* What was measured and is predicted by nobody: what the driver and the kernel count; everything, if the record has
 * no predictions at all. */
static void readings_append(const struct table *table, const struct case_view *view)
{
    char figure[WORDING_BYTES];
    for (int level = view->comparison_count > 0 ? LEVEL_COUNTED_COUNT : 0; level < LEVEL_COUNT; level++) {
        int64_t bytes = view->measured.peak_bytes[level];
        if (bytes != BYTES_UNKNOWN) {
            row_append(table, "(reading)", level_peak_name((enum level)level), "-", bytes_word(bytes, false, figure),
                       "-", "");
        }
    }
}

static void causes_note(const struct table *table, const struct case_view *view)
{
    struct text note = {0};
    causes_append(&note, view->measured.stages[STAGE_LOAD], &view->causes_at_load);
    note_append(table, "load", text_string(&note));
    text_release(&note);
    int last = stage_last(&view->measured);
    if (last > STAGE_LOAD) {
        causes_append(&note, view->measured.stages[last], &view->causes_at_end);
        note_append(table, "end", text_string(&note));
        text_release(&note);
    }
}

static void spread_note(const struct table *table, const struct case_view *view)
{
    struct text note = {0};
    spread_append(&note, &view->spread);
    note_append(table, "spread", text_string(&note));
    text_release(&note);
}

static void search_note(const struct table *table, const struct case_view *view)
{
    struct text note = {0};
    search_append(&note, view);
    note_append(table, "search", text_string(&note));
    text_release(&note);
    tries_append(&note, view);
    note_append(table, "tries", text_string(&note));
    text_release(&note);
}

static void items_note(const struct table *table, const struct case_view *view)
{
    struct text note = {0};
    enum level level = items_append(&note, view);
    if (level != LEVEL_COUNT) {
        note_append(table, level_name(level), text_string(&note));
    }
    text_release(&note);
}

static void case_append(const struct table *table, const struct case_view *view)
{
    text_append(table->text, "\n");
    struct text status = {0};
    terminal_append(&status, case_word(view));
    colour_begin(table, status_colour(case_word(view)));
    cell_append(table->text, text_string(&status), 7, false);
    colour_end(table);
    text_append(table->text, " ");
    text_release(&status);
    outside_paragraph_append(table->text, view->title, table->width, 8, 8);
    note_append(table, "reason", view->reason);
    note_append(table, "invalid", view->disturbance);
    struct text library = {0};
    declined_append(&library, view);
    note_append(table, "library", text_string(&library));
    text_release(&library);
    struct text oom = {0};
    oom_append(&oom, view);
    note_append(table, "oom", text_string(&oom));
    text_release(&oom);
    search_note(table, view);
    for (int failed = 1; failed >= 0; failed--) { /* what failed first */
        for (int index = 0; index < view->comparison_count; index++) {
            if ((view->comparisons[index].judgement == JUDGEMENT_FAIL) == (failed == 1)) {
                comparison_append(table, &view->comparisons[index]);
            }
        }
    }
    readings_append(table, view);
    causes_note(table, view);
    items_note(table, view);
    spread_note(table, view);
}

static void accuracy_append(const struct table *table, const struct accuracy *row)
{
    char median[WORDING_BYTES], worst[WORDING_BYTES], quantity[WORDING_BYTES], counts[WORDING_BYTES];
    bool known = row->case_count > 0;
    text_append(table->text, "  ");
    outside_cell_append(table->text, row->estimator, table->estimator_columns, false);
    text_append(table->text, " ");
    outside_cell_append(table->text, quantity_word(row->quantity, quantity), ACCURACY_COLUMNS, false);
    if (table->accuracy_narrow) {
        line_end_append(table->text);
        text_append(table->text, "  ");
    }
    snprintf(counts, sizeof counts, "%d", row->case_count);
    cell_append(table->text, counts, COUNT_COLUMNS, true);
    cell_append(table->text, error_word(known, row->median_error, median), MEDIAN_COLUMNS, true);
    cell_append(table->text, error_word(known, row->worst_error, worst), ERROR_COLUMNS, true);
    snprintf(counts, sizeof counts, "%d", row->under_count);
    cell_append(table->text, counts, COUNT_COLUMNS, true);
    line_end_append(table->text);
    if (known && (row->worst_error > 0.0 || row->worst_error < 0.0) && row->worst_case != NULL) {
        text_append(table->text, "    worst: ");
        outside_paragraph_append(table->text, row->worst_case, table->width, 11, 11);
    }
}

static void summary_append(const struct table *table, const struct report *report, const struct accuracy *rows,
                           int count)
{
    struct text title = {0}, uncounted = {0};
    text_format(&title, "Accuracy per estimator (error = predicted - %s; under: predicted too little)", table->basis);
    rule_append(table, text_string(&title));
    text_release(&title);
    colour_begin(table, "\x1b[2m");
    text_append(table->text, "  ");
    cell_append(table->text, "estimator", table->estimator_columns, false);
    text_append(table->text, " ");
    cell_append(table->text, "quantity", ACCURACY_COLUMNS, false);
    if (table->accuracy_narrow) {
        line_end_append(table->text);
        text_append(table->text, "  ");
    }
    cell_append(table->text, "cases", COUNT_COLUMNS, true);
    cell_append(table->text, "signed median", MEDIAN_COLUMNS, true);
    cell_append(table->text, "worst", ERROR_COLUMNS, true);
    cell_append(table->text, "under", COUNT_COLUMNS, true);
    line_end_append(table->text);
    colour_end(table);
    for (int index = 0; index < count; index++) {
        accuracy_append(table, &rows[index]);
    }
    places_counted_append(&uncounted, rows, count);
    if (uncounted.length > 0) {
        text_append(table->text, "  ");
        outside_paragraph_append(table->text, text_string(&uncounted), table->width, 4, 2);
        text_release(&uncounted);
    }
    uncounted_append(&uncounted, report);
    if (uncounted.length > 0) {
        text_append(table->text, "  ");
        outside_paragraph_append(table->text, text_string(&uncounted), table->width, 4, 2);
    }
    text_release(&uncounted);
}

/* What the report comes to if that is no pass, and what is missing. */
static void headline_write(const struct table *table, const struct report *report)
{
    enum { NAMES_SHOWN = 20 };
    struct text line = {0};
    headline_append(&line, report);
    if (line.length > 0) {
        colour_begin(table, "\x1b[1;31m");
        outside_paragraph_append(table->text, text_string(&line), table->width, 2, 0);
        colour_end(table);
        text_release(&line);
        missing_names_append(&line, report, NAMES_SHOWN);
        if (line.length > 0) {
            outside_paragraph_append(table->text, text_string(&line), table->width, 2, 0);
        }
        text_append(table->text, "\n");
    }
    text_release(&line);
}

void table_write(const void *subject, const struct report_style *style, struct text *text)
{
    const struct cases_subject *all = subject;
    const struct report *report = all->report;
    struct table table = {.text = text, .width = style->width, .colour = style->colour};
    table.basis = report->basis;
    columns_choose(&table, report);
    struct text line = {0};
    headline_write(&table, report);
    device_append(&line, report);
    text_format(text, table.has_measured ? "Predicted against %s" : "Predicted; nothing was measured", table.basis);
    text_append(text, line.length > 0 ? " on " : "");
    outside_paragraph_append(text, text_string(&line), table.width, 2, 30);
    text_release(&line);
    if (report->case_count > 0) {
        text_format(&line, "binary units; %s; ", peaks_words(report));
        if (table.has_measured) {
            text_format(&line, "error = (predicted - %s) / %s; ", table.basis, table.basis);
        }
        text_append(&line, "- not known");
        paragraph_append(text, text_string(&line), table.width, 0, 0);
        text_release(&line);
        text_append(text, "\n");
        heading_append(&table);
    }
    for (int index = 0; index < report->case_count; index++) {
        case_append(&table, report_case(report, index));
    }
    if (all->known_count > 0) {
        summary_append(&table, report, all->known, all->known_count);
    }
    proof_rates_paragraphs(report, table.width, text);
    side_tables_terminal(report, style, text);
    text_append(text, "\n");
    course_append(&line, report);
    outside_paragraph_append(text, text_string(&line), table.width, 2, 0);
    text_release(&line);
}
