/* Markdown: the report as GitHub-flavoured tables, for job summaries and documentation. */
#include "harness/report/case_view.h"
#include "harness/report/escape.h"
#include "harness/report/spread.h"
#include "harness/report/wording.h"

/* NULL: nothing, in the rows below the first of a case. */
static void status_append(struct text *text, const struct case_view *view)
{
    markdown_append(text, view != NULL ? view->status : "");
    text_append(text, view != NULL && view->invalid ? ", invalid" : "");
}

static void comparison_append(struct text *text, const struct case_view *view, const struct comparison *row, bool first)
{
    char word[WORDING_BYTES];
    text_append(text, "| ");
    markdown_append(text, first ? view->title : "");
    text_append(text, " | ");
    status_append(text, first ? view : NULL);
    text_append(text, " | ");
    markdown_append(text, row->estimator);
    text_append(text, " | ");
    markdown_append(text, quantity_word(row->quantity, word));
    text_format(text, " | %s", bytes_word(row->predicted_bytes, false, word));
    text_format(text, " | %s", bytes_word(row->measured_bytes, false, word));
    text_format(text, " | %s", error_word(row->error_known, row->error, word));
    text_append(text, " | ");
    if (row->judgement == JUDGEMENT_NONE && row->note != NULL) {
        text_append(text, "not judged: ");
        markdown_append(text, row->note);
    }
    text_format(text, "%s |\n",
                row->judgement == JUDGEMENT_PASS   ? "pass"
                : row->judgement == JUDGEMENT_FAIL ? "**fail**"
                                                   : "");
}

static void case_append(struct text *text, const struct case_view *view)
{
    for (int index = 0; index < view->comparison_count; index++) {
        comparison_append(text, view, &view->comparisons[index], index == 0);
    }
    if (view->comparison_count == 0) {
        text_append(text, "| ");
        markdown_append(text, view->title);
        text_append(text, " | ");
        status_append(text, view);
        char word[WORDING_BYTES];
        int64_t bytes = view->measured.peak_bytes[LEVEL_ALLOCATED];
        text_format(text, " | | %s| - | %s | - | |\n", bytes != BYTES_UNKNOWN ? "allocated peak " : "",
                    bytes_word(bytes, false, word));
    }
}

static void summary_append(struct text *text, const char *basis, const struct accuracy *rows, int count)
{
    char word[WORDING_BYTES];
    text_format(text,
                "\n## Accuracy per estimator\n\n"
                "Error is predicted - %s, over %s. Under: cases for which too little was predicted.\n\n",
                basis, basis);
    text_append(text, "| estimator | quantity | cases | median error | worst error | worst case | under | failed |\n"
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
}

static void bullet_append(struct text *text, bool *any, const char *title, const char *label, const struct text *words)
{
    if (words->length == 0) {
        return;
    }
    if (!*any) {
        text_format(text, "\n## %s\n\n", title);
        *any = true;
    }
    text_append(text, "- ");
    text_append(text, label[0] == '-' || label[0] == '+' || label[0] == '=' ? "\\" : ""); /* no list in the list */
    markdown_append(text, label);
    text_append(text, ": ");
    markdown_append(text, text_string(words));
    text_append(text, "\n");
}

static void causes_list(struct text *text, const struct report *report)
{
    bool any = false;
    for (int index = 0; index < report->case_count; index++) {
        const struct case_view *view = &report->cases[index];
        struct text words = {0};
        causes_append(&words, &view->measured.stages[STAGE_LOAD], &view->causes_at_load);
        bullet_append(text, &any, "From requested to reserved, after loading", view->title, &words);
        text_release(&words);
    }
}

static void spreads_list(struct text *text, const struct report *report)
{
    bool any = false;
    for (int index = 0; index < report->case_count; index++) {
        struct text words = {0};
        spread_append(&words, &report->cases[index].spread);
        bullet_append(text, &any, "Spread over attempts, each in a process of its own: highest less lowest",
                      report->cases[index].title, &words);
        text_release(&words);
    }
}

static void items_list(struct text *text, const struct report *report)
{
    bool any = false;
    for (int index = 0; index < report->case_count; index++) {
        const struct case_view *view = &report->cases[index];
        struct text words = {0}, items = {0};
        enum level level = items_append(&items, view);
        if (level != LEVEL_COUNT) {
            text_format(&words, "%s %s", level_name(level), text_string(&items));
        }
        bullet_append(text, &any, "What driver or kernel counted, by cause", view->title, &words);
        text_release(&items);
        text_release(&words);
    }
}

static void reasons_list(struct text *text, const struct report *report)
{
    bool any = false;
    for (int index = 0; index < report->case_count; index++) {
        const struct case_view *view = &report->cases[index];
        struct text words = {0};
        if (view->reason[0] != '\0' || view->oom_stage != NULL) {
            text_format(&words, "%s%s%s", view->status, view->reason[0] != '\0' ? ": " : "", view->reason);
            oom_append(&words, view);
        }
        text_append(&words, view->invalid && words.length > 0 ? "; " : "");
        validity_append(&words, view);
        bullet_append(text, &any, "Reasons", view->title, &words);
        text_release(&words);
    }
}

void markdown_write(const struct report *report, const struct accuracy *rows, int count, struct text *text)
{
    struct text line = {0};
    text_format(text, "# Predicted against %s\n\n", report->basis);
    device_append(&line, report);
    text_append(&line, line.length > 0 ? "; " : "");
    counts_append(&line, report);
    markdown_append(text, text_string(&line));
    text_append(text, ". Binary units; peaks over all stages; - is not known.\n");
    text_release(&line);
    if (report->case_count > 0) {
        text_format(text,
                    "\n| case | status | estimator | quantity | predicted | %s | error | verdict |\n"
                    "|---|---|---|---|--:|--:|--:|---|\n",
                    report->basis);
    }
    for (int index = 0; index < report->case_count; index++) {
        case_append(text, &report->cases[index]);
    }
    if (count > 0) {
        summary_append(text, report->basis, rows, count);
    }
    causes_list(text, report);
    items_list(text, report);
    spreads_list(text, report);
    reasons_list(text, report);
}
