/* Weights rule in Markdown: one table of the boundaries, then a grid for each series. */
#include <inttypes.h>

#include "harness/report/escape.h"
#include "harness/report/weights_rule_view.h"

static void totals_append(struct text *text, const struct weights_rule *rule, const struct rule_totals *totals,
                          const char *kind)
{
    struct text line = {0};
    rule_totals_append(&line, rule, totals, kind);
    if (line.length > 0) {
        text_append(text, "- ");
        markdown_append(text, text_string(&line));
        text_append(text, "\n");
    }
    text_release(&line);
}

static void boundaries_append(struct text *text, const struct weights_rule *rule)
{
    text_append(text, "\n## Where it stops\n\n| model | cases | too little | close | wasteful | boundary |\n"
                      "|---|--:|--:|--:|--:|---|\n");
    for (int index = 0; index < rule->series_count; index++) {
        const struct rule_series *series = &rule->series[index];
        struct text boundary = {0};
        int word_count[RULE_WORD_COUNT] = {0};
        for (int at = 0; at < series->cell_count; at++) {
            word_count[series->cells[at].word]++;
        }
        text_append(text, "| ");
        markdown_append(text, series->title);
        text_format(text, " | %d | %d | %d | %d | ", series->cell_count, word_count[RULE_TOO_LITTLE],
                    word_count[RULE_CLOSE], word_count[RULE_WASTEFUL]);
        rule_boundary_append(&boundary, series);
        markdown_append(text, text_string(&boundary));
        text_append(text, " |\n");
        text_release(&boundary);
    }
}

static void cell_append_markdown(struct text *text, const struct rule_cell *cell)
{
    if (cell == NULL) {
        text_append(text, " - |");
    } else if (cell->word == RULE_TOO_LITTLE) {
        text_format(text, " **%.2f** ! |", cell->ratio);
    } else {
        text_format(text, " %.2f%s |", cell->ratio, cell->word == RULE_WASTEFUL ? " \\~" : "");
    }
}

static void grid_append(struct text *text, const struct rule_series *series)
{
    char word[WORDING_BYTES];
    struct arena arena = {0};
    struct rule_column *columns = NULL;
    int64_t *batches = NULL;
    int column_count = rule_columns_find(series, &arena, &columns);
    int batch_count = rule_batches_find(series, &arena, &batches);
    text->failed = text->failed || column_count < 0 || batch_count < 0;
    text_append(text, "\n### ");
    markdown_append(text, series->title);
    text_append(text, "\n\n| batch |");
    for (int at = 0; at < column_count; at++) {
        text_format(text, " %s |", rule_column_word(&columns[at], word));
    }
    text_append(text, "\n|--:|");
    for (int at = 0; at < column_count; at++) {
        text_append(text, "--:|");
    }
    for (int row = 0; row < batch_count; row++) {
        text_format(text, "\n| %" PRId64 " |", batches[row]);
        for (int at = 0; at < column_count; at++) {
            cell_append_markdown(text, rule_cell_find(series, batches[row], &columns[at]));
        }
    }
    text_append(text, "\n");
    arena_release(&arena);
}

void weights_rule_markdown_write(const struct weights_rule *rule, struct text *text)
{
    struct text line = {0};
    text_format(text, "# Is %g x weights enough for inference?\n\n", rule->factor);
    text_format(&line, "%s%s", rule->provenance, rule->provenance[0] != '\0' ? "; " : "");
    counted_cases_append(&line, &rule->counted);
    rule_inference_append(&line, rule);
    text_append(&line, ".");
    markdown_append(text, text_string(&line));
    text_append(text, "\n\n");
    text_release(&line);
    if (weights_rule_is_empty(rule)) {
        text_append(text, "Nothing to judge: no row that counts is inference with known weights.\n");
        return;
    }
    totals_append(text, rule, &rule->measured, BASIS_MEASURED);
    totals_append(text, rule, &rule->predicted, BASIS_REPLAYED);
    rule_explanation_append(&line, rule);
    text_append(text, "\n");
    markdown_append(text, text_string(&line));
    text_append(text, "\n");
    text_release(&line);
    boundaries_append(text, rule);
    text_append(text, "\n## Peak / weights, batch by length\n");
    for (int index = 0; index < rule->series_count; index++) {
        grid_append(text, &rule->series[index]);
    }
}
