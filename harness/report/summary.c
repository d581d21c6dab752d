/* Summary: one line for each case: what was measured, and how far each estimator was off. For a terminal; the whole
 * story of a case is in table.c.
 *
 * As many estimators have a column as the width has room for, at most four: those that failed somewhere, then those
 * that answer most cases. Cases of one mode stand together below columns that have figures for it: what says nothing of
 * a generation gives way there. The line below names the rest. If there is room for none, a case becomes a paragraph
 * (docs/decisions/0013). */
#include <stdio.h>
#include <string.h>

#include "harness/report/case_order.h"
#include "harness/report/case_phrases.h"
#include "harness/report/cases_page.h"
#include "harness/report/escape.h"
#include "harness/report/headline.h"
#include "harness/report/placed_view.h"
#include "harness/report/proof_rates.h"
#include "harness/report/wording.h"

enum {
    STATUS_COLUMNS = 7,
    MEASURED_COLUMNS = 11,
    ERROR_COLUMNS = 10,
    NAME_COLUMNS = 24,
    SHOWN_MAXIMUM = 4,
    MODES_MAXIMUM = 8
};

struct summary {
    const struct report *report;
    struct text *text;
    int width;
    bool colour, narrow;
    bool shown[ESTIMATOR_MAXIMUM];
    int error_columns[ESTIMATOR_MAXIMUM];
    int figure_columns;           /* all columns before the name of the case */
    bool ever[ESTIMATOR_MAXIMUM]; /* shown in the columns of any mode */
    bool begun;                   /* a heading stands */
};

static int columns_needed(const char *estimator)
{
    int needed = width_measure(estimator) + 1;
    return needed > 15 ? 15 : needed < ERROR_COLUMNS ? ERROR_COLUMNS : needed;
}

/* The columns for the cases of a mode; NULL: of all. Returns whether they are others than before. */
static bool columns_choose(struct summary *summary, const char *mode)
{
    int ranked[ESTIMATOR_MAXIMUM];
    bool before[ESTIMATOR_MAXIMUM];
    memcpy(before, summary->shown, sizeof before);
    memset(summary->shown, 0, sizeof summary->shown);
    int count = estimators_rank(summary->report, mode, true, ranked), shown_count = 0;
    summary->figure_columns = STATUS_COLUMNS + MEASURED_COLUMNS + 2;
    for (int at = 0; at < count && shown_count < SHOWN_MAXIMUM; at++) {
        int needed = columns_needed(summary->report->estimators[ranked[at]]);
        bool fits = summary->width >= summary->figure_columns + needed + NAME_COLUMNS;
        if (fits || summary->narrow) {
            summary->shown[ranked[at]] = summary->ever[ranked[at]] = true;
            summary->error_columns[ranked[at]] = needed;
            summary->figure_columns += needed;
            shown_count++;
        }
    }
    return !summary->begun || memcmp(before, summary->shown, sizeof before) != 0;
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
    terminal_append(&clean, case_word(view));
    colour_append(summary, status_colour(case_word(view)));
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
    declined_append(&invalid, view);
    note_write(summary, text_string(&invalid));
    text_release(&invalid);
    struct text words = {0};
    text_append(&words, view->placed != NULL && view->placed->place_count > 0 ? "by place: " : "");
    places_append(&words, view);
    note_write(summary, text_string(&words));
    text_release(&words);
    search_append(&words, view);
    note_write(summary, text_string(&words));
    text_release(&words);
}

