/* Difference page: what the parts of its description share. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_DIFFERENCE_PAGE_H
#define ASSAY_REPORT_DIFFERENCE_PAGE_H

#include "harness/report/difference_view.h"
#include "harness/report/page.h"

struct difference_subject {
    const struct difference *difference;
    bool only_changed; /* cases without a change are counted, not listed */
};

/* What the blocks are made of. */
struct contrast {
    struct page *page;
    const struct difference *difference;
    bool only_changed;
};

/* The name of a figure, which the page keeps. */
struct cell figure_cell(struct page *page, const struct figure *figure);

/* The cases in a terminal, each with its figures below its title; subject outlives the page. */
void difference_cases_list(const struct contrast *contrast, const struct difference_subject *subject);

/* The cases elsewhere: a row for each, and why some are not judged. */
void difference_cases_tabulate(const struct contrast *contrast);

#endif
