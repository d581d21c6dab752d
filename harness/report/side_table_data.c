/* Side tables for programs: CSV with a row for each row, the id of its case in front, and the same as JSON. Figures are plain
 * numbers; what is not known is an empty cell, or null. */
#include <inttypes.h>

#include "harness/report/escape.h"
#include "harness/report/side_table.h"

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

void side_table_csv(const struct side_table *table, const struct report *report, struct text *text)
{
    struct side_rows rows;
    side_rows_make(table, report, 0, &rows);
    text_append(text, "id");
    for (int column = 0; column < table->column_count; column++) {
        text_format(text, ",%s", table->columns[column].key);
    }
    text_append(text, "\r\n");
    for (int at = 0; at < rows.count; at++) {
        csv_append(text, rows.rows[at].view->id);
        for (int column = 0; column < table->column_count; column++) {
            cell_csv(&rows.rows[at].cells[column], table->columns[column].kind, text);
        }
        text_append(text, "\r\n");
    }
    text->failed = text->failed || rows.failed;
    side_rows_release(&rows);
}

static struct json *cell_json(const struct cell *cell, enum cell_kind kind)
{
    return !cell->known        ? json_null_new()
           : kind == CELL_FLAG ? json_boolean_new(cell->number != 0)

           : cell_is_word(kind) ? json_string_new(cell->word)
           : is_integer(kind)   ? json_integer_new(cell->number)
                                : json_real_new(cell->real);
}

struct json *side_table_json(const struct side_table *table, const struct report *report)
{
    struct side_rows rows;
    struct json *value = json_array_new();
    side_rows_make(table, report, 0, &rows);
    bool made = value != NULL && !rows.failed;
    for (int at = 0; made && at < rows.count; at++) {
        struct json *row = json_object_new();
        bool set = json_set(row, "id", json_string_new(rows.rows[at].view->id));
        for (int column = 0; set && column < table->column_count; column++) {
            set = json_set(row, table->columns[column].key,
                           cell_json(&rows.rows[at].cells[column], table->columns[column].kind));
        }
        made = json_append(value, json_made(row, set));
    }
    side_rows_release(&rows);
    return json_made(value, made);
}
