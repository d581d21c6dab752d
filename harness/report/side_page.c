/* Side page: one table alone, found by its name: a side table, or one of the two of the report of every case, which are
 * for documents alone. In LaTeX it is for a paper to put in: with a caption and a label. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/cases_tables.h"
#include "harness/report/escape.h"
#include "harness/report/page_format.h"
#include "harness/report/provenance.h"
#include "harness/report/report_page.h"
#include "harness/report/side_tables.h"

static const char cases_name[] = "cases", accuracy_name[] = "accuracy";

struct side_subject {
    const struct side_table *table; /* NULL: that of the report of every case */
    const char *name;
    struct report *report;
};

static enum status_code name_refuse(const char *name, struct status *error)
{
    struct text names = {0};
    const struct side_table *table;
    text_format(&names, "%s, %s", cases_name, accuracy_name);
    for (int index = 0; (table = side_table_at(index)) != NULL; index++) {
        text_format(&names, "%s%s", side_table_at(index + 1) != NULL ? ", " : " or ", table->name);
    }
    enum status_code code =
        status_set(error, STATUS_INVALID, "report: --table: '%.64s' is not a table of a report; use %s", name,
                   text_string(&names));
    text_release(&names);
    return code;
}

static enum status_code side_open(const struct page_material *material, void **subject, struct status *error)
{
    const char *name = material->values[REPORT_OPTION_table];
    const struct side_table *table = NULL;
    bool is_of_cases = strcmp(name, cases_name) == 0 || strcmp(name, accuracy_name) == 0;
    for (int index = 0; (table = side_table_at(index)) != NULL && strcmp(table->name, name) != 0; index++) {
    }
    if (table == NULL && !is_of_cases) {
        return name_refuse(name, error);
    }
    if (is_of_cases && material->format != REPORT_MARKDOWN && material->format != REPORT_LATEX) {
        return status_set(error, STATUS_INVALID,
                          "report: --table %s is for documents; add --format md or latex, or leave --table out", name);
    }
    struct side_subject *side = malloc(sizeof *side);
    if (side == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a table");
    }
    *side = (struct side_subject){table, name, material->reports[0]};
    *subject = side;
    return STATUS_OK;
}

/* On what, when and with which version, and a label that says which table of which suite it is. */
static void origin_set(const struct side_subject *side, struct page *page)
{
    struct text origin = {0}, label = {0};
    text_format(&label, "%s ", side->name);
    provenance_append(&origin, &side->report, 1);
    provenance_label_append(&label, &side->report, 1);
    page_fragment(page, text_string(&origin), text_string(&label));
    page->failed = page->failed || origin.failed || label.failed;
    text_release(&origin);
    text_release(&label);
}

static void cases_alone_describe(const struct side_subject *side, struct page *page)
{
    struct case_order order = {0};
    if (!case_order_make(side->report, INT_MAX, &order)) {
        page->failed = true;
        return;
    }
    cases_table_describe(page, side->report, &order);
    case_order_release(&order);
}

/* People see no rows of zeros. */
static void accuracy_alone_describe(const struct side_subject *side, struct page *page)
{
    struct accuracy *rows = NULL;
    int count = 0, known = 0;
    if (report_accuracy(side->report, &page->arena, &rows, &count, NULL) != STATUS_OK) {
        page->failed = true;
        return;
    }
    for (int at = 0; at < count; at++) {
        if (rows[at].case_count > 0) {
            rows[known++] = rows[at];
        }
    }
    accuracy_table_describe(page, side->report, rows, known);
}

static void side_describe(const void *subject, struct page *page)
{
    const struct side_subject *side = subject;
    page_words(page, BLOCK_TITLE, MEDIUM_SCREEN, side->report->source);
    origin_set(side, page);
    if (side->table == NULL && strcmp(side->name, cases_name) == 0) {
        cases_alone_describe(side, page);
    } else if (side->table == NULL) {
        accuracy_alone_describe(side, page);
    } else if (side_table_is_there(side->table, side->report)) {
        side_table_describe(side->table, side->report, page);
    } else {
        page_say(page, BLOCK_TEXT, MEDIA_READ, "%s: no case of these records has any.", side->table->title);
    }
}

static void side_terminal(const void *subject, const struct report_style *style, struct text *text)
{
    const struct side_subject *side = subject;
    if (side_table_is_there(side->table, side->report)) {
        side_table_terminal(side->table, side->report, style, text);
    } else {
        struct text words = {0};
        text_format(&words, "%s: no case of these records has any.", side->table->title);
        paragraph_append(text, text_string(&words), style->width, 2, 0);
        text_release(&words);
    }
}

static void side_csv(const void *subject, const struct report_style *style, struct text *text)
{
    const struct side_subject *side = subject;
    (void)style;
    side_table_csv(side->table, side->report, text);
}

static enum status_code side_document(const void *subject, struct text *text, struct status *error)
{
    const struct side_subject *side = subject;
    (void)error;
    side_table_json(side->table, side->report, 0, text);
    text_append(text, "\n");
    return STATUS_OK;
}

static enum status_code side_plot(const void *subject, const struct plot_place *place, struct status *error)
{
    const struct side_subject *side = subject;
    return report_plot(side->report, place, error);
}

const struct page_kind side_page = {
    .name = "a table",
    .what = "a table",
    .describe = side_describe,
    .own = {[REPORT_TABLE] = side_terminal, [REPORT_CSV] = side_csv},
    .document = side_document,
    .make = side_open,
    .release = free,
    .draw = side_plot,
};
