/* Plot of the weights rule: a line for each series, a mark for each case at its tokens. Scales and colours are the
 * script's affair. */
#include <inttypes.h>

#include "harness/report/plots.h"
#include "harness/report/weights_rule_view.h"

enum { CELLS_MAXIMUM = 5000 };

/* Where the cases end whose marks would cover the mark of the case `first`: those with a fifth more tokens at most. */
static int group_end(const struct rule_series *series, int first)
{
    const int64_t tokens = series->cells[first].tokens;
    int end = first + 1;
    while (end < series->cell_count && series->cells[end].tokens - tokens <= tokens / 5) {
        end++;
    }
    return end;
}

/* Cases of a group lie above each other, so that none hides another: where, from -0.3 to 0.3 of a line. */
static double dodge_of(int at, int count)
{
    double step = count > 3 ? 0.6 / (count - 1) : 0.3;
    return step * (at - (count - 1) / 2.0);
}

/* Where the word changes the boundary lies, so both sides of it are always drawn. */
static bool is_at_boundary(const struct rule_series *series, int at)
{
    enum rule_word word = series->cells[at].word;
    return (at > 0 && series->cells[at - 1].word != word) ||
           (at + 1 < series->cell_count && series->cells[at + 1].word != word);
}

static void cells_write(struct plot_page *page, const struct rule_series *series, int stride, int place)
{
    int first = 0, end = 0;
    for (int at = 0; at < series->cell_count; at++) {
        const struct rule_cell *cell = &series->cells[at];
        if (at == end) {
            first = at;
            end = group_end(series, at);
        }
        if (at % stride != 0 && at != series->cell_count - 1 && !is_at_boundary(series, at)) {
            continue;
        }
        text_format(&page->data, "%.3f\t%" PRId64 "\t%.6f\t%d\t", place + dodge_of(at - first, end - first),
                    cell->tokens, cell->ratio, (int)cell->word);
        label_column(&page->data, cell->one->view->label);
        text_append(&page->data, "\n");
    }
}

static void titles_write(struct plot_page *page, const struct weights_rule *rule)
{
    text_append(&page->data, "\n\n# place\tseries\n");
    for (int index = 0; index < rule->series_count; index++) {
        text_format(&page->data, "%d\t", index + 1);
        label_column(&page->data, rule->series[index].title);
        text_append(&page->data, "\n");
    }
}

/* Where the series crosses the factor, one line for each that does. */
static void crossings_write(struct plot_page *page, const struct weights_rule *rule)
{
    text_append(&page->data, "\n\n# place\ttokens\n0\tNaN\n");
    for (int index = 0; index < rule->series_count; index++) {
        if (rule->series[index].crossing_tokens > 0) {
            text_format(&page->data, "%d\t%" PRId64 "\n", index + 1, rule->series[index].crossing_tokens);
        }
    }
}

enum status_code weights_rule_plot(const void *subject, const struct plot_place *place, struct status *error)
{
    const struct weights_rule *rule = subject;
    int stride = plot_stride(rule->cell_count, CELLS_MAXIMUM);
    struct plot_page page = {.mark_count = rule->series_count, .width = 1220, .tolerance = rule->factor};
    text_append(&page.data, "# place\ttokens\tratio\tword: 0 too little, 1 close, 2 wasteful\tcase\n");
    for (int index = 0; index < rule->series_count; index++) {
        cells_write(&page, &rule->series[index], stride, index + 1);
    }
    titles_write(&page, rule);
    crossings_write(&page, rule);
    page.height = 190 + 30 * page.mark_count;
    text_append(&page.title, "Where it is enough");
    plot_stride_note(&page, stride, "what lies where the answer changes");
    plot_caption_close(&page, rule->provenance);
    enum status_code code = plot_page_draw(place, WEIGHTS_RULE_PLOT, "inference with known weights", 0, &page, error);
    plot_page_release(&page);
    return code;
}
