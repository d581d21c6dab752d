/* Overhead thinning: which points of a page are drawn if there are more than an image can show. Not for anybody but
 * overhead_plot.c.
 *
 * A line is divided into stretches that are equally wide on the axis, and of each the lowest and the highest point are
 * drawn, with both ends of the line: it looks as all of it would. If there are too many lines, one in so many is
 * drawn, and in each panel the first, the last, and those with its lowest and its highest point. */
#ifndef ASSAY_REPORT_OVERHEAD_THINNING_H
#define ASSAY_REPORT_OVERHEAD_THINNING_H

#include "harness/report/overhead_points.h"

enum { OVERHEAD_POINTS_MAXIMUM = 4000 /* of a page, beyond which it is thinned */ };

struct overhead_thinning {
    int drawn_count, line_count, drawn_line_count;
};

/* Fills drawn[count] for the points of a page, which are in order. */
struct overhead_thinning overhead_thin(const struct overhead_point *points, int count, bool *drawn);

#endif
