/* HTML: the report as one page that needs nothing else, its plots put into it as SVG. */
#include <stdlib.h>
#include <string.h>

#include "harness/report/case_view.h"
#include "harness/report/escape.h"
#include "harness/report/html_page.h"
#include "harness/report/plot_data.h"
#include "harness/report/wording.h"

enum { PAGE_MAXIMUM = 20 };

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

static void notes_append(struct text *text, const struct case_view *view)
{
    struct text note = {0};
    text_append(&note, view->reason);
    oom_append(&note, view);
    text_append(&note, view->invalid && note.length > 0 ? "; " : "");
    validity_append(&note, view);
    if (view->causes_at_load.present) {
        text_append(&note, note.length > 0 ? ". After loading: " : "After loading: ");
        causes_append(&note, &view->measured.stages[STAGE_LOAD], &view->causes_at_load);
    }
    struct text items = {0};
    enum level level = items_append(&items, view);
    if (level != LEVEL_COUNT) {
        text_format(&note, "%sBy cause, %s: %s", note.length > 0 ? ". " : "", level_name(level), text_string(&items));
    }
    text_release(&items);
    if (note.length > 0) {
        text_append(text, "<br><span class=\"note\">");
        xml_append(text, text_string(&note));
        text_append(text, "</span>");
    }
    text_release(&note);
}

static void case_heading(struct text *text, const struct case_view *view)
{
    int rows = view->comparison_count > 0 ? view->comparison_count : 1;
    text_format(text, "<tr class=\"first\"><td rowspan=\"%d\">", rows);
    xml_append(text, view->title);
    notes_append(text, view);
    text_format(text, "</td><td rowspan=\"%d\" class=\"%s\">", rows, status_class(view->status));
    xml_append(text, view->status);
    text_append(text, view->invalid ? "<br><span class=\"invalid\">invalid readings</span></td>" : "</td>");
}

static void verdict_append(struct text *text, const struct comparison *row)
{
    if (row->judgement == JUDGEMENT_NONE && row->note != NULL) {
        text_append(text, "<td class=\"note\">not judged: ");
        xml_append(text, row->note);
        text_append(text, "</td>");
        return;
    }
    text_append(text, row->judgement == JUDGEMENT_PASS   ? "<td class=\"pass\">pass</td>"
                      : row->judgement == JUDGEMENT_FAIL ? "<td class=\"fail\">fail</td>"
                                                         : "<td></td>");
}

static void case_append(struct text *text, const struct case_view *view)
{
    char word[WORDING_BYTES];
    case_heading(text, view);
    for (int index = 0; index < view->comparison_count; index++) {
        const struct comparison *row = &view->comparisons[index];
        text_append(text, index > 0 ? "<tr>" : "");
        html_cell_append(text, row->estimator);
        html_cell_append(text, quantity_word(row->quantity, word));
        html_number_append(text, bytes_word(row->predicted_bytes, false, word));
        html_number_append(text, bytes_word(row->measured_bytes, false, word));
        html_number_append(text, error_word(row->error_known, row->error, word));
        verdict_append(text, row);
        text_append(text, "</tr>\n");
    }
    if (view->comparison_count == 0) {
        text_append(text, "<td colspan=\"6\">-</td></tr>\n");
    }
}

static void cases_append(struct text *text, const struct report *report)
{
    text_format(text,
                "<h2>Cases</h2>\n<table>\n<tr><th>case</th><th>status</th><th>estimator</th><th>quantity</th>"
                "<th class=\"n\">predicted</th><th class=\"n\">%s</th><th class=\"n\">error</th>"
                "<th>verdict</th></tr>\n",
                report->basis);
    for (int index = 0; index < report->case_count; index++) {
        case_append(text, &report->cases[index]);
    }
    text_append(text, "</table>\n");
}

static void summary_append(struct text *text, const char *basis, const struct accuracy *rows, int count)
{
    char word[WORDING_BYTES];
    text_format(
        text,
        "<h2>Accuracy per estimator</h2>\n<p>Error is predicted - %s, over %s. Under: cases for which too little "
        "was predicted.</p>\n",
        basis, basis);
    text_append(text,
                "<table>\n<tr><th>estimator</th><th>quantity</th><th class=\"n\">cases</th><th class=\"n\">median</th>"
                "<th class=\"n\">worst</th><th>worst case</th><th class=\"n\">under</th>"
                "<th class=\"n\">failed</th></tr>\n");
    for (int index = 0; index < count; index++) {
        const struct accuracy *row = &rows[index];
        bool known = row->case_count > 0;
        text_append(text, "<tr>");
        html_cell_append(text, row->estimator);
        html_cell_append(text, quantity_word(row->quantity, word));
        text_format(text, "<td class=\"n\">%d</td>", row->case_count);
        html_number_append(text, error_word(known, row->median_error, word));
        html_number_append(text, error_word(known, row->worst_error, word));
        html_cell_append(text, known && row->worst_case != NULL ? row->worst_case : "-");
        text_format(text, "<td class=\"n\">%d</td><td class=\"n\">%d</td></tr>\n", row->under_count, row->failed_count);
    }
    text_append(text, "</table>\n");
}

static void figure_append(struct text *text, const struct plot_set *plots, const char *basis, enum plot_kind kind,
                          int number)
{
    struct text name = {0}, figure = {0};
    text_format(&name, number == 0 ? "%s" : "%s-%d", plot_name(kind), number + 1);
    text_format(&figure, "<figure>\n<figcaption>%s (%s)</figcaption>\n", plot_purpose(kind), basis);
    if (!name.failed && html_image_append(&figure, plot_set_svg(plots, text_string(&name)))) {
        text_append(text, text_string(&figure));
        text_append(text, "</figure>\n");
    }
    text_release(&name);
    text_release(&figure);
}

void html_write(const struct report *report, const struct report_style *style, const struct accuracy *rows, int count,
                struct text *text)
{
    struct text line = {0};
    text_format(&line, "Predicted against %s memory", report->basis);
    html_page_begin(text, text_string(&line));
    text_release(&line);
    text_append(text, "<p>");
    device_append(&line, report);
    text_append(&line, line.length > 0 ? "; " : "");
    counts_append(&line, report);
    xml_append(text, text_string(&line));
    text_append(text, ". Binary units; peaks over all stages; - is not known.</p>\n");
    text_release(&line);
    if (count > 0) {
        summary_append(text, report->basis, rows, count);
    }
    for (int kind = 0; kind < PLOT_COUNT && style->plots != NULL; kind++) {
        for (int number = 0; number < PAGE_MAXIMUM; number++) {
            figure_append(text, style->plots, report->basis, (enum plot_kind)kind, number);
        }
    }
    if (report->case_count > 0) {
        cases_append(text, report);
    }
    html_page_end(text);
}
