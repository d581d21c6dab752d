/* Plots: one page of data written and drawn. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_PLOTS_H
#define ASSAY_REPORT_PLOTS_H

#include "harness/report/plot_data.h"

struct plot_place {
    const char *script_directory, *plot_directory;
    struct text *notes; /* one line for each plot that was not drawn, and why */
};

/* Makes the folder where it is missing. STATUS_IO. */
enum status_code plot_place_make(const struct plot_place *place, struct status *error);

/* Writes NAME.tsv, copies NAME.gp and draws NAME.svg and NAME.png; number: NAME-2 and so on from 1. A page without a mark
 * removes what is there, and number 0 then gets a note with what it needs. STATUS_IO: a data file cannot be written. */
enum status_code plot_page_write(const struct plot_place *place, const char *name, const char *needs, int number,
                                 const struct plot_page *page, struct status *error);

#endif
