/* Markdown: the report as GitHub-flavoured tables, for job summaries and documentation. */
#include <string.h>

#include "harness/report/case_order.h"
#include "harness/report/case_view.h"
#include "harness/report/escape.h"
#include "harness/report/headline.h"
#include "harness/report/note_groups.h"
#include "harness/report/plot_set.h"
#include "harness/report/proof_rates.h"
#include "harness/report/provenance.h"
#include "harness/report/side_table.h"
#include "harness/report/spread.h"
#include "harness/report/wording.h"

enum { CASES_MAXIMUM = 1000, COLUMNS_MAXIMUM = 6 };

struct page {
    const struct report *report;
    struct text *text;
    struct case_order order;
    bool shown[ESTIMATOR_MAXIMUM]; /* the estimators that have a column */
    bool is_measured;              /* else cases have no figures but predictions */
};

static void row_append(const struct page *page, const struct case_view *view)
{
    char word[WORDING_BYTES];
    text_append(page->text, "| ");
    markdown_append(page->text, view->title);
    text_append(page->text, case_has_failed(view) ? " | **" : " | ");
    markdown_append(page->text, case_word(view));
    text_append(page->text, case_has_failed(view) ? "**" : "");
    text_append(page->text, view->invalid ? ", invalid" : "");
    if (page->is_measured) {
        text_format(page->text, " | %s", bytes_word(view->measured.peak_bytes[LEVEL_ALLOCATED], false, word));
    }
    for (int index = 0; index < page->report->estimator_count; index++) {
        if (page->shown[index]) {
            const struct comparison *row = comparison_of_peak(view, page->report->estimators[index]);
            const char *bold = row != NULL && row->judgement == JUDGEMENT_FAIL ? "**" : "";
            text_format(page->text, " | %s%s%s", bold,
                        row != NULL ? error_word(row->error_known, row->error, word) : "-", bold);
        }
    }
    text_append(page->text, " |\n");
}

/* The estimators that predict something of these cases and have no column. */
static void hidden_append(const struct page *page)
{
    const char *separator = "\nNot in the table: ";
    for (int index = 0; index < page->report->estimator_count; index++) {
        if (!page->shown[index]) {
            text_append(page->text, separator);
            markdown_append(page->text, page->report->estimators[index]);
            separator = ", ";
        }
    }
    text_append(page->text, separator[0] == ',' ? ".\n" : "");
}

static void cases_heading(const struct page *page)
{
    if (page->is_measured) {
        text_format(page->text, "\n## Cases\n\nErrors of the allocated peak, (predicted - %s) / %s.\n\n",
                    page->report->basis, page->report->basis);
        text_format(page->text, "| case | status | %s |", page->report->basis);
    } else {
        text_append(page->text, "\n## Cases\n\nNothing was measured.\n\n| case | status |");
    }
    for (int index = 0; index < page->report->estimator_count; index++) {
        if (page->shown[index]) {
            text_append(page->text, " ");
            markdown_append(page->text, page->report->estimators[index]);
            text_append(page->text, " |");
        }
    }
    text_append(page->text, page->is_measured ? "\n|---|---|--:|" : "\n|---|---|");
    for (int index = 0; index < page->report->estimator_count; index++) {
        text_append(page->text, page->shown[index] ? "--:|" : "");
    }
    text_append(page->text, "\n");
}

/* Those that were not skipped. */
static void cases_append(const struct page *page)
{
    struct text note = {0};
    int count = page->order.shown_count - page->order.skipped_count;
    if (count > 0) {
        cases_heading(page);
    }
    for (int at = 0; at < count; at++) {
        row_append(page, page->order.cases[at]);
    }
    if (count > 0 && page->is_measured) {
        hidden_append(page);
    }
    case_order_note(&note, &page->order);
    text_format(page->text, note.length > 0 ? "\n%s\n" : "%s", text_string(&note));
    text_release(&note);
}

