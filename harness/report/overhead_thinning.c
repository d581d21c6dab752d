/* Overhead thinning: one pass over panels, lines and stretches. It draws nothing and moves nothing. */
#include "harness/report/overhead_thinning.h"

#include <math.h>

#include "harness/report/plot_data.h"

enum { LINES_MAXIMUM = 400, STRETCHES_MINIMUM = 4, STRETCHES_MAXIMUM = 200 };

/* Where the panel, or the line, of the point at first ends. */
static int panel_end(const struct overhead_point *points, int count, int first)
{
    int end = first + 1;
    while (end < count && overhead_panel_is_one(&points[first], &points[end])) {
        end++;
    }
    return end;
}

static int line_end(const struct overhead_point *points, int end_of_panel, int first)
{
    int end = first + 1;
    while (end < end_of_panel && points[end].line == points[first].line) {
        end++;
    }
    return end;
}

static int lines_count(const struct overhead_point *points, int count)
{
    int lines = 0;
    for (int at = 0; at < count; lines++) {
        at = line_end(points, panel_end(points, count, at), at);
    }
    return lines;
}

/* The lowest and the highest point from first to end. */
static void ends_find(const struct overhead_point *points, int first, int end, int *lowest, int *highest)
{
    *lowest = *highest = first;
    for (int at = first + 1; at < end; at++) {
        *lowest = points[at].ratio < points[*lowest].ratio ? at : *lowest;
        *highest = points[at].ratio > points[*highest].ratio ? at : *highest;
    }
}

/* Which of the stretches a length lies in; the axis is logarithmic. */
static int stretch_of(const struct overhead_point *point, const struct overhead_point *first, double span,
                      int stretches)
{
    double share = span > 0.0 ? log((double)point->length / (double)first->length) / span : 0.0;
    int stretch = (int)(share * stretches);
    return stretch < stretches ? stretch : stretches - 1;
}

static void line_thin(const struct overhead_point *points, int first, int end, int stretches, bool *drawn)
{
    const double span = log((double)points[end - 1].length / (double)points[first].length);
    for (int from = first; from < end;) {
        int to = from + 1, lowest, highest;
        int stretch = stretch_of(&points[from], &points[first], span, stretches);
        while (to < end && stretch_of(&points[to], &points[first], span, stretches) == stretch) {
            to++;
        }
        ends_find(points, from, to, &lowest, &highest);
        drawn[lowest] = drawn[highest] = true;
        from = to;
    }
    drawn[first] = drawn[end - 1] = true;
}

struct overhead_thinning overhead_thin(const struct overhead_point *points, int count, bool *drawn)
{
    struct overhead_thinning result = {.line_count = lines_count(points, count)};
    const int line_stride = plot_stride(result.line_count, LINES_MAXIMUM), lines = result.line_count / line_stride;
    int stretches = OVERHEAD_POINTS_MAXIMUM / (2 * lines);
    stretches = stretches < STRETCHES_MINIMUM   ? STRETCHES_MINIMUM
                : stretches > STRETCHES_MAXIMUM ? STRETCHES_MAXIMUM
                                                : stretches;
    for (int panel = 0, line = 0; panel < count;) {
        int end = panel_end(points, count, panel), lowest, highest;
        ends_find(points, panel, end, &lowest, &highest);
        for (int first = panel; first < end; line++) {
            int next = line_end(points, end, first);
            bool is_extreme = (lowest >= first && lowest < next) || (highest >= first && highest < next);
            if (plot_mark_is_drawn(line, line_stride) || first == panel || next == end || is_extreme) {
                line_thin(points, first, next, stretches, drawn);
                result.drawn_line_count++;
            }
            first = next;
        }
        panel = end;
    }
    for (int at = 0; at < count; at++) {
        drawn[at] = drawn[at] || count <= OVERHEAD_POINTS_MAXIMUM;
        result.drawn_count += drawn[at] ? 1 : 0;
    }
    return result;
}
