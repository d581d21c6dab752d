/* HTML: the report as one page that needs nothing else: what failed, how far the estimators were off, the figures, and every
 * case in a row that unfolds. Images that would make it heavy are links to their files. */
#include <stdlib.h>
#include <string.h>

#include "harness/report/case_view.h"
#include "harness/report/escape.h"
#include "harness/report/headline.h"
#include "harness/report/html_cases.h"
#include "harness/report/html_page.h"
#include "harness/report/plot_data.h"
#include "harness/report/plot_set.h"
#include "harness/report/proof_rates.h"
#include "harness/report/provenance.h"
#include "harness/report/side_table.h"
#include "harness/report/wording.h"

enum { CASES_MAXIMUM = 1000, FAILURES_OPEN_MAXIMUM = 20, IMAGES_BYTES_MAXIMUM = 400 << 10 };

static void summary_append(struct text *text, const struct report *report, const struct accuracy *rows, int count)
{
    struct text uncounted = {0};
    char word[WORDING_BYTES];
    text_format(
        text,
        "<h2 id=\"accuracy\">Accuracy per estimator</h2>\n<p>Error is predicted - %s, over %s. Under: cases for "
        "which too little was predicted.</p>\n",
        report->basis, report->basis);
    html_table_begin(text);
    text_append(
        text,
        "<tr><th>estimator</th><th>quantity</th><th class=\"n\">cases</th><th class=\"n\">median error (signed)</th>"
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
    html_table_end(text);
    places_counted_append(&uncounted, rows, count);
    text_format(text, uncounted.length > 0 ? "<p class=\"note\">%s</p>\n" : "%s", text_string(&uncounted));
    text_release(&uncounted);
    uncounted_append(&uncounted, report);
    if (uncounted.length > 0) {
        text_append(text, "<p class=\"note\">");
        xml_append(text, text_string(&uncounted));
        text_append(text, ".</p>\n");
    }
    text_release(&uncounted);
}

/* One page of a plot: in the page as long as there is room, else a link, else a name. */
static void figure_append(struct text *text, const struct report_style *style, const struct plot *plot,
                          size_t *images_bytes)
{
    struct text image = {0};
    bool usable = html_image_append(&image, &plot->svg);
    if (!usable) {
        text_release(&image);
        return;
    }
    text_append(text, "<figure>\n<figcaption>");
    xml_append(text, plot->title);
    if (*images_bytes + image.length <= IMAGES_BYTES_MAXIMUM) {
        *images_bytes += image.length;
        text_append(text, "</figcaption>\n");
        text_append(text, text_string(&image));
    } else if (style->plots->link != NULL) {
        text_append(text, ": <a href=\"");
        link_append(text, style->plots->link);
        text_format(text, "/%s.svg\">%s.svg</a></figcaption>\n", plot->name, plot->name);
    } else {
        text_format(text, ": %s.svg, drawn by --plots FOLDER</figcaption>\n", plot->name);
    }
    text->failed = text->failed || image.failed;
    text_append(text, "</figure>\n");
    text_release(&image);
}

static bool has_figures(const struct report_style *style)
{
    for (int index = 0; style->plots != NULL && index < style->plots->count; index++) {
        if (style->plots->plots[index].svg.length > 0) {
            return true;
        }
    }
    return false;
}

static void figures_append(struct text *text, const struct report_style *style)
{
    size_t images_bytes = 0;
    text_append(text, "<h2 id=\"figures\">Figures</h2>\n");
    for (int index = 0; index < style->plots->count; index++) {
        figure_append(text, style, &style->plots->plots[index], &images_bytes);
    }
}

/* What the report comes to where that is no pass, and what is missing. */
static void headline_write(struct text *text, const struct report *report)
{
    enum { NAMES_SHOWN = 1000 };
    struct text line = {0};
    headline_append(&line, report);
    if (line.length > 0) {
        text_append(text, "<p class=\"fail\"><strong>");
        xml_append(text, text_string(&line));
        text_append(text, "</strong></p>\n");
        text_release(&line);
        missing_names_append(&line, report, NAMES_SHOWN);
        text_append(text, line.length > 0 ? "<p>" : "");
        xml_append(text, text_string(&line));
        text_append(text, line.length > 0 ? "</p>\n" : "");
    }
    text_release(&line);
}

static void head_append(struct text *text, const struct report *report)
{
    struct text line = {0};
    struct report *const one = (struct report *)(uintptr_t)report;
    provenance_title_append(&line, &one, 1);
    if (line.length == 0) {
        text_format(&line, "Predicted against %s memory", report->basis);
    }
    html_page_begin(text, text_string(&line));
    text_release(&line);
    headline_write(text, report);
    text_append(text, "<p>");
    counts_append(&line, report);
    xml_append(text, text_string(&line));
    text_append(text, ".</p>\n<p class=\"note\">");
    text_release(&line);
    provenance_append(&line, &one, 1);
    xml_append(text, text_string(&line));
    text_format(text, "%sBinary units; %s; ", line.length > 0 ? ". " : "", peaks_words(report));
    if (report_is_measured(report)) {
        text_format(text, "errors of the allocated peak, (predicted - %s) / %s; ", report->basis, report->basis);
    }
    text_append(text, "- is not known.</p>\n");
    text_release(&line);
}

static void contents_append(struct text *text, const struct report *report, const struct case_order *order,
                            bool accuracy, bool figures)
{
    text_append(text, "<nav><ul>\n");
    if (order->failed_count > 0) {
        int count = order->failed_count + order->hidden_failed_count;
        text_format(text, "<li><a href=\"#failures\" class=\"fail\">%d case%s did not pass</a>\n", count,
                    count == 1 ? "" : "s");
    }
    text_append(text, accuracy ? "<li><a href=\"#accuracy\">Accuracy per estimator</a>\n" : "");
    text_append(text, report_has_proofs(report) ? "<li><a href=\"#limits\">Estimates as limits</a>\n" : "");
    side_tables_contents(report, text);
    text_append(text, figures ? "<li><a href=\"#figures\">Figures</a>\n" : "");
    if (order->shown_count - order->skipped_count > order->failed_count) {
        text_format(text, "<li><a href=\"#cases\">%s</a>\n", order->failed_count > 0 ? "The other cases" : "Cases");
    }
    if (order->skipped_count > 0) {
        text_format(text, "<li><a href=\"#skipped\">%d case%s skipped</a>\n", order->skipped_count,
                    order->skipped_count == 1 ? " was" : "s were");
    }
    text_append(text, "</ul></nav>\n");
}

/* The failures, or all others that were not skipped. */
static void part_append(struct text *text, const struct report *report, const struct html_columns *columns,
                        const struct case_order *order, bool failures)
{
    int first = failures ? 0 : order->failed_count;
    int count = failures ? order->failed_count : order->shown_count - order->skipped_count - first;
    if (count == 0) {
        return;
    }
    text_append(text, failures                  ? "<h2 id=\"failures\">Did not pass</h2>\n"
                      : order->failed_count > 0 ? "<h2 id=\"cases\">The other cases</h2>\n"
                                                : "<h2 id=\"cases\">Cases</h2>\n");
    html_cases_append(text, report, columns, order->cases + first, count, failures && count <= FAILURES_OPEN_MAXIMUM);
}

static void skipped_append(struct text *text, const struct case_order *order)
{
    if (order->skipped_count > 0) {
        text_append(text, "<h2 id=\"skipped\">Skipped, not measured</h2>\n");
        html_skipped_append(text, order);
    }
}

void html_write(const struct report *report, const struct report_style *style, const struct accuracy *rows, int count,
                struct text *text)
{
    struct case_order order;
    struct text note = {0};
    if (!case_order_make(report, CASES_MAXIMUM, &order)) {
        text->failed = true;
        return;
    }
    struct html_columns columns;
    estimators_choose(report, NULL, HTML_COLUMNS_MAXIMUM, true, columns.shown);
    head_append(text, report);
    contents_append(text, report, &order, count > 0, has_figures(style));
    part_append(text, report, &columns, &order, true);
    if (count > 0) {
        summary_append(text, report, rows, count);
    }
    proof_rates_html(report, text);
    side_tables_html(report, text);
    if (has_figures(style)) {
        figures_append(text, style);
    }
    part_append(text, report, &columns, &order, false);
    skipped_append(text, &order);
    case_order_note(&note, &order);
    if (note.length > 0) {
        text_append(text, "<p class=\"note\">");
        xml_append(text, text_string(&note));
        text_append(text, "</p>\n");
    }
    text_release(&note);
    html_page_end(text);
    case_order_release(&order);
}