static void summary_append(struct text *text, const struct report *report, const struct accuracy *rows, int count)
{
    struct text uncounted = {0};
    char word[WORDING_BYTES];
    text_format(text,
                "\n## Accuracy per estimator\n\n"
                "Error is predicted - %s, over %s. Under: cases for which too little was predicted.\n\n",
                report->basis, report->basis);
    text_append(text,
                "| estimator | quantity | cases | median error (signed) | worst error | worst case | under | failed |\n"
                "|---|---|--:|--:|--:|---|--:|--:|\n");
    for (int index = 0; index < count; index++) {
        const struct accuracy *row = &rows[index];
        bool known = row->case_count > 0;
        text_append(text, "| ");
        markdown_append(text, row->estimator);
        text_append(text, " | ");
        markdown_append(text, quantity_word(row->quantity, word));
        text_format(text, " | %d", row->case_count);
        text_format(text, " | %s", error_word(known, row->median_error, word));
        text_format(text, " | %s | ", error_word(known, row->worst_error, word));
        markdown_append(text, known && row->worst_case != NULL ? row->worst_case : "-");
        text_format(text, " | %d | %d |\n", row->under_count, row->failed_count);
    }
    places_counted_append(&uncounted, rows, count);
    text_format(text, uncounted.length > 0 ? "\n%s\n" : "%s", text_string(&uncounted));
    text_release(&uncounted);
    uncounted_append(&uncounted, report);
    if (uncounted.length > 0) {
        text_append(text, "\n");
        markdown_append(text, text_string(&uncounted));
        text_append(text, ".\n");
    }
    text_release(&uncounted);
}

static void causes_list(const struct page *page)
{
    struct note_groups notes = {0};
    for (int at = 0; at < page->order.shown_count; at++) {
        const struct case_view *view = page->order.cases[at];
        struct text words = {0};
        causes_append(&words, &view->measured.stages[STAGE_LOAD], &view->causes_at_load);
        note_groups_add(&notes, view->title, text_string(&words));
        text_release(&words);
    }
    note_groups_markdown(page->text, &notes, "From requested to reserved, after loading");
    note_groups_release(&notes);
}

static void spreads_list(const struct page *page)
{
    struct note_groups notes = {0};
    for (int at = 0; at < page->order.shown_count; at++) {
        const struct case_view *view = page->order.cases[at];
        struct text words = {0};
        spread_append(&words, &view->spread);
        note_groups_add(&notes, view->title, text_string(&words));
        text_release(&words);
    }
    note_groups_markdown(page->text, &notes, "Spread over attempts, each in a process of its own: highest less lowest");
    note_groups_release(&notes);
}

static void items_list(const struct page *page)
{
    struct note_groups notes = {0};
    for (int at = 0; at < page->order.shown_count; at++) {
        const struct case_view *view = page->order.cases[at];
        struct text words = {0}, items = {0};
        enum level level = items_append(&items, view);
        if (level != LEVEL_COUNT) {
            text_format(&words, "%s %s", level_name(level), text_string(&items));
        }
        note_groups_add(&notes, view->title, text_string(&words));
        text_release(&items);
        text_release(&words);
    }
    note_groups_markdown(page->text, &notes, "What driver or kernel counted, by cause");
    note_groups_release(&notes);
}

/* What was to be expected of a case that gave no figure to hold it against. */
static void prediction_append(struct text *words, const struct case_view *view)
{
    char word[WORDING_BYTES];
    int64_t predicted_bytes = view->predicted.peak_bytes[LEVEL_ALLOCATED];
    if (view->measured.peak_bytes[LEVEL_ALLOCATED] == BYTES_UNKNOWN && predicted_bytes != BYTES_UNKNOWN) {
        text_format(words, "; replay predicted a peak of %s", bytes_word(predicted_bytes, false, word));
    }
}

/* Why the failures failed, or why others are invalid. */
static void reasons_list(const struct page *page, const char *title, int first, int end)
{
    struct note_groups notes = {0};
    for (int at = first; at < end; at++) {
        const struct case_view *view = page->order.cases[at];
        struct text words = {0};
        if (view->reason[0] != '\0' || view->oom_stage != NULL || case_has_failed(view)) {
            text_format(&words, "%s%s%s", case_word(view), view->reason[0] != '\0' ? ": " : "", view->reason);
            oom_append(&words, view);
            prediction_append(&words, view);
        }
        text_append(&words, view->invalid && words.length > 0 ? "; " : "");
        validity_append(&words, view);
        note_groups_add(&notes, view->title, text_string(&words));
        text_release(&words);
    }
    note_groups_markdown(page->text, &notes, title);
    note_groups_release(&notes);
}

