/* SVG compact: an image of gnuplot's as it is put into a page: the same picture in a third of the bytes. Not for
 * anybody outside this folder. */
#ifndef ASSAY_REPORT_SVG_COMPACT_H
#define ASSAY_REPORT_SVG_COMPACT_H

#include "harness/base/text.h"

/* The style that svg_append's elements need, once in a page: rules of CSS. */
#define SVG_STYLE                                                                                                      \
    ".q{fill:none;color:#000;stroke:currentColor;stroke-width:1}"                                                      \
    "figure svg{font-family:'DejaVu Sans',Verdana,sans-serif}"

/* Appends an SVG element without titles, descriptions, filters, blanks between elements and groups that hold nothing;
 * what gnuplot repeats for every group is the class q. */
void svg_append(struct text *text, const char *element);

#endif
