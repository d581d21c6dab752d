/* Weights rule as one HTML page: heat maps of batch by length, its plot put into it. */
#include <inttypes.h>

#include "harness/report/escape.h"
#include "harness/report/html_page.h"
#include "harness/report/weights_rule_view.h"

static void paragraph_write(struct text *text, const struct text *words, const char *class)
{
    if (words->length > 0) {
        text_format(text, "<p class=\"%s\">", class);
        xml_append(text, text_string(words));
        text_append(text, "</p>\n");
    }
}

static void cell_write(struct text *text, const struct rule_cell *cell)
{
    static const char *const classes[RULE_WORD_COUNT] = {"too", "close", "wasteful"};
    if (cell == NULL) {
        text_append(text, "<td class=\"n\">-</td>");
        return;
    }
    text_format(text, "<td class=\"n %s\" title=\"%s\">%.2f%s</td>", classes[cell->word], rule_word_name(cell->word),
                cell->ratio,
                cell->word == RULE_TOO_LITTLE ? " !"
                : cell->word == RULE_WASTEFUL ? " ~"
                                              : "");
}

static void series_write(struct text *text, const struct rule_series *series, int number)
{
    char word[WORDING_BYTES];
    struct arena arena = {0};
    struct text boundary = {0};
    struct rule_column *columns = NULL;
    int64_t *batches = NULL;
    int column_count = rule_columns_find(series, &arena, &columns);
    int batch_count = rule_batches_find(series, &arena, &batches);
    text->failed = text->failed || column_count < 0 || batch_count < 0;
    text_format(text, "<h2 id=\"series%d\">", number);
    xml_append(text, series->title);
    text_append(text, "</h2>\n");
    rule_boundary_append(&boundary, series);
    paragraph_write(text, &boundary, "note");
    html_table_begin(text);
    text_append(text, "<tr><th class=\"n\">batch</th>");
    for (int at = 0; at < column_count; at++) {
        text_format(text, "<th class=\"n\">%s</th>", rule_column_word(&columns[at], word));
    }
    text_append(text, "</tr>\n");
    for (int row = 0; row < batch_count; row++) {
        text_format(text, "<tr><td class=\"n\">%" PRId64 "</td>", batches[row]);
        for (int at = 0; at < column_count; at++) {
            cell_write(text, rule_cell_find(series, batches[row], &columns[at]));
        }
        text_append(text, "</tr>\n");
    }
    html_table_end(text);
    text_release(&boundary);
    arena_release(&arena);
}

static void plot_write(struct text *text, const struct plot_set *plots)
{
    struct text figure = {0};
    text_append(&figure, "<figure>\n<figcaption>Where it is enough</figcaption>\n");
    if (html_image_append(&figure, plot_set_svg(plots, WEIGHTS_RULE_PLOT))) {
        text_append(text, text_string(&figure));
        text_append(text, "</figure>\n");
    }
    text_release(&figure);
}

static void contents_write(struct text *text, const struct weights_rule *rule)
{
    text_append(text, rule->series_count > 0 ? "<nav><ul>\n" : "");
    for (int index = 0; index < rule->series_count; index++) {
        text_format(text, "<li><a href=\"#series%d\">", index);
        xml_append(text, rule->series[index].title);
        text_append(text, "</a>\n");
    }
    text_append(text, rule->series_count > 0 ? "</ul></nav>\n" : "");
}

void weights_rule_html_write(const struct weights_rule *rule, const struct report_style *style, struct text *text)
{
    struct text line = {0};
    text_format(&line, "Is %g x weights enough for inference?%s%s", rule->factor, rule->title[0] != '\0' ? " " : "",
                rule->title);
    html_page_begin(text, text_string(&line));
    text_release(&line);
    counted_cases_append(&line, &rule->counted);
    rule_inference_append(&line, rule);
    text_append(&line, ".");
    paragraph_write(text, &line, "note");
    text_release(&line);
    rule_totals_append(&line, rule, &rule->measured, BASIS_MEASURED);
    paragraph_write(text, &line, "");
    text_release(&line);
    rule_totals_append(&line, rule, &rule->predicted, BASIS_REPLAYED);
    paragraph_write(text, &line, "");
    text_release(&line);
    if (weights_rule_is_empty(rule)) {
        text_append(&line, "Nothing to judge: no row that counts is inference with known weights.");
    } else {
        rule_explanation_append(&line, rule);
    }
    paragraph_write(text, &line, "note");
    text_release(&line);
    text_append(&line, rule->provenance);
    paragraph_write(text, &line, "note");
    text_release(&line);
    contents_write(text, rule);
    if (style->plots != NULL) {
        plot_write(text, style->plots);
    }
    for (int index = 0; index < rule->series_count; index++) {
        series_write(text, &rule->series[index], index);
    }
    html_page_end(text);
}
