/* Overhead points: what the pages of overhead are made of, in the order in which they are drawn: by mode and model,
 * which is a figure, by form, which is a panel, by batch, which is a line, by length. Not for anybody but
 * overhead_plot.c. */
#ifndef ASSAY_REPORT_OVERHEAD_POINTS_H
#define ASSAY_REPORT_OVERHEAD_POINTS_H

#include "harness/report/case_view.h"

struct overhead_point {
    const struct case_view *view;
    const char *form; /* what the label says besides model, mode, batch and length */
    int64_t line;     /* the batch; 0: the batch is the length */
    int64_t length;   /* of images, and if all sequences of a page are equally long, the batch */
    double ratio;     /* allocated peak over weights */
};

/* The points of one page. */
struct overhead_range {
    int first, count;
};

struct overhead_points {
    struct arena arena; /* of the forms */
    struct overhead_point *all;
    int count;
    struct overhead_range *pages; /* figures in which some panel has two points, a page for each few panels */
    int page_count;
    int64_t *batches; /* of all lines of all pages, each once, ascending: the look of a batch is by its place here */
    int batch_count;
};

/* NULL: no memory. The report must outlive it. */
struct overhead_points *overhead_points_find(const struct report *report);
void overhead_points_release(struct overhead_points *points);

/* Whether two points stand in one panel. */
bool overhead_panel_is_one(const struct overhead_point *a, const struct overhead_point *b);

/* The place of a batch among those of all pages. */
int overhead_batch_place(const struct overhead_points *points, int64_t batch);

#endif
