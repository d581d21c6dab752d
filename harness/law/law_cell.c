/* Law cells: figures as words of a page, and error summaries. */
#include "harness/law/law_cell.h"

#include <math.h>

struct cell law_figure_cell(struct page *page, double value, int digits)
{
    struct text word = {0};
    if (!isfinite(value)) {
        return (struct cell){.known = false};
    }
    text_format(&word, "%.*f", digits, value);
    return (struct cell){.known = true, .word = page_word_move(page, &word)};
}

void summary_cells_fill(const struct error_summary *summary, struct cell cells[SUMMARY_CELLS])
{
    bool known = summary->count > 0;
    cells[0] = cell_count(summary->count);
    cells[1] = cell_error(known, summary->median);
    cells[2] = cell_error(known, summary->p90);
    cells[3] = cell_error(known && !isnan(summary->p99), summary->p99);
    cells[4] = cell_error(known, summary->worst);
    cells[5] = cell_error(known, summary->bias);
    cells[6] = cell_error(known, summary->under);
}