/* The estimators that have no column. */
static void hidden_write(const struct summary *summary)
{
    struct text line = {0};
    struct text clean = {0};
    for (int i = 0; i < summary->report->estimator_count; i++) {
        if (!summary->ever[i]) {
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

/* The modes of the cases in the order in which they first appear; 0 if there are more than there is room for. */
static int modes_find(const struct report *report, const char *modes[MODES_MAXIMUM])
{
    int count = 0;
    for (int i = 0; i < report->case_count; i++) {
        const char *mode = report->cases[i].mode != NULL ? report->cases[i].mode : "";
        int at = 0;
        while (at < count && strcmp(modes[at], mode) != 0) {
            at++;
        }
        if (at == MODES_MAXIMUM) {
            return 0;
        }
        modes[at] = mode;
        count += at == count ? 1 : 0;
    }
    return count;
}

/* Of a mode, NULL: of all, the cases of that urgency, or all that passed. A heading if the columns are new. */
static void mode_write(struct summary *summary, const char *mode, int urgency)
{
    bool chosen = false;
    for (int i = 0; i < summary->report->case_count; i++) {
        const struct case_view *view = report_case(summary->report, i);
        bool belongs = mode == NULL || strcmp(view->mode != NULL ? view->mode : "", mode) == 0;
        if (!belongs || view->standing == STANDING_SKIP ||
            (case_has_failed(view) ? case_urgency(view) : FAILURE_URGENCIES) != urgency) {
            continue;
        }
        if (!chosen && columns_choose(summary, mode)) {
            text_append(summary->text, summary->begun && !summary->narrow ? "\n" : "");
            heading_append(summary);
            summary->begun = true;
        }
        chosen = true;
        case_write(summary, view);
    }
}

/* Skipped cases have no figures: they stand apart, below the reason that those which follow each other share. */
static void skipped_write(const struct summary *summary)
{
    const char *reason = NULL;
    for (int i = 0; i < summary->report->case_count; i++) {
        const struct case_view *view = report_case(summary->report, i);
        if (view->standing != STANDING_SKIP) {
            continue;
        }
        if (reason == NULL || strcmp(reason, view->reason) != 0) {
            struct text line = {0};
            reason = view->reason;
            text_format(&line, "Skipped, not measured%s%s", reason[0] != '\0' ? ": " : "", reason);
            text_append(summary->text, i > 0 || summary->begun ? "\n" : "");
            outside_paragraph_append(summary->text, text_string(&line), summary->width, 2, 0);
            text_release(&line);
        }
        colour_append(summary, status_colour("skip"));
        cell_append(summary->text, "skip", STATUS_COLUMNS, false);
        colour_append(summary, "\x1b[0m");
        outside_paragraph_append(summary->text, view->title, summary->width, STATUS_COLUMNS, STATUS_COLUMNS);
    }
}

static void cases_write(struct summary *summary)
{
    const char *modes[MODES_MAXIMUM];
    int count = modes_find(summary->report, modes);
    for (int urgency = 0; urgency <= FAILURE_URGENCIES; urgency++) {
        for (int at = 0; at < count; at++) {
            mode_write(summary, modes[at], urgency);
        }
        if (count == 0) {
            mode_write(summary, NULL, urgency);
        }
    }
    skipped_write(summary);
}

/* What the report comes to if that is no pass, and what is missing. */
static void headline_write(const struct summary *summary)
{
    enum { NAMES_SHOWN = 10 };
    struct text line = {0};
    headline_append(&line, summary->report);
    if (line.length > 0) {
        colour_append(summary, "\x1b[1;31m");
        outside_paragraph_append(summary->text, text_string(&line), summary->width, 2, 0);
        colour_append(summary, "\x1b[0m");
        text_release(&line);
        missing_names_append(&line, summary->report, NAMES_SHOWN);
        if (line.length > 0) {
            outside_paragraph_append(summary->text, text_string(&line), summary->width, 2, 0);
        }
        text_append(summary->text, "\n");
    }
    text_release(&line);
}

/* What the figures are, and of which device. */
static void title_append(struct text *line, const struct report *report)
{
    const char *basis = report->basis;
    struct text device = {0};
    device_append(&device, report);
    bool is_said = strcmp(basis, BASIS_REPLAYED) == 0 && strstr(text_string(&device), basis) != NULL;
    text_append(line, "Peak of allocated bytes");
    if (device.length > 0) {
        text_append(line, " on ");
        terminal_append(line, text_string(&device));
    }
    if (report_is_measured(report)) {
        text_format(line, "%s%s, and how far each estimator was off: (predicted - %s) / %s", is_said ? "" : ", ",
                    is_said ? "" : basis, basis, basis);
    } else {
        text_append(line, ": nothing was measured");
    }
    text_release(&device);
}

void summary_write(const void *subject, const struct report_style *style, struct text *text)
{
    const struct report *report = ((const struct cases_subject *)subject)->report;
    struct summary summary = {.report = report, .text = text, .width = style->width, .colour = style->colour};
    struct text line = {0};
    summary.narrow = summary.width < STATUS_COLUMNS + MEASURED_COLUMNS + 2 + ERROR_COLUMNS + NAME_COLUMNS;
    headline_write(&summary);
    title_append(&line, report);
    paragraph_append(text, text_string(&line), summary.width, 0, 0);
    text_release(&line);
    text_append(text, "\n");
    cases_write(&summary);
    text_append(text, "\n");
    if (report_is_measured(report)) {
        hidden_write(&summary);
    }
    if (!mismatch_is_told(report)) {
        uncounted_append(&line, report);
        if (line.length > 0) {
            outside_paragraph_append(text, text_string(&line), summary.width, 2, 0);
        }
        text_release(&line);
    }
    size_t before = text->length;
    proof_rates_paragraphs(report, summary.width, text);
    text_append(text, text->length > before ? "\n" : "");
    counts_append(&line, report);
    outside_paragraph_append(text, text_string(&line), summary.width, 2, 0);
    text_release(&line);
}
