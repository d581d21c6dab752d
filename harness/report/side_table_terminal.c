/* Side tables for a terminal: the title, what the columns say, and below each case its rows. Columns that can be spared
 * give way if the terminal is narrow; if that is not enough a row takes several lines, as its heading does. */
#include <stdio.h>

#include "harness/report/escape.h"
#include "harness/report/side_tables.h"
#include "harness/report/wording.h"

enum { ROW_INDENT = 2, CONTINUED_INDENT = 4 };

struct side_page {
    const struct side_table *table;
    struct text *text;
    int width;
    bool colour;
    bool shown[SIDE_COLUMNS_MAXIMUM];
};

static void colour_append(const struct side_page *page, const char *code)
{
    text_append(page->text, page->colour ? code : "");
}

static int width_needed(const struct side_page *page)
{
    int width = ROW_INDENT;
    for (int column = 0; column < page->table->column_count; column++) {
        width += page->shown[column] ? page->table->columns[column].width + 1 : 0;
    }
    return width - 1;
}

/* The last that can be spared goes first. */
static void columns_choose(struct side_page *page)
{
    for (int column = 0; column < page->table->column_count; column++) {
        page->shown[column] = true;
    }
    for (int column = page->table->column_count - 1; column >= 0 && width_needed(page) > page->width; column--) {
        page->shown[column] = !page->table->columns[column].is_optional;
    }
}

/* row NULL: the heading. */
static void cell_write(const struct side_page *page, const struct side_row *row, int index)
{
    const struct side_column *column = &page->table->columns[index];
    const struct cell *cell = row != NULL ? &row->cells[index] : NULL;
    char word[WORDING_BYTES];
    bool is_bad = cell != NULL && cell->is_bad;
    colour_append(page, is_bad ? "\x1b[31m" : "");
    outside_cell_append(page->text, cell != NULL ? cell_text(cell, column->kind, word) : column->title, column->width,
                        !cell_is_word(column->kind));
    colour_append(page, is_bad ? "\x1b[0m" : "");
}

static void line_append(const struct side_page *page, const struct side_row *row)
{
    int at = ROW_INDENT, indent = ROW_INDENT;
    text_format(page->text, "%*s", ROW_INDENT, "");
    for (int column = 0; column < page->table->column_count; column++) {
        int width = page->table->columns[column].width;
        if (!page->shown[column]) {
            continue;
        }
        if (at > indent && at + 1 + width > page->width) {
            line_end_append(page->text);
            indent = CONTINUED_INDENT;
            text_format(page->text, "%*s", indent, "");
            at = indent;
        }
        text_append(page->text, at > indent ? " " : "");
        at += width + (at > indent ? 1 : 0);
        cell_write(page, row, column);
    }
    line_end_append(page->text);
}

static void cases_append(const struct side_page *page, const struct side_cases *cases)
{
    const char *group = NULL;
    struct side_rows rows = {0};
    colour_append(page, "\x1b[2m");
    line_append(page, NULL);
    colour_append(page, "\x1b[0m");
    for (int at = 0; at < cases->count; at++) {
        side_rows_of(page->table, cases->cases[at], &rows);
        for (int index = 0; index < rows.count; index++) {
            if (rows.rows[index].is_idle) {
                continue;
            }
            if (rows.rows[index].group != group) {
                group = rows.rows[index].group;
                outside_paragraph_append(page->text, group, page->width, 2, 0);
            }
            line_append(page, &rows.rows[index]);
        }
    }
    page->text->failed = page->text->failed || rows.failed;
    side_rows_release(&rows);
}

void side_table_terminal(const struct side_table *table, const struct report *report, const struct report_style *style,
                         struct text *text)
{
    struct side_page page = {.table = table, .text = text, .width = style->width, .colour = style->colour};
    struct side_cases cases = side_cases_make(table, report, 0);
    struct text note = {0};
    columns_choose(&page);
    if (cases.count > 0) {
        colour_append(&page, "\x1b[1m");
        paragraph_append(text, table->title, page.width, 0, 0);
        colour_append(&page, "\x1b[0m");
        paragraph_append(text, table->words, page.width, 0, 0);
        cases_append(&page, &cases);
    }
    if (cases.count > 0 && table->note != NULL) {
        table->note(report, &note);
    }
    if (note.length > 0) {
        text_append(text, "  ");
        outside_paragraph_append(text, text_string(&note), page.width, 2, 2);
    }
    text->failed = text->failed || cases.failed || note.failed;
    text_release(&note);
    side_cases_release(&cases);
}

void side_tables_terminal(const struct report *report, const struct report_style *style, struct text *text)
{
    const struct side_table *table;
    for (int index = 0; (table = side_table_at(index)) != NULL; index++) {
        if (!table->is_detail && side_table_is_there(table, report)) {
            text_append(text, "\n");
            side_table_terminal(table, report, style, text);
        }
    }
}
