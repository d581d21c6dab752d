/* Summary: one line for each case: what was measured, and how far each estimator was off. For a terminal; the whole
 * story of a case is in table.c.
 *
 * As many estimators have a column as the width has room for, at most four: those that failed somewhere, then the others,
 * in the order of the records. The line below names the rest. Where there is room for none, a case becomes a paragraph
 * (docs/decisions/0013). */
#include <stdio.h>
#include <string.h>

#include "harness/report/case_view.h"
#include "harness/report/escape.h"
#include "harness/report/wording.h"

enum { STATUS_COLUMNS = 7, MEASURED_COLUMNS = 11, ERROR_COLUMNS = 10, NAME_COLUMNS = 24, SHOWN_MAXIMUM = 4 };

struct summary {
    const struct report *report;
    struct text *text;
    int width;
    bool colour, narrow;
    bool shown[ESTIMATOR_MAXIMUM];
    int error_columns[ESTIMATOR_MAXIMUM];
    int figure_columns; /* all columns before the name of the case */
};

static bool has_failed(const struct report *report, const char *estimator)
{
    for (int i = 0; i < report->case_count; i++) {
        const struct case_view *view = &report->cases[i];
        for (int row = 0; row < view->comparison_count; row++) {
            if (view->comparisons[row].judgement == JUDGEMENT_FAIL &&
                strcmp(view->comparisons[row].estimator, estimator) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Shows those of which has_failed is failed, as long as there is room. Gives how many were shown before and now. */
static int columns_add(struct summary *summary, bool failed, int count)
{
    for (int i = 0; i < summary->report->estimator_count && count < SHOWN_MAXIMUM; i++) {
        int needed = width_measure(summary->report->estimators[i]) + 1;
        needed = needed > 15 ? 15 : needed < ERROR_COLUMNS ? ERROR_COLUMNS : needed;
        bool fits = summary->width >= summary->figure_columns + needed + NAME_COLUMNS;
        if (fits && has_failed(summary->report, summary->report->estimators[i]) == failed) {
            summary->shown[i] = true;
            summary->error_columns[i] = needed;
            summary->figure_columns += needed;
            count++;
        }
    }
    return count;
}

static void columns_choose(struct summary *summary)
{
    summary->figure_columns = STATUS_COLUMNS + MEASURED_COLUMNS + 2;
    int failed_count = columns_add(summary, true, 0);
    int shown_count = columns_add(summary, false, failed_count);
    summary->narrow = shown_count == 0;
    for (int i = 0; i < SHOWN_MAXIMUM && i < summary->report->estimator_count && summary->narrow; i++) {
        summary->shown[i] = true;
    }
}

static void colour_append(const struct summary *summary, const char *code)
{
    text_append(summary->text, summary->colour ? code : "");
}

static const char *status_colour(const char *status)
{
    return strcmp(status, "ok") == 0 ? "\x1b[32m" : strcmp(status, "skip") == 0 ? "\x1b[33m" : "\x1b[31m";
}

static void heading_append(const struct summary *summary)
{
    if (summary->narrow) {
        return;
    }
    colour_append(summary, "\x1b[2m");
    cell_append(summary->text, "", STATUS_COLUMNS, false);
    cell_append(summary->text, summary->report->basis, MEASURED_COLUMNS, true);
    for (int i = 0; i < summary->report->estimator_count; i++) {
        struct text name = {0};
        if (!summary->shown[i]) {
            continue;
        }
        terminal_append(&name, summary->report->estimators[i]);
        text_append(summary->text, " ");
        cell_append(summary->text, text_string(&name), summary->error_columns[i] - 1, true);
        text_release(&name);
    }
    text_append(summary->text, "  case\n");
    colour_append(summary, "\x1b[0m");
}

/* One paragraph: "413.68 MiB bert-base-cased load float32; replay +0.00 %, accelerate -0.12 %". */
static void paragraph_write(const struct summary *summary, const struct case_view *view, const char *measured)
{
    struct text line = {0};
    struct text clean = {0};
    text_format(&line, "%s %s", measured, view->title);
    const char *separator = ";";
    for (int i = 0; i < summary->report->estimator_count; i++) {
        char error[WORDING_BYTES];
        const struct comparison *row = comparison_of_peak(view, summary->report->estimators[i]);
        if (row != NULL && summary->shown[i]) {
            text_format(&line, "%s %s %s", separator, row->estimator, error_word(row->error_known, row->error, error));
            separator = ",";
        }
    }
    terminal_append(&clean, text_string(&line));
    paragraph_append(summary->text, text_string(&clean), summary->width, 2, STATUS_COLUMNS);
    text_release(&clean);
    text_release(&line);
}

static void columns_write(const struct summary *summary, const struct case_view *view, const char *measured)
{
    struct text clean = {0};
    cell_append(summary->text, measured, MEASURED_COLUMNS, true);
    for (int i = 0; i < summary->report->estimator_count; i++) {
        char error[WORDING_BYTES];
        if (!summary->shown[i]) {
            continue;
        }
        const struct comparison *row = comparison_of_peak(view, summary->report->estimators[i]);
        bool failed = row != NULL && row->judgement == JUDGEMENT_FAIL;
        colour_append(summary, failed ? "\x1b[31m" : "");
        text_append(summary->text, " ");
        cell_append(summary->text, row != NULL ? error_word(row->error_known, row->error, error) : "-",
                    summary->error_columns[i] - 1, true);
        colour_append(summary, failed ? "\x1b[0m" : "");
    }
    text_append(summary->text, "  ");
    terminal_append(&clean, view->title);
    paragraph_append(summary->text, text_string(&clean), summary->width, summary->figure_columns,
                     summary->figure_columns);
    text_release(&clean);
}

/* Below the line of a case; nothing for an empty string. */
static void note_write(const struct summary *summary, const char *string)
{
    struct text clean = {0};
    if (string != NULL && string[0] != '\0') {
        text_append(summary->text, "       ");
        terminal_append(&clean, string);
        paragraph_append(summary->text, text_string(&clean), summary->width, STATUS_COLUMNS, STATUS_COLUMNS);
        text_release(&clean);
    }
}

static void case_write(const struct summary *summary, const struct case_view *view)
{
    char measured[WORDING_BYTES];
    struct text clean = {0};
    bytes_word(view->measured.peak_bytes[LEVEL_ALLOCATED], false, measured);
    terminal_append(&clean, view->status);
    colour_append(summary, status_colour(view->status));
    cell_append(summary->text, text_string(&clean), STATUS_COLUMNS, false);
    colour_append(summary, "\x1b[0m");
    text_release(&clean);
    if (summary->narrow) {
        paragraph_write(summary, view, measured);
    } else {
        columns_write(summary, view, measured);
    }
    note_write(summary, view->reason);
    struct text invalid = {0};
    validity_append(&invalid, view);
    note_write(summary, text_string(&invalid));
    text_release(&invalid);
}

/* The estimators that have no column. */
static void hidden_write(const struct summary *summary)
{
    struct text line = {0};
    struct text clean = {0};
    for (int i = 0; i < summary->report->estimator_count; i++) {
        if (!summary->shown[i]) {
            text_format(&line, "%s %s", line.length == 0 ? "not shown here:" : ",", summary->report->estimators[i]);
        }
    }
    if (line.length > 0) {
        terminal_append(&clean, text_string(&line));
        paragraph_append(summary->text, text_string(&clean), summary->width, 2, 0);
    }
    text_release(&clean);
    text_release(&line);
}

void summary_write(const struct report *report, const struct report_style *style, struct text *text)
{
    struct summary summary = {.report = report, .text = text, .width = style->width, .colour = style->colour};
    struct text line = {0};
    columns_choose(&summary);
    text_append(&line, "Peak of allocated bytes");
    struct text device = {0};
    device_append(&device, report);
    if (device.length > 0) {
        text_append(&line, " on ");
        terminal_append(&line, text_string(&device));
    }
    text_release(&device);
    const char *basis = report->basis;
    text_format(&line, ", %s, and how far each estimator was off: (predicted - %s) / %s", basis, basis, basis);
    paragraph_append(text, text_string(&line), summary.width, 0, 0);
    text_release(&line);
    text_append(text, "\n");
    heading_append(&summary);
    for (int i = 0; i < report->case_count; i++) {
        case_write(&summary, &report->cases[i]);
    }
    text_append(text, "\n");
    hidden_write(&summary);
    counts_append(&line, report);
    paragraph_append(text, text_string(&line), summary.width, 2, 0);
    text_release(&line);
}
