/* gnuplot: the one door to the plotting program. It is spawned with a list of arguments; no shell is involved. */
#ifndef ASSAY_REPORT_GNUPLOT_H
#define ASSAY_REPORT_GNUPLOT_H

#include "harness/base/status.h"

struct gnuplot_task {
    const char *script, *data; /* files that exist */
    const char *image;         /* written to a file beside it first; replaced only by a complete picture */
    const char *format;        /* "svg" or "png" */
    int width, height;         /* in points */
    const char *option;        /* the script's sixth argument; "" for none */
    const char *basis; /* the seventh: what the figures are, "measured" or "replayed"; "" where it is not said */
};

/* Draws one image. STATUS_UNAVAILABLE: gnuplot is not installed (with the remedy). STATUS_IO: it failed, took longer
 * than a minute or drew nothing; the text has the last line it complained with. */
enum status_code gnuplot_draw(const struct gnuplot_task *task, struct status *error);

#endif
