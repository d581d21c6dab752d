/* Placed view: of a case on several devices, or one that loads a checkpoint: what is kept on each place, what it took
 * there, and what was moved between them. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_PLACED_VIEW_H
#define ASSAY_REPORT_PLACED_VIEW_H

#include "harness/report/footprint_reading.h"

/* Every *_bytes is BYTES_UNKNOWN if the record has null or nothing. Texts are raw. */
struct place_view {
    const char *name; /* as accelerate names it: "0", "1", "cpu", "disk" */
    const char *spec; /* the device that stood for it; NULL: none did */
    int64_t budget_bytes, placed_bytes;
    int64_t kept_bytes;                        /* for the largest layer */
    int64_t needed_bytes;                      /* of these */
    struct footprint_view measured, predicted; /* predicted: by replay */
};

struct transfer_view {
    const char *from, *to; /* places, or "file" */
    int64_t count, bytes;
    double seconds;    /* negative: not known */
    const char *plain; /* what stands beside it: "sequential read"; NULL: nothing */
    int64_t plain_bytes;
    double plain_seconds; /* negative: not known */
};

struct placed_view {
    const struct place_view *places; /* in the order of the record */
    int place_count;
    /* the place that the usual members of the case speak of: the first GPU, else the first; -1: it has no places */
    int main;
    const struct transfer_view *transfers;
    int transfer_count;
    const char *title;           /* the label of the case without its place: equal ones are of one model and batch */
    const char *strategy;        /* NULL: it has no placement */
    int module_count;            /* entries of the map */
    const bool *accelerate_runs; /* of an exact plan, whether accelerate's own map would have run; NULL: not known */
    const char *raised;          /* by accelerate, instead of a map; NULL: nothing */
    const char *oom_place;       /* that had not enough memory; NULL: it did not happen, or nobody knows where */
};

/* Of a case line; *placed is NULL if it has neither places nor transfers. walk: of the measured figures. */
void placed_view_read(struct filling *filling, const struct json *line, enum walk walk, struct placed_view **placed);

/* Whether a place is a GPU by its name. */
bool place_is_gpu(const struct place_view *place);

/* The place of that name; NULL: there is none. placed may be NULL. */
const struct place_view *place_find(const struct placed_view *placed, const char *name);

/* Whether a comparison speaks of the case as a whole: it is of no place, or of the main one. Others would count a case
 * twice if one figure stands for a case (columns of pages, leagues); summaries of accuracy count them all. */
bool comparison_is_main(const struct case_view *view, const struct comparison *row);

/* What says how far a prediction of a place was off. */
struct place_figures {
    const char *quantity; /* "allocated_bytes_peak"; NULL: nothing is known of it */
    int64_t predicted_bytes, measured_bytes;
    enum judgement judgement;
    int stage; /* in which the peaks are furthest apart, an enum stage; STAGE_COUNT: in none, or not known */
    int64_t stage_error_bytes; /* predicted - measured there; 0: in none */
};

/* Of the allocated peak if anything is known of it, else of the requested one, else of what replay was judged by. */
struct place_figures place_figures_make(const struct case_view *view, const struct place_view *place);

/* Bytes per second; negative: not known. */
double transfer_rate(int64_t bytes, double seconds);

/* The rate as a part of the plain one; negative: not known. */
double transfer_ratio(const struct transfer_view *transfer);

/* Whether its ratio says something: of less than a MiB the clock and the calls are most of the time. */
bool transfer_is_telling(const struct transfer_view *transfer);

#endif
