/* Report files: what `run` and `report` leave on disk beside the records, and nowhere else.
 *
 *   DIR/report.html, DIR/report.md      `run` alone
 *   DIR/plots/NAME.tsv .gp .svg .png    `run`, and `report` if its own output lies in DIR
 *
 * If the output of `report` lies elsewhere, or is standard output, nothing in DIR changes. Each file is replaced
 * whole or stays; none is removed (harness/report/plot_set.h). */
#ifndef ASSAY_CLI_REPORT_FILES_H
#define ASSAY_CLI_REPORT_FILES_H

#include "harness/base/arena.h"
#include "harness/report/report.h"

/* Where the plots of the records at path go: PATH/plots for a folder, plots beside a file. Paths live in arena. */
const char *report_plot_folder(struct arena *arena, const char *path);

/* Whether output (a file that need not be there yet; NULL: none) lies in the folder of the records at path, or below
 * it. */
bool report_output_is_beside(const char *output, const char *path);

/* folder as seen from the page output (NULL: standard output), for links: "plots" for DIR/report.html and DIR/plots,
 * else the whole path. NULL if folder is. */
const char *report_plot_link(struct arena *arena, const char *output, const char *folder);

/* Draws the plots into place->set, with the scripts that come with the program. */
enum status_code report_draw(const struct report *report, struct plot_place *place, struct status *error);

/* STATUS_IO with the remedy if report_write could not replace what is in folder now: said before anything is
 * measured. */
enum status_code report_write_check(const char *folder, struct status *error);

struct report_folder {
    const char *path;
    bool is_quiet; /* plots that no case has figures for are not told; what is wrong is */
};

/* Writes report.md, report.html (whose name is then *page) and the plots into folder; one line to standard error for
 * each plot that could not be drawn. */
enum status_code report_write(const struct report *report, struct arena *arena, const struct report_folder *folder,
                              const char **page, struct status *error);

/* Whether a page can be written to path, which the user named, before anything costly is done for it. STATUS_IO. */
enum status_code report_junit_check(const char *path, struct status *error);

/* Writes the JUnit page of the one run of the folder to path, in one step. */
enum status_code report_junit_write(const char *folder, const char *run_id, const char *path, struct status *error);

/* The same of a run that was not begun, so that no page of another one is taken for its own: report_nothing_junit. */
enum status_code report_junit_write_nothing(const char *suite, const char *why, bool is_error, const char *path,
                                            struct status *error);

#endif
