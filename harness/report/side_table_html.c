/* Side tables on a screen: the cases as lines across a table; and the tables of one case, where it unfolds. */
#include "harness/report/escape.h"
#include "harness/report/html_page.h"
#include "harness/report/side_tables.h"
#include "harness/report/wording.h"

static void heading_append(const struct side_table *table, struct text *text)
{
    text_append(text, "<tr>");
    for (int column = 0; column < table->column_count; column++) {
        text_format(text, cell_is_word(table->columns[column].kind) ? "<th>%s" : "<th class=n>%s",
                    table->columns[column].title);
    }
    text_append(text, "\n");
}

static void row_append(const struct side_table *table, const struct side_row *row, struct text *text)
{
    char word[WORDING_BYTES];
    text_append(text, "<tr>");
    for (int column = 0; column < table->column_count; column++) {
        const struct cell *cell = &row->cells[column];
        bool is_word = cell_is_word(table->columns[column].kind);
        text_append(text, cell->is_bad ? (is_word ? "<td class=fail>" : "<td class=\"n fail\">")
                          : is_word    ? "<td>"
                                       : "<td class=n>");
        xml_append(text, cell_text(cell, table->columns[column].kind, word));
    }
    text_append(text, "\n");
}

static void group_append(const struct side_table *table, const char *group, struct text *text)
{
    text_format(text, "<tr><td colspan=%d class=group>", table->column_count);
    xml_append(text, group);
    text_append(text, "\n");
}

/* The rows of several cases below their titles, or of one without. */
static void cases_append(const struct side_table *table, const struct case_view *const *cases, int count,
                         bool with_groups, struct text *text)
{
    const char *group = NULL;
    struct side_rows rows = {0};
    html_table_begin(text);
    heading_append(table, text);
    for (int at = 0; at < count; at++) {
        side_rows_of(table, cases[at], &rows);
        for (int index = 0; index < rows.count; index++) {
            if (rows.rows[index].is_idle) {
                continue;
            }
            if (with_groups && rows.rows[index].group != group) {
                group = rows.rows[index].group;
                group_append(table, group, text);
            }
            row_append(table, &rows.rows[index], text);
        }
    }
    html_table_end(text);
    text->failed = text->failed || rows.failed;
    side_rows_release(&rows);
}

void side_table_html(const struct side_table *table, const struct report *report, int maximum, struct text *text)
{
    struct side_cases cases = side_cases_make(table, report, maximum);
    cases_append(table, cases.cases, cases.count, true, text);
    text->failed = text->failed || cases.failed;
    side_cases_release(&cases);
}

void side_details_html(const struct case_view *view, struct text *text)
{
    const struct side_table *table;
    for (int index = 0; (table = side_table_at(index)) != NULL; index++) {
        if (table->is_detail && table->has(view)) {
            cases_append(table, &view, 1, false, text);
        }
    }
}
