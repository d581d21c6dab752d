/* Report files: everything that `run` and `report` leave on disk beside the records. */
#ifndef ASSAY_CLI_REPORT_FILES_H
#define ASSAY_CLI_REPORT_FILES_H

#include "harness/base/arena.h"
#include "harness/report/report.h"

/* Where the plots of the records at path go: PATH/plots for a folder, plots beside a file. Paths live in arena. */
const char *report_plot_folder(struct arena *arena, const char *path);

/* Draws the plots into folder; one line to standard error for each that could not be drawn. */
enum status_code report_draw(const struct report *report, const char *folder, struct status *error);

/* Draws the plots and writes report.html and report.md into folder, whose name with report.html is then *page. */
enum status_code report_write(const struct report *report, struct arena *arena, const char *folder, const char **page,
                              struct status *error);

#endif
