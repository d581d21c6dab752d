/* Plot data: which figures of a report go into which plot, as tab-separated text for the scripts in plots/.
 *
 * Bytes are integers, NaN is "not known". Every block opens with a line of column names behind a #; blocks are parted
 * by two empty lines, which is what gnuplot calls an index. Labels are cut to 100 columns and hold no character that
 * gnuplot or SVG would act on. */
#ifndef ASSAY_REPORT_PLOT_DATA_H
#define ASSAY_REPORT_PLOT_DATA_H

#include "harness/report/case_view.h"

/* X(NAME, maker): the kinds, in the order in which pages show them. A kind is a row here, a file with its maker
 * (*_plot.c) and a script of its name in plots/. */
#define PLOT_TABLE(X)                                                                                                  \
    X(ACCURACY, accuracy_plot)   /* predicted against measured, the symbol of each estimator */                        \
    X(OVERHEAD, overhead_plot)   /* peak / weights along the length, a line per batch; a page per model and mode */    \
    X(PLACES, places_plot)       /* peaks of placed cases by place and stage, predicted against measured */            \
    X(TRANSFERS, transfers_plot) /* rates of copies between places, as parts of the plain rate */                      \
    X(SEARCHES, searches_plot)   /* batches that policies found, as parts of the largest that is predicted to run */   \
    X(TIMELINE, timeline_plot)   /* peaks per stage at three levels, of cases that are off or were asked for */        \
    X(ANATOMY, anatomy_plot)     /* what each peak is made of, predicted beside measured if they differ */

enum plot_kind {
#define PLOT_ENUM(name, maker) PLOT_##name,
    PLOT_TABLE(PLOT_ENUM)
#undef PLOT_ENUM
        PLOT_COUNT
};

struct plot_page {
    struct text data;
    struct text name;    /* what its file is called behind the kind: a model; empty: the number of the page */
    struct text title;   /* one line for above it, if a page shows several; not escaped */
    struct text caption; /* lines below the figure; each ends with a newline */
    int caption_lines;
    int mark_count;    /* points, bars or panels; 0: this page does not exist */
    int width, height; /* of the image, in points */
    double tolerance;  /* accuracy: half width of the band; rule: its factor; negative: none */
    const char *basis; /* what the figures are (case_view.h); NULL: the page does not say it */
};

enum { PLOT_PAGES_MAXIMUM = 60 /* of one kind */ };

struct plot_pages;

/* What makes the pages of a kind. */
struct plot_maker {
    const char *name;    /* "accuracy": of the script and of the images */
    const char *purpose; /* one line for people */
    const char *needs;   /* what a record must have to be in it; NULL: that no case has it is no lack */
    /* The same if it depends on what was asked for; NULL: it does not. */
    const char *(*needs_of)(const struct report *report, const char *timeline);
    int page_maximum; /* up to PLOT_PAGES_MAXIMUM: no more than people leaf through */
    void *(*open)(const struct report *report, const char *timeline); /* material, NULL: no memory; NULL: needs none */
    void (*make)(const struct plot_pages *pages, int number, struct plot_page *page);
    void (*close)(void *material);
};

const struct plot_maker *plot_maker_of(enum plot_kind kind);

/* A label that comes from outside, as a column. */
void label_column(struct text *data, const char *label);

/* A tab, and the bytes or NaN. */
void bytes_column(struct text *data, int64_t bytes);

/* Adds a sentence of the page's own to its caption. Before plot_caption_close. */
void plot_caption_add(struct plot_page *page, const char *sentence);

struct plot_pages;

/* Adds, if the report has placed cases, that a figure for a case is of its main place. */
void plot_main_note(const struct plot_pages *pages, struct plot_page *page);

/* Of very many marks one in so many is drawn, so that an image stays one that can be opened: 1 if all are. The marks
 * that decide anything (the furthest off, a boundary) are drawn besides; plot_stride_note says in the caption what is
 * left out and why. */
int plot_stride(int count, int maximum);
void plot_stride_note(struct plot_page *page, int stride, const char *besides);

/* Whether mark `number` of those in the order of the records is the one of its stride. Which one that is changes from
 * stride to stride: suites multiply lists, and every tenth case may be of one model. */
bool plot_mark_is_drawn(int number, int stride);

/* Ends the caption with where the figures come from, and makes room for it. */
void plot_caption_close(struct plot_page *page, const char *provenance);

/* What all pages of one kind are made of; looked for once. */
struct plot_pages {
    const struct report *report;
    const char *timeline; /* as in struct plot_place */
    enum plot_kind kind;
    void *material; /* what the makers of the kind have found */
};

/* False: no memory. The report must outlive it; closed in either case. */
bool plot_pages_open(const struct report *report, enum plot_kind kind, const char *timeline, struct plot_pages *pages);
void plot_pages_close(struct plot_pages *pages);

/* Page number from 0, without its caption closed. The caller releases the page. */
void plot_page_make(const struct plot_pages *pages, int number, struct plot_page *page);
void plot_page_release(struct plot_page *page);

/* The material of some kinds: the cases that `has` accepts, largest first, so that neighbours are alike. Released by
 * free; NULL: no memory. */
struct plot_cases {
    int count;
    const struct case_view *cases[];
};
struct plot_cases *plot_cases_choose(const struct report *report, const char *timeline,
                                     bool (*has)(const struct case_view *, const char *));

/* The same, those that need a look first, in the order of the report. */
struct plot_cases *plot_cases_list(const struct report *report, bool (*has)(const struct case_view *));

#define PLOT_DECLARE(name, maker) extern const struct plot_maker maker;
PLOT_TABLE(PLOT_DECLARE)
#undef PLOT_DECLARE

#endif
