/* Side tables as GitHub-flavoured Markdown. The case stands in the first of its rows alone, so that one sees which rows belong
 * together. */
#include <string.h>

#include "harness/report/escape.h"
#include "harness/report/side_tables.h"
#include "harness/report/wording.h"

enum { CASES_MAXIMUM = 300 };

static void heading_append(const struct side_table *table, struct text *text)
{
    text_format(text, "\n## %s\n\n%s\n\n| case |", table->title, table->words);
    for (int column = 0; column < table->column_count; column++) {
        text_format(text, " %s |", table->columns[column].title);
    }
    text_append(text, "\n|---|");
    for (int column = 0; column < table->column_count; column++) {
        text_append(text, cell_is_word(table->columns[column].kind) ? "---|" : "--:|");
    }
    text_append(text, "\n");
}

static void row_append(const struct side_table *table, const struct side_row *row, bool with_group, struct text *text)
{
    char word[WORDING_BYTES];
    text_append(text, "| ");
    markdown_append(text, with_group ? row->group : "");
    for (int column = 0; column < table->column_count; column++) {
        const struct cell *cell = &row->cells[column];
        text_append(text, cell->is_bad ? " | **" : " | ");
        markdown_append(text, cell_text(cell, table->columns[column].kind, word));
        text_append(text, cell->is_bad ? "**" : "");
    }
    text_append(text, " |\n");
}

static void cases_append(const struct side_table *table, const struct side_cases *cases, struct text *text)
{
    const char *group = NULL;
    struct side_rows rows = {0};
    for (int at = 0; at < cases->count; at++) {
        side_rows_of(table, cases->cases[at], &rows);
        for (int index = 0; index < rows.count; index++) {
            if (rows.rows[index].is_idle) {
                continue;
            }
            row_append(table, &rows.rows[index], rows.rows[index].group != group, text);
            group = rows.rows[index].group;
        }
    }
    text->failed = text->failed || rows.failed;
    side_rows_release(&rows);
}

/* maximum 0: all cases. */
static void table_append(const struct side_table *table, const struct report *report, int maximum, struct text *text)
{
    struct side_cases cases = side_cases_make(table, report, maximum);
    struct text note = {0};
    if (cases.count > 0) {
        heading_append(table, text);
        cases_append(table, &cases, text);
    }
    if (cases.hidden_count > 0) {
        text_format(text, "\n%d more cases are not shown; all are in the report as csv or json.\n", cases.hidden_count);
    }
    if (cases.count > 0 && table->note != NULL) {
        table->note(report, &note);
        text_append(text, note.length > 0 ? "\n" : "");
        markdown_append(text, text_string(&note));
        text_append(text, note.length > 0 ? "\n" : "");
    }
    text->failed = text->failed || cases.failed || note.failed;
    text_release(&note);
    side_cases_release(&cases);
}

void side_table_markdown(const struct side_table *table, const struct report *report, struct text *text)
{
    table_append(table, report, 0, text);
}

void side_tables_markdown(const struct report *report, struct text *text)
{
    const struct side_table *table;
    for (int index = 0; (table = side_table_at(index)) != NULL; index++) {
        if (!table->is_detail) {
            table_append(table, report, CASES_MAXIMUM, text);
        }
    }
}
