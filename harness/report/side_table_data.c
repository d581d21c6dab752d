/* Side tables for programs: CSV with a row for each row, the id of its case in front, and the same as JSON. Figures are
 * plain numbers; what is not known is an empty cell, or null. */
#include <inttypes.h>

#include "harness/report/escape.h"
#include "harness/report/side_table.h"

enum { INDENT = 2 };

static bool is_integer(enum cell_kind kind)
{
    return kind == CELL_COUNT || kind == CELL_BYTES || kind == CELL_DIFFERENCE;
}

static void cell_csv(const struct cell *cell, enum cell_kind kind, struct text *text)
{
    text_append(text, ",");
    if (!cell->known) {
        return;
    }
    if (kind == CELL_FLAG) {
        text_append(text, cell->number != 0 ? "true" : "false");
    } else if (cell_is_word(kind)) {
        csv_append(text, cell->word);
    } else if (is_integer(kind)) {
        text_integer(text, cell->number);
    } else {
        text_format(text, "%.9g", cell->real);
    }
}

static void row_csv(const struct side_table *table, const struct side_row *row, struct text *text)
{
    csv_append(text, row->view->id);
    for (int column = 0; column < table->column_count; column++) {
        cell_csv(&row->cells[column], table->columns[column].kind, text);
    }
    text_append(text, "\r\n");
}

void side_table_csv(const struct side_table *table, const struct report *report, struct text *text)
{
    struct side_cases cases = side_cases_make(table, report, 0);
    struct side_rows rows = {0};
    text_append(text, "id");
    for (int column = 0; column < table->column_count; column++) {
        text_format(text, ",%s", table->columns[column].key);
    }
    text_append(text, "\r\n");
    for (int at = 0; at < cases.count; at++) {
        side_rows_of(table, cases.cases[at], &rows);
        for (int index = 0; index < rows.count; index++) {
            row_csv(table, &rows.rows[index], text);
        }
    }
    text->failed = text->failed || cases.failed || rows.failed;
    side_rows_release(&rows);
    side_cases_release(&cases);
}

static struct json *cell_json(const struct cell *cell, enum cell_kind kind)
{
    return !cell->known        ? json_null_new()
           : kind == CELL_FLAG ? json_boolean_new(cell->number != 0)

           : cell_is_word(kind) ? json_string_new(cell->word)
           : is_integer(kind)   ? json_integer_new(cell->number)
                                : json_real_new(cell->real);
}

static void row_json(const struct side_table *table, const struct side_row *row, int depth, struct text *text)
{
    struct json *value = json_object_new();
    bool made = json_set(value, "id", json_string_new(row->view->id));
    for (int column = 0; made && column < table->column_count; column++) {
        made = json_set(value, table->columns[column].key, cell_json(&row->cells[column], table->columns[column].kind));
    }
    json_write_below(value, INDENT, depth, text);
    text->failed = text->failed || !made;
    json_release(value);
}

void side_table_json(const struct side_table *table, const struct report *report, int depth, struct text *text)
{
    struct side_cases cases = side_cases_make(table, report, 0);
    struct side_rows rows = {0};
    const char *separator = "[";
    for (int at = 0; at < cases.count; at++) {
        side_rows_of(table, cases.cases[at], &rows);
        for (int index = 0; index < rows.count; index++) {
            text_format(text, "%s\n%*s", separator, INDENT * (depth + 1), "");
            row_json(table, &rows.rows[index], depth + 1, text);
            separator = ",";
        }
    }
    if (separator[0] == ',') {
        text_format(text, "\n%*s]", INDENT * depth, "");
    } else {
        text_append(text, "[]");
    }
    text->failed = text->failed || cases.failed || rows.failed;
    side_rows_release(&rows);
    side_cases_release(&cases);
}
