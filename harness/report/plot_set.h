/* Plot set: the plots of one report, drawn into memory, and their files in a folder of the user's.
 *
 * A page takes its images from the set and never from a folder, so it shows what this report drew and nothing else: no
 * image of an earlier report, none of another report that is being made there at the same time. Saving never removes a
 * file: each one is replaced by a whole new one of the same name (file_replace), or stays as it is. What an earlier
 * report has left and this one does not draw (it had more pages, or gnuplot is missing now) is named in a note; whether
 * it goes is for the user to say, who may have committed it. */
#ifndef ASSAY_REPORT_PLOT_SET_H
#define ASSAY_REPORT_PLOT_SET_H

#include <stdbool.h>

#include "harness/base/status.h"
#include "harness/base/text.h"

/* One page of a plot. */
struct plot {
    char *name;               /* "accuracy", "anatomy-2" */
    char *title;              /* "Overhead of inference: gpt2"; one line, as in the records: callers escape it */
    struct text data, script; /* empty data: this report has no such page */
    struct text svg, png;     /* empty: not drawn */
};

/* All zero is an empty set. */
struct plot_set {
    struct plot *plots;
    int count;
    size_t room;
    bool gnuplot_is_missing;
    const char *link; /* where the files will lie, as seen from the page: "plots"; NULL: they are not kept; borrowed */
};

/* Adds an empty plot of that name and title (copied); NULL if memory ran out. Valid until the next is added. */
struct plot *plot_set_add(struct plot_set *set, const char *name, const char *title);

/* Whether a plot of that name is there; letters count the same in either case, as for some file systems. */
bool plot_set_has(const struct plot_set *set, const char *name);

/* The SVG document of a plot; NULL if none was drawn. set may be NULL. */
const struct text *plot_set_svg(const struct plot_set *set, const char *name);

/* Writes NAME.tsv, NAME.gp, NAME.svg and NAME.png of each plot into folder, which is made if it is missing. notes
 * receives a line if files of an earlier report stay. STATUS_IO: the folder or a file cannot be written. */
enum status_code plot_set_save(const struct plot_set *set, const char *folder, struct text *notes,
                               struct status *error);

void plot_set_release(struct plot_set *set);

#endif
