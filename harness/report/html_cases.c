/* HTML cases: a row is the summary of a <details>, so that it folds without a script. End tags that HTML can do without
 * are left out: a page of many cases is made of little else. */
#include "harness/report/html_cases.h"

#include <string.h>

#include "harness/report/case_phrases.h"
#include "harness/report/escape.h"
#include "harness/report/headline.h"
#include "harness/report/html_page.h"
#include "harness/report/placed_view.h"
#include "harness/report/side_table.h"
#include "harness/report/spread.h"
#include "harness/report/wording.h"

/* One of our own class names, never the text of a record. */
static const char *status_class(const char *status)
{
    static const char *const known[] = {"ok", "fail", "oom", "timeout", "skip"};
    for (size_t index = 0; index < sizeof known / sizeof known[0]; index++) {
        if (strcmp(status, known[index]) == 0) {
            return known[index];
        }
    }
    return "error";
}

/* A figure of a row. name: what its column is, which a phone, without a heading, shows above it. */
static void figure_append(struct text *text, const char *name, const char *word, bool failed)
{
    text_append(text, failed ? "<span class=\"n fail\" data-of=\"" : "<span class=n data-of=\"");
    xml_append(text, name);
    text_format(text, "\">%s</span>", word);
}

static void error_append(struct text *text, const struct case_view *view, const char *estimator)
{
    char word[WORDING_BYTES];
    const struct comparison *row = comparison_of_peak(view, estimator);
    figure_append(text, estimator, row != NULL ? error_word(row->error_known, row->error, word) : "-",
                  row != NULL && row->judgement == JUDGEMENT_FAIL);
}

static bool has_column(const struct report *report, const struct html_columns *columns, const struct comparison *row)
{
    int index = 0;
    while (index < report->estimator_count && strcmp(report->estimators[index], row->estimator) != 0) {
        index++;
    }
    return index < report->estimator_count && columns->shown[index];
}

/* With the place before it, if it is of one. */
static void quantity_append(struct text *text, const struct comparison *row)
{
    char word[WORDING_BYTES];
    struct text words = {0};
    place_prefix_append(&words, row);
    text_append(&words, quantity_word(row->quantity, word));
    xml_append(text, text_string(&words));
    text->failed = text->failed || words.failed;
    text_release(&words);
}

/* "replay process: predicted 400.00 MiB, measured 488.77 MiB, -18.16 %" */
static void decisive_append(struct text *text, const struct case_view *view, const struct comparison *row)
{
    char word[WORDING_BYTES];
    text_append(text, row->judgement == JUDGEMENT_FAIL ? "<span class=\"why fail\">" : "<span class=why>");
    xml_append(text, row->estimator);
    text_append(text, " ");
    quantity_append(text, row);
    text_format(text, ": predicted %s", bytes_word(row->predicted_bytes, false, word));
    text_format(text, ", %s %s", view->basis, bytes_word(row->measured_bytes, false, word));
    if (row->error_known) {
        text_format(text, ", %s", error_word(true, row->error, word));
    }
    if (row->judgement == JUDGEMENT_NONE) {
        text_append(text, ", not judged: ");
        xml_append(text, row->note);
    }
    text_append(text, "</span>");
}

/* What decided that the case did not pass and no column shows: another level than the allocated peak, an estimator
 * without a column, a figure that could not be judged. */
static void decisive_list(struct text *text, const struct report *report, const struct html_columns *columns,
                          const struct case_view *view)
{
    enum { SHOWN = 3 };
    const bool is_open = view->standing == STANDING_OPEN;
    int count = 0;
    for (int index = 0; index < view->comparison_count; index++) {
        const struct comparison *row = &view->comparisons[index];
        bool decides =
            row->judgement == JUDGEMENT_FAIL || (is_open && row->judgement == JUDGEMENT_NONE && row->note != NULL);
        bool is_seen = row->judgement == JUDGEMENT_FAIL && has_column(report, columns, row) &&
                       row == comparison_of_peak(view, row->estimator);
        if (decides && !is_seen && count++ < SHOWN) {
            decisive_append(text, view, row);
        }
    }
    if (count > SHOWN) {
        text_format(text, "<span class=why>and %d more</span>", count - SHOWN);
    }
}

