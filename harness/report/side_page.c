/* Side page: one side table alone, found by its name. */
#include <stdlib.h>
#include <string.h>

#include "harness/report/escape.h"
#include "harness/report/page_format.h"
#include "harness/report/report_page.h"
#include "harness/report/side_tables.h"

struct side_subject {
    const struct side_table *table;
    const struct report *report;
};

static enum status_code name_refuse(const char *name, struct status *error)
{
    struct text names = {0};
    const struct side_table *table;
    for (int index = 0; (table = side_table_at(index)) != NULL; index++) {
        text_format(&names, "%s%s", index == 0 ? "" : side_table_at(index + 1) != NULL ? ", " : " or ", table->name);
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
    for (int index = 0; (table = side_table_at(index)) != NULL && strcmp(table->name, name) != 0; index++) {
    }
    if (table == NULL) {
        return name_refuse(name, error);
    }
    struct side_subject *side = malloc(sizeof *side);
    if (side == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a table");
    }
    *side = (struct side_subject){table, material->reports[0]};
    *subject = side;
    return STATUS_OK;
}

static void side_describe(const void *subject, struct page *page)
{
    const struct side_subject *side = subject;
    page_words(page, BLOCK_TITLE, MEDIUM_SCREEN, side->report->source);
    if (side_table_is_there(side->table, side->report)) {
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