static void skipped_heading(const struct page *page, const char *reason, bool are_predicted)
{
    text_append(page->text, reason[0] != '\0' ? "\n" : "");
    markdown_append(page->text, reason);
    text_append(page->text, reason[0] != '\0' ? "\n" : "");
    text_append(page->text,
                are_predicted ? "\n| case | peak that replay predicts |\n|---|--:|\n" : "\n| case |\n|---|\n");
}

/* Skipped cases have predictions at most: they stand apart, below the reason that those which follow each other share. */
static void skipped_list(const struct page *page)
{
    const char *reason = NULL;
    char word[WORDING_BYTES];
    const bool are_predicted = case_order_skipped_are_predicted(&page->order);
    for (int at = page->order.shown_count - page->order.skipped_count; at < page->order.shown_count; at++) {
        const struct case_view *view = page->order.cases[at];
        text_append(page->text, reason == NULL ? "\n## Skipped, not measured\n" : "");
        if (reason == NULL || strcmp(reason, view->reason) != 0) {
            reason = view->reason;
            skipped_heading(page, reason, are_predicted);
        }
        text_append(page->text, "| ");
        markdown_append(page->text, view->title);
        if (are_predicted) {
            text_format(page->text, " | %s", bytes_word(view->predicted.peak_bytes[LEVEL_ALLOCATED], false, word));
        }
        text_append(page->text, " |\n");
    }
}

static void figures_append(const struct page *page, const struct report_style *style)
{
    bool any = false;
    for (int at = 0; style->plots != NULL && style->plots->link != NULL && at < style->plots->count; at++) {
        const struct plot *plot = &style->plots->plots[at];
        if (plot->svg.length > 0) {
            text_append(page->text, any ? "\n![" : "\n## Figures\n\n![");
            markdown_append(page->text, plot->title);
            text_append(page->text, "](");
            link_append(page->text, style->plots->link);
            text_format(page->text, "/%s.svg)\n", plot->name);
            any = true;
        }
    }
}

/* What the report comes to where that is no pass, and what is missing. */
static void headline_write(const struct page *page)
{
    enum { NAMES_SHOWN = 100 };
    struct text line = {0};
    headline_append(&line, page->report);
    if (line.length > 0) {
        text_append(page->text, "**");
        markdown_append(page->text, text_string(&line));
        text_append(page->text, "**\n\n");
        text_release(&line);
        missing_names_append(&line, page->report, NAMES_SHOWN);
        markdown_append(page->text, text_string(&line));
        text_append(page->text, line.length > 0 ? "\n\n" : "");
    }
    text_release(&line);
}

static void head_append(const struct page *page)
{
    struct text line = {0};
    struct report *const one = (struct report *)(uintptr_t)page->report;
    provenance_title_append(&line, &one, 1);
    if (line.length == 0) {
        text_format(&line, "Predicted against %s", page->report->basis);
    }
    text_append(page->text, "# ");
    markdown_append(page->text, text_string(&line));
    text_append(page->text, "\n\n");
    text_release(&line);
    headline_write(page);
    provenance_append(&line, &one, 1);
    text_append(&line, line.length > 0 ? "; " : "");
    counts_append(&line, page->report);
    markdown_append(page->text, text_string(&line));
    text_format(page->text, ". Binary units; %s; - is not known.\n", peaks_words(page->report));
    text_release(&line);
}

void markdown_write(const struct report *report, const struct report_style *style, const struct accuracy *rows,
                    int count, struct text *text)
{
    struct page page = {.report = report, .text = text, .is_measured = report_is_measured(report)};
    if (!case_order_make(report, CASES_MAXIMUM, &page.order)) {
        text->failed = true;
        return;
    }
    estimators_choose(report, NULL, COLUMNS_MAXIMUM, true, page.shown);
    head_append(&page);
    reasons_list(&page, "Did not pass", 0, page.order.failed_count);
    if (report->case_count > 0) {
        cases_append(&page);
    }
    skipped_list(&page);
    if (count > 0) {
        summary_append(text, report, rows, count);
    }
    proof_rates_markdown(report, text);
    side_tables_markdown(report, text);
    figures_append(&page, style);
    causes_list(&page);
    items_list(&page);
    spreads_list(&page);
    reasons_list(&page, "Reasons", page.order.failed_count, page.order.shown_count - page.order.skipped_count);
    case_order_release(&page.order);
}
