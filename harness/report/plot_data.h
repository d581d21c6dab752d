/* Plot data: which figures of a report go into which plot, as tab-separated text for the scripts in plots/.
 *
 * Every file opens with a line of column names. Bytes are integers, NaN is "not known". Blocks are parted by two empty
 * lines, which is what gnuplot calls an index. Labels are cut to 100 columns and hold no character that gnuplot or SVG
 * would act on. */
#ifndef ASSAY_REPORT_PLOT_DATA_H
#define ASSAY_REPORT_PLOT_DATA_H

#include "harness/report/case_view.h"

enum plot_kind {
    PLOT_ACCURACY, /* predicted against measured (or replayed), one symbol per estimator */
    PLOT_ANATOMY,  /* what each peak is made of, predicted beside measured */
    PLOT_OVERHEAD, /* peak / weights of inference against batch x seq */
    PLOT_TIMELINE, /* peaks per stage at three levels */
    PLOT_COUNT
};

struct plot_page {
    struct text data;
    int mark_count;    /* points, bars or panels; 0: this page does not exist */
    int width, height; /* of the image, in points */
    double tolerance;  /* accuracy: half width of the band; rule: its factor; negative: none */
    const char *basis; /* what the figures are (case_view.h); NULL: the page does not say it */
};

const char *plot_name(enum plot_kind kind);    /* "accuracy", ...: of the script and of the images */
const char *plot_purpose(enum plot_kind kind); /* one line for people */
const char *plot_needs(enum plot_kind kind);   /* what a record must have to be in it */

/* A label that comes from outside, as a column. */
void label_column(struct text *data, const char *label);

/* Page number from 0. The caller releases page->data. */
void plot_page_make(const struct report *report, enum plot_kind kind, int number, struct plot_page *page);

#endif
