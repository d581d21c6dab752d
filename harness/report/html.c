/* HTML: the report as one page that needs nothing else. Plots are put into it as SVG; no scripts, no fonts, no fetches,
 * and a content policy that forbids them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/case_view.h"
#include "harness/report/escape.h"
#include "harness/report/plot_data.h"
#include "harness/report/wording.h"

enum { PAGE_MAXIMUM = 20, IMAGE_BYTES_MAXIMUM = 8 << 20 };

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<title>Predicted against measured memory</title>\n<style>\n"
    "body{font:15px/1.45 system-ui,sans-serif;color:#1b1b1b;background:#fff;max-width:72rem;margin:2rem auto;padding:0 "
    "1rem}\n"
    "table{border-collapse:collapse;margin:1rem 0;width:100%}\n"
    "th,td{padding:.25rem .6rem;text-align:left;vertical-align:top;border-top:1px solid #ddd}\n"
    "th{border-top:0;border-bottom:2px solid #888}\n"
    ".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "tr.first td{border-top-color:#888}\n"
    ".ok,.pass{color:#00614a}.fail,.error,.oom,.timeout{color:#a63c00;font-weight:600}.skip{color:#555}\n"
    ".invalid{color:#a63c00;font-weight:400}\n"
    ".note{color:#555;font-size:.9em}\n"
    "figure{margin:1.5rem 0}figure svg{max-width:100%;height:auto}figcaption{font-weight:600;margin-bottom:.3rem}\n"
    "</style>\n</head>\n<body>\n";

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

static void cell_text(struct text *text, const char *string)
{
    text_append(text, "<td>");
    xml_append(text, string);
    text_append(text, "</td>");
}

static void cell_number(struct text *text, const char *string)
{
    text_append(text, "<td class=\"n\">");
    xml_append(text, string);
    text_append(text, "</td>");
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
    xml_append(text, view->label);
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
        cell_text(text, row->estimator);
        cell_text(text, quantity_word(row->quantity, word));
        cell_number(text, bytes_word(row->predicted_bytes, false, word));
        cell_number(text, bytes_word(row->measured_bytes, false, word));
        cell_number(text, error_word(row->error_known, row->error, word));
        verdict_append(text, row);
        text_append(text, "</tr>\n");
    }
    if (view->comparison_count == 0) {
        text_append(text, "<td colspan=\"6\">-</td></tr>\n");
    }
}

static void cases_append(struct text *text, const struct report *report)
{
    text_append(text, "<h2>Cases</h2>\n<table>\n<tr><th>case</th><th>status</th><th>estimator</th><th>quantity</th>"
                      "<th class=\"n\">predicted</th><th class=\"n\">measured</th><th class=\"n\">error</th>"
                      "<th>verdict</th></tr>\n");
    for (int index = 0; index < report->case_count; index++) {
        case_append(text, &report->cases[index]);
    }
    text_append(text, "</table>\n");
}

static void summary_append(struct text *text, const struct accuracy *rows, int count)
{
    char word[WORDING_BYTES];
    text_append(text, "<h2>Accuracy per estimator</h2>\n<p>Error is predicted - measured, over measured. Under: cases "
                      "for which too little was predicted.</p>\n<table>\n"
                      "<tr><th>estimator</th><th>quantity</th><th class=\"n\">cases</th><th class=\"n\">median</th>"
                      "<th class=\"n\">worst</th><th>worst case</th><th class=\"n\">under</th>"
                      "<th class=\"n\">failed</th></tr>\n");
    for (int index = 0; index < count; index++) {
        const struct accuracy *row = &rows[index];
        bool known = row->case_count > 0;
        text_append(text, "<tr>");
        cell_text(text, row->estimator);
        cell_text(text, quantity_word(row->quantity, word));
        text_format(text, "<td class=\"n\">%d</td>", row->case_count);
        cell_number(text, error_word(known, row->median_error, word));
        cell_number(text, error_word(known, row->worst_error, word));
        cell_text(text, known && row->worst_case != NULL ? row->worst_case : "-");
        text_format(text, "<td class=\"n\">%d</td><td class=\"n\">%d</td></tr>\n", row->under_count, row->failed_count);
    }
    text_append(text, "</table>\n");
}

/* Without the titles: browsers show them under the pointer, and gnuplot's are pieces of its script. */
static void untitled_append(struct text *text, const char *element)
{
    static const char start[] = "<title>", end[] = "</title>";
    const char *title = strstr(element, start);
    while (title != NULL && strstr(title, end) != NULL) {
        text_append_bytes(text, element, (size_t)(title - element));
        element = strstr(title, end) + sizeof end - 1;
        title = strstr(element, start);
    }
    text_append(text, element);
}

/* The SVG element of a file, without its prologue. Nothing where there is no such file or it holds a script. */
static bool image_append(struct text *text, const char *path)
{
    struct text image = {0};
    char bytes[4096];
    size_t count;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    while ((count = fread(bytes, 1, sizeof bytes, file)) > 0 && image.length < IMAGE_BYTES_MAXIMUM) {
        text_append_bytes(&image, bytes, count);
    }
    bool complete = ferror(file) == 0 && feof(file) != 0;
    fclose(file);
    const char *element = complete ? strstr(text_string(&image), "<svg") : NULL;
    bool usable = element != NULL && strcasestr(element, "<script") == NULL;
    if (usable) {
        untitled_append(text, element);
    }
    text_release(&image);
    return usable;
}

static void figure_append(struct text *text, const char *directory, enum plot_kind kind, int number)
{
    struct text path = {0}, figure = {0};
    text_format(&path, number == 0 ? "%s/%s.svg" : "%s/%s-%d.svg", directory, plot_name(kind), number + 1);
    text_format(&figure, "<figure>\n<figcaption>%s</figcaption>\n", plot_purpose(kind));
    if (!path.failed && image_append(&figure, text_string(&path))) {
        text_append(text, text_string(&figure));
        text_append(text, "</figure>\n");
    }
    text_release(&path);
    text_release(&figure);
}

void html_write(const struct report *report, const struct report_style *style, const struct accuracy *rows, int count,
                struct text *text)
{
    struct text line = {0};
    text_append(text, head);
    text_append(text, "<h1>Predicted against measured memory</h1>\n<p>");
    device_append(&line, report);
    text_append(&line, line.length > 0 ? "; " : "");
    counts_append(&line, report);
    xml_append(text, text_string(&line));
    text_append(text, ". Binary units; peaks over all stages; - is not known.</p>\n");
    text_release(&line);
    if (count > 0) {
        summary_append(text, rows, count);
    }
    for (int kind = 0; kind < PLOT_COUNT && style->plot_directory != NULL; kind++) {
        for (int number = 0; number < PAGE_MAXIMUM; number++) {
            figure_append(text, style->plot_directory, (enum plot_kind)kind, number);
        }
    }
    if (report->case_count > 0) {
        cases_append(text, report);
    }
    text_append(text, "</body>\n</html>\n");
}
