/* Law cells: the cells that the pages of several laws have. */
#ifndef ASSAY_LAW_LAW_CELL_H
#define ASSAY_LAW_LAW_CELL_H

#include "harness/law/overhead_law.h"
#include "harness/report/page.h"

/* A figure that is no cell of another kind: "3.02", "-" if it is no number. digits: 0 to 3. */
struct cell law_figure_cell(struct page *page, double value, int digits);

/* Error summaries: cases, median, p90, p99, worst, bias, under. */
enum { SUMMARY_CELLS = 7 };
#define SUMMARY_COLUMNS                                                                                                \
    {.title = "cases", .kind = CELL_COUNT}, {.title = "median", .kind = CELL_MAGNITUDE},                               \
        {.title = "p90", .kind = CELL_MAGNITUDE}, {.title = "p99", .kind = CELL_MAGNITUDE},                            \
        {.title = "worst", .kind = CELL_MAGNITUDE}, {.title = "bias", .kind = CELL_SIGNED},                            \
    {                                                                                                                  \
        .title = "under", .kind = CELL_SHARE                                                                           \
    }

void summary_cells_fill(const struct error_summary *summary, struct cell cells[SUMMARY_CELLS]);

#endif
