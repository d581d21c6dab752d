/* accelerate's box of text: columns as wide as their longest cell, cells centred as Python centres them. Not a table
 * for other reports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/code_point.h"

#include "harness/estimate/accelerate.h"

enum { COLUMN_COUNT = 4, CELL_BYTES = ACCELERATE_CELL_BYTES };

struct box {
    struct text *text;
    int widths[COLUMN_COUNT];
};

static const char *const headers[COLUMN_COUNT] = {"dtype", "Largest Layer", "Total Size", "Training using Adam"};

/* Python's repr of round(value, 2): no zeros at the end, but one digit after the point. Values are below 10,000 here,
 * so two decimals are its shortest spelling. */
static void number_format(double value, char cell[CELL_BYTES], const char *unit)
{
    char digits[CELL_BYTES / 2];
    snprintf(digits, sizeof digits, "%.2f", value);
    size_t length = strlen(digits);
    if (digits[length - 1] == '0') {
        digits[length - 1] = '\0';
    }
    snprintf(cell, CELL_BYTES, "%s %s", digits, unit);
}

/* Whole numbers below 1024 are printed without a fraction if Python had an int in hand. */
void accelerate_bytes_format(double bytes, bool is_integer, char cell[CELL_BYTES])
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    if (is_integer && bytes < 1024) {
        snprintf(cell, CELL_BYTES, "%.0f bytes", bytes);
        return;
    }
    while (bytes >= 1024 && unit < 5) {
        bytes /= 1024;
        unit++;
    }
    number_format(bytes, cell, units[unit]);
}

/* Characters, not bytes: names may be UTF-8. */
static int character_count(const char *text)
{
    return code_point_count(text, strlen(text));
}

static void repeat(struct text *text, const char *piece, int count)
{
    for (int i = 0; i < count; i++) {
        text_append(text, piece);
    }
}

/* As str.center: an odd rest goes to the left if the width is odd. */
static void centre(struct text *text, const char *cell, int width)
{
    int rest = width - character_count(cell);
    rest = rest > 0 ? rest : 0;
    int left = rest / 2 + (rest & width & 1);
    repeat(text, " ", left);
    text_append(text, cell);
    repeat(text, " ", rest - left);
}

static void box_rule(const struct box *box, const char *left, const char *middle, const char *right)
{
    text_append(box->text, left);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        text_append(box->text, i > 0 ? middle : "");
        repeat(box->text, "─", box->widths[i]);
    }
    text_format(box->text, "%s\n", right);
}

static void box_line(const struct box *box, const char *const cells[COLUMN_COUNT])
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        text_append(box->text, "│");
        centre(box->text, cells[i], box->widths[i]);
    }
    text_append(box->text, "│\n");
}

static void row_cells(const struct accelerate_row *row, char cells[COLUMN_COUNT][CELL_BYTES])
{
    bool whole = row->dtype == ACCELERATE_FLOAT32;
    snprintf(cells[0], CELL_BYTES, "%s", accelerate_dtype_name(row->dtype));
    snprintf(cells[1], CELL_BYTES, "-");
    if (!row->layer_is_unknown) {
        accelerate_bytes_format(row->largest_layer_bytes, whole, cells[1]);
    }
    accelerate_bytes_format(row->total_bytes, whole, cells[2]);
    snprintf(cells[3], CELL_BYTES, "N/A");
    if (row->training_known) {
        accelerate_bytes_format(row->training_bytes, whole || row->rule == ACCELERATE_RULE_CURRENT, cells[3]);
    }
}

/* The last column takes what a long title needs, and as much again: so does the original. */
static void box_measure(struct box *box, const struct accelerate_row *rows, int count, int title_width)
{
    int sum = 0;
    for (int column = 0; column < COLUMN_COUNT; column++) {
        box->widths[column] = character_count(headers[column]);
    }
    for (int i = 0; i < count; i++) {
        char cells[COLUMN_COUNT][CELL_BYTES];
        row_cells(&rows[i], cells);
        for (int column = 0; column < COLUMN_COUNT; column++) {
            int width = character_count(cells[column]);
            box->widths[column] = width > box->widths[column] ? width : box->widths[column];
        }
    }
    for (int column = 0; column < COLUMN_COUNT; column++) {
        sum += box->widths[column];
    }
    if (title_width > sum) {
        box->widths[COLUMN_COUNT - 1] += 2 * abs(title_width - (sum + COLUMN_COUNT + 1));
    }
}

enum status_code accelerate_table(const char *model, const struct accelerate_row *rows, int count, struct text *table,
                                  struct status *error)
{
    struct box box = {.text = table};
    struct text title = {0};
    text_format(&title, "Memory Usage for loading `%s`", model);
    box_measure(&box, rows, count, character_count(text_string(&title)));
    int inner = COLUMN_COUNT - 1;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        inner += box.widths[i];
    }
    box_rule(&box, "┌", "─", "┐");
    text_append(table, "│");
    centre(table, text_string(&title), inner);
    text_append(table, "│\n");
    box_rule(&box, "├", "┬", "┤");
    box_line(&box, headers);
    box_rule(&box, "├", "┼", "┤");
    for (int i = 0; i < count; i++) {
        char cells[COLUMN_COUNT][CELL_BYTES];
        row_cells(&rows[i], cells);
        box_line(&box, (const char *const[]){cells[0], cells[1], cells[2], cells[3]});
    }
    box_rule(&box, "└", "┴", "┘");
    bool failed = title.failed || table->failed;
    text_release(&title);
    return failed ? status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for the table") : STATUS_OK;
}