static void row_append(struct text *text, const struct report *report, const struct html_columns *columns,
                       const struct case_view *view)
{
    char word[WORDING_BYTES];
    text_append(text, "<summary class=row><span>");
    xml_append(text, view->title);
    decisive_list(text, report, columns, view);
    text_format(text, "</span><span class=\"s %s\">", status_class(case_word(view)));
    xml_append(text, case_word(view));
    text_append(text, view->invalid ? " <span class=\"invalid\">invalid readings</span>" : "");
    text_append(text, "</span>");
    figure_append(text, report->basis, bytes_word(view->measured.peak_bytes[LEVEL_ALLOCATED], false, word), false);
    for (int index = 0; index < report->estimator_count; index++) {
        if (columns->shown[index]) {
            error_append(text, view, report->estimators[index]);
        }
    }
    text_append(text, "</summary>\n");
}

static void note_append(struct text *text, const char *name, const struct text *words)
{
    if (words->length > 0) {
        text_format(text, "<p class=note>%s", name);
        xml_append(text, text_string(words));
        text_append(text, "\n");
    }
}

static void why_append(struct text *text, const struct case_view *view)
{
    struct text why = {0}, invalid = {0};
    text_append(&why, view->reason);
    oom_append(&why, view);
    validity_append(&invalid, view);
    note_append(text, "", &why);
    text_release(&why);
    search_append(&why, view);
    note_append(text, "", &why);
    note_append(text, "", &invalid);
    text_release(&why);
    declined_append(&why, view);
    note_append(text, "", &why);
    text_release(&why);
    text_release(&invalid);
}

static void causes_note(struct text *text, const struct case_view *view)
{
    struct text words = {0}, items = {0};
    causes_append(&words, view->measured.stages[STAGE_LOAD], &view->causes_at_load);
    note_append(text, "After loading: ", &words);
    text_release(&words);
    enum level level = items_append(&items, view);
    if (level != LEVEL_COUNT) {
        text_format(&words, "%s, %s", level_name(level), text_string(&items));
        note_append(text, "By cause: ", &words);
    }
    text_release(&words);
    spread_append(&words, &view->spread);
    note_append(text, "Over attempts: ", &words);
    text_release(&words);
    text_release(&items);
}

static void verdict_append(struct text *text, const struct comparison *row)
{
    if (row->judgement == JUDGEMENT_NONE && row->note != NULL) {
        text_append(text, "<td class=note>not judged: ");
        xml_append(text, row->note);
        return;
    }
    text_append(text, row->judgement == JUDGEMENT_PASS   ? "<td class=pass>pass"
                      : row->judgement == JUDGEMENT_FAIL ? "<td class=fail>fail"
                                                         : "<td>");
}

static bool has_verdicts(const struct case_view *view)
{
    int index = 0;
    while (index < view->comparison_count && view->comparisons[index].judgement == JUDGEMENT_NONE &&
           view->comparisons[index].note == NULL) {
        index++;
    }
    return index < view->comparison_count;
}

/* Of a case that was not measured the predictions alone, and what is said of them. */
static void comparisons_append(struct text *text, const char *basis, const struct case_view *view)
{
    char word[WORDING_BYTES];
    bool measured = case_has_figures(view), verdicts = measured || has_verdicts(view);
    if (view->comparison_count == 0) {
        return;
    }
    html_table_begin(text);
    text_append(text, "<tr><th>estimator<th>quantity<th class=n>predicted");
    if (measured) {
        text_format(text, "<th class=n>%s<th class=n>error", basis);
    }
    text_append(text, verdicts ? "<th>verdict\n" : "\n");
    for (int index = 0; index < view->comparison_count; index++) {
        const struct comparison *row = &view->comparisons[index];
        text_append(text, "<tr><td>");
        xml_append(text, row->estimator);
        text_append(text, "<td>");
        quantity_append(text, row);
        text_format(text, "<td class=n>%s", bytes_word(row->predicted_bytes, false, word));
        if (measured) {
            text_format(text, "<td class=n>%s", bytes_word(row->measured_bytes, false, word));
            text_format(text, "<td class=n>%s", error_word(row->error_known, row->error, word));
        }
        if (verdicts) {
            verdict_append(text, row);
        }
        text_append(text, "\n");
    }
    html_table_end(text);
}

