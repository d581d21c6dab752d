/* Plots: one page of data drawn. For this folder, and for the
 * pages of harness/history and harness/gate. */
#ifndef ASSAY_REPORT_PLOTS_H
#define ASSAY_REPORT_PLOTS_H

#include "harness/report/plot_data.h"

/* Draws a page into place->set under NAME; number: NAME-2 and so on from 1. A page without a mark is put there empty,
 * and number 0 then gets a note with what it needs, unless needs is NULL. Errors: memory. */
enum status_code plot_page_draw(const struct plot_place *place, const char *name, const char *needs, int number,
                                const struct plot_page *page, struct status *error);

#endif
