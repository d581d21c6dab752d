/* One side table alone: found by its name, in the formats that it has. */
#include <string.h>

#include "harness/report/page_format.h"
#include "harness/report/side_tables.h"

const char *report_side_name(int index)
{
    const struct side_table *table = side_table_at(index);
    return table != NULL ? table->name : NULL;
}

static enum status_code name_refuse(const char *name, struct status *error)
{
    struct text names = {0};
    const struct side_table *table;
    for (int index = 0; (table = side_table_at(index)) != NULL; index++) {
        text_format(&names, "%s%s", index == 0 ? "" : side_table_at(index + 1) != NULL ? ", " : " or ", table->name);
    }
    enum status_code code =
        status_set(error, STATUS_INVALID, "'%.64s' is not a table of a report; use %s", name, text_string(&names));
    text_release(&names);
    return code;
}

enum status_code report_render_side(const struct report *report, const char *name, enum report_format format,
                                    const struct report_style *style, struct text *text, struct status *error)
{
    const struct side_table *table = NULL;
    for (int index = 0; (table = side_table_at(index)) != NULL && strcmp(table->name, name) != 0; index++) {
    }
    if (table == NULL) {
        return name_refuse(name, error);
    }
    if (!side_table_is_there(table, report) && (format == REPORT_TABLE || format == REPORT_MARKDOWN)) {
        text_format(text, "%s: no case of these records has any.\n", table->title);
        return text_status(text, "a table", error);
    }
    struct page page = {0};
    const struct report_style chosen = report_style_settle(style);
    switch (format) {
    case REPORT_TABLE:
        side_table_terminal(table, report, &chosen, text);
        break;
    case REPORT_MARKDOWN:
        text_append(text, "\n");
        side_table_describe(table, report, &page);
        page_markdown_write(&page, &chosen, text);
        break;
    case REPORT_CSV:
        side_table_csv(table, report, text);
        break;
    case REPORT_JSON:
        side_table_json(table, report, 0, text);
        text_append(text, "\n");
        break;
    default:
        return status_set(error, STATUS_INVALID, "the table %s is there as table, md, csv and json, not in that format",
                          table->name);
    }
    text->failed = text->failed || page.failed;
    page_release(&page);
    return text_status(text, "a table", error);
}
