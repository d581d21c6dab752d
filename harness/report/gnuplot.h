/* gnuplot: the one door to the plotting program. It is spawned with a list of arguments; no shell is involved. Data go
 * in and the image comes out through memory, so nothing lies on a disk that could be a link, be shared, fill up or be
 * left behind. Variables of the environment that change what gnuplot does (GNUTERM, FIT_LOG and others) do not reach
 * it. */
#ifndef ASSAY_REPORT_GNUPLOT_H
#define ASSAY_REPORT_GNUPLOT_H

#include "harness/base/status.h"
#include "harness/base/text.h"

struct gnuplot_task {
    const char *script; /* a file */
    const struct text *data;
    const char *format;  /* "svg" or "png" */
    int width, height;   /* in points */
    const char *option;  /* the script's sixth argument; "" for none */
    const char *basis;   /* the seventh: what the figures are, "measured" or "replayed"; "" if it is not said */
    const char *caption; /* the eighth: lines for below the figure; the ninth is how many they are */
    int caption_lines;
};

/* Draws one image and appends it to *image: an SVG document up to </svg>, or a PNG file up to its IEND.
 * STATUS_UNAVAILABLE: gnuplot is not installed (with the remedy). STATUS_IO: it failed, took longer than a minute, drew
 * nothing or only a part of the image (gnuplot ends with 0 then, too); the text has the last line it complained
 * with. */
enum status_code gnuplot_draw(const struct gnuplot_task *task, struct text *image, struct status *error);

/* Its version: "gnuplot 5.4 patchlevel 8". STATUS_UNAVAILABLE: not installed, with the remedy. STATUS_IO: it does not
 * run. */
enum { GNUPLOT_VERSION_BYTES = 64 };
enum status_code gnuplot_version(char version[GNUPLOT_VERSION_BYTES], struct status *error);

#endif