/* The peaks of the stages, if there are two or more; those of a placed case are a side table. */
static void stages_append(struct text *text, const struct report *report, const struct case_view *view)
{
    char word[WORDING_BYTES];
    int present = 0;
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        present += view->measured.stages[stage]->present ? 1 : 0;
    }
    if (present < 2 || (view->placed != NULL && view->placed->place_count > 0)) {
        return;
    }
    html_table_begin(text);
    text_format(text, "<tr><th>peak in stage, %s", report->basis);
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        text_format(text, "<th class=n>%s", level_name((enum level)level));
    }
    text_append(text, "<th class=n>allocated, predicted\n");
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        const struct stage_view *measured = view->measured.stages[stage];
        if (!measured->present) {
            continue;
        }
        text_format(text, "<tr><td>%s", report_stage_name(stage));
        for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
            text_format(text, "<td class=n>%s", bytes_word(measured->peak_bytes[level], false, word));
        }
        int64_t predicted_bytes = view->predicted.stages[stage]->peak_bytes[LEVEL_ALLOCATED];
        text_format(text, "<td class=n>%s\n", bytes_word(predicted_bytes, false, word));
    }
    html_table_end(text);
}

static void heading_append(struct text *text, const struct report *report, const struct html_columns *columns)
{
    text_format(text, "<div class=\"row head\"><span>case</span><span class=s>status</span><span class=n>%s</span>",
                report->basis);
    for (int index = 0; index < report->estimator_count; index++) {
        if (columns->shown[index]) {
            text_append(text, "<span class=n>");
            xml_append(text, report->estimators[index]);
            text_append(text, "</span>");
        }
    }
    text_append(text, "</div>\n");
}

void html_cases_append(struct text *text, const struct report *report, const struct html_columns *columns,
                       const struct case_view *const *cases, int count, bool open)
{
    heading_append(text, report, columns);
    for (int at = 0; at < count; at++) {
        text_append(text, open ? "<details open>" : "<details>");
        row_append(text, report, columns, cases[at]);
        text_append(text, "<div>\n");
        why_append(text, cases[at]);
        comparisons_append(text, report->basis, cases[at]);
        stages_append(text, report, cases[at]);
        side_details_html(cases[at], text);
        causes_note(text, cases[at]);
        text_append(text, "</div></details>\n");
    }
}

static void skipped_row(struct text *text, const struct case_view *view, bool are_predicted)
{
    char word[WORDING_BYTES];
    const bool unfolds = view->comparison_count > 0;
    text_append(text, unfolds ? "<details><summary class=\"row two\"><span>" : "<div class=\"row two\"><span>");
    xml_append(text, view->title);
    text_append(text, "</span>");
    if (are_predicted) {
        figure_append(text, "replay predicts", bytes_word(view->predicted.peak_bytes[LEVEL_ALLOCATED], false, word),
                      false);
    }
    text_append(text, unfolds ? "</summary>\n<div>\n" : "</div>\n");
    comparisons_append(text, NULL, view);
    text_append(text, unfolds ? "</div></details>\n" : "");
}

void html_skipped_write(const void *context, struct text *text)
{
    const struct case_order *order = context;
    const char *reason = NULL;
    const bool are_predicted = case_order_skipped_are_predicted(order);
    for (int at = order->shown_count - order->skipped_count; at < order->shown_count; at++) {
        const struct case_view *view = order->cases[at];
        if (reason == NULL || strcmp(reason, view->reason) != 0) {
            reason = view->reason;
            text_append(text, reason[0] != '\0' ? "<p class=note>" : "");
            xml_append(text, reason);
            text_append(text, reason[0] != '\0' ? "\n" : "");
            text_append(text, "<div class=\"row two head\"><span>case</span>");
            text_append(text, are_predicted ? "<span class=n>replay predicts</span></div>\n" : "</div>\n");
        }
        skipped_row(text, view, are_predicted);
    }
}
