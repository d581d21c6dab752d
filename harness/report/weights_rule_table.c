/* Weights rule for a terminal: a grid of batch by length for each series. Every line fits the width. */
#include <inttypes.h>
#include <stdio.h>

#include "harness/report/escape.h"
#include "harness/report/weights_rule_view.h"

enum { BATCH_COLUMNS = 16, CELL_COLUMNS = 10 };

struct rule_table {
    const struct weights_rule *rule;
    struct text *text;
    int width;
    bool colour;
};

static void style_append(const struct rule_table *table, const char *code)
{
    text_append(table->text, table->colour ? code : "");
}

static void cell_write(const struct rule_table *table, const struct rule_cell *cell)
{
    static const char marks[RULE_WORD_COUNT] = {'!', ' ', '~'};
    static const char *const colours[RULE_WORD_COUNT] = {"\x1b[31m", "\x1b[32m", "\x1b[33m"};
    char word[WORDING_BYTES] = "-";
    if (cell != NULL) {
        snprintf(word, sizeof word, cell->ratio < 99.995 ? "%.2f %c" : "%.0f %c", cell->ratio, marks[cell->word]);
        style_append(table, colours[cell->word]);
    }
    cell_append(table->text, word, CELL_COLUMNS, true);
    style_append(table, cell != NULL ? "\x1b[0m" : "");
}

static void grid_write(const struct rule_table *table, const struct rule_series *series,
                       const struct rule_column *columns, int column_count, const int64_t *batches, int batch_count)
{
    char word[WORDING_BYTES];
    style_append(table, "\x1b[2m");
    cell_append(table->text, series->is_image ? "  batch" : "  batch \\ length", BATCH_COLUMNS, false);
    for (int at = 0; at < column_count; at++) {
        cell_append(table->text, rule_column_word(&columns[at], word), CELL_COLUMNS - 2, true);
        cell_append(table->text, "", 2, true); /* above the marks is nothing */
    }
    line_end_append(table->text);
    style_append(table, "\x1b[0m");
    for (int row = 0; row < batch_count; row++) {
        snprintf(word, sizeof word, "%" PRId64, batches[row]);
        cell_append(table->text, word, BATCH_COLUMNS, true);
        for (int at = 0; at < column_count; at++) {
            cell_write(table, rule_cell_find(series, batches[row], &columns[at]));
        }
        line_end_append(table->text);
    }
}

static void series_write(const struct rule_table *table, const struct rule_series *series)
{
    struct text title = {0};
    struct arena arena = {0};
    struct rule_column *columns = NULL;
    int64_t *batches = NULL;
    int column_count = rule_columns_find(series, &arena, &columns);
    int batch_count = rule_batches_find(series, &arena, &batches);
    int room = (table->width - BATCH_COLUMNS) / CELL_COLUMNS;
    text_append(table->text, "\n");
    text_format(&title, "%s: ", series->title);
    rule_boundary_append(&title, series);
    style_append(table, "\x1b[1m");
    outside_paragraph_append(table->text, text_string(&title), table->width, 2, 0);
    style_append(table, "\x1b[0m");
    table->text->failed = table->text->failed || column_count < 0 || batch_count < 0;
    for (int first = 0; first < column_count && batch_count >= 0; first += room) {
        int count = column_count - first < room ? column_count - first : room;
        grid_write(table, series, columns + first, count, batches, batch_count);
    }
    arena_release(&arena);
    text_release(&title);
}

static void totals_write(const struct rule_table *table, const struct rule_totals *totals, const char *kind)
{
    struct text line = {0};
    rule_totals_append(&line, table->rule, totals, kind);
    if (line.length > 0) {
        paragraph_append(table->text, text_string(&line), table->width, 2, 0);
    }
    text_release(&line);
}

void weights_rule_table_write(const struct weights_rule *rule, const struct report_style *style, struct text *text)
{
    struct rule_table table = {.rule = rule, .text = text, .width = style->width, .colour = style->colour};
    struct text line = {0};
    text_format(&line, "Is %g x weights enough for inference? ", rule->factor);
    counted_cases_append(&line, &rule->counted);
    rule_inference_append(&line, rule);
    paragraph_append(text, text_string(&line), table.width, 2, 0);
    text_release(&line);
    if (rule->provenance[0] != '\0') {
        outside_paragraph_append(text, rule->provenance, table.width, 2, 0);
    }
    if (weights_rule_is_empty(rule)) {
        paragraph_append(text, "Nothing to judge: no row that counts is inference with known weights.", table.width, 0,
                         0);
        return;
    }
    totals_write(&table, &rule->measured, BASIS_MEASURED);
    totals_write(&table, &rule->predicted, BASIS_REPLAYED);
    for (int index = 0; index < rule->series_count; index++) {
        series_write(&table, &rule->series[index]);
    }
    text_append(text, "\n");
    rule_explanation_append(&line, rule);
    paragraph_append(text, text_string(&line), table.width, 0, 0);
    text_release(&line);
}
