/* Search view: what a policy found that looks for a batch that fits. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_SEARCH_VIEW_H
#define ASSAY_REPORT_SEARCH_VIEW_H

#include "harness/report/footprint_reading.h"

/* Numbers are negative if they are not known, or none. Texts are raw; NULL: not recorded. */
struct search_try {
    int64_t batch, wanted_bytes, next;
    const char *ended, *cause, *stage, *label;
    const bool *recognised; /* as a lack of memory; NULL: not known */
    const bool *predicted;  /* to run; NULL: not known */
    bool is_off;            /* it did not end as predicted */
    double seconds;
};

struct search_view {
    const char *policy;
    const char *end; /* "found", "zero", ... */
    const char *error;
    const char *unit;     /* of per_second */
    const char *settings; /* of the case, but for its policy */
    const char *title;    /* the label of the first case of the series, without its policy */
    int series;           /* a number: cases that are equal but for their policy have the same */
    int64_t start, found, predicted;
    double seconds, per_second;
    double best_per_second; /* of any batch tried in its series: search_series_settle */
    enum judgement judgement;
    const struct search_try *tries;
    int try_count;
};

/* Of a case line; *search is NULL if it has none. settings: those of the case but for its policy. */
void search_view_read(struct filling *filling, const struct json *line, const char *settings,
                      struct search_view **search);

/* When all cases are read: which belong together, and the best throughput of each series. False if memory ran
 * out. */
bool search_series_settle(struct report *report);

/* The part of the best throughput of its series that the found batch loses, from 0 to 1; negative: not known. */
double search_loss(const struct search_view *search);

#endif
