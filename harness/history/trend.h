/* Trend: the series of every case and level that a history has, and the steps in them, dated.
 *
 * A series is one case of one suite on one kind of machine (kind, name, class and threads of the device), so that
 * figures of another GPU never look like a step. A night is a run. Only what was measured counts, and of readings only
 * what nothing disturbed. Steps are found by steps.h; of each is told between which nights it came, from which revision
 * to which, and what else changed between them: driver, runtime, libraries, and so on.
 *
 * A jump of a reading is found at its night or beside it; if a counted level of the same case jumps on one of these
 * nights, that is its night. */
#ifndef ASSAY_HISTORY_TREND_H
#define ASSAY_HISTORY_TREND_H

#include "harness/history/history.h"
#include "harness/history/steps.h"

enum { TREND_NIGHTS_DEFAULT = 90 };

struct trend_request {
    struct history_filter filter; /* without `most` */
    int nights;                   /* of each suite and device at most so many, the newest; 0: TREND_NIGHTS_DEFAULT */
    const char *pattern;          /* of ids, labels or tags; NULL: every case */
    bool levels[LEVEL_COUNT];     /* that are looked at */
};

struct trend_point {
    int night;                  /* place in the nights of the group */
    int64_t bytes[LEVEL_COUNT]; /* FIGURE_BYTES_UNKNOWN: not measured, or disturbed */
};

struct trend_series {
    const char *id, *label;
    struct trend_point *points; /* by night */
    int count;
    bool has_step;
};

struct trend_step {
    struct step step; /* from and to are nights of the group */
    enum level level;
    const struct trend_series *series;
    double share; /* of before_bytes, with its sign */
};

/* The steps that came between the same two nights; all drifts of a group are one, too. */
struct trend_event {
    const struct trend_step *steps; /* the largest share first */
    int count;
    enum step_kind kind;
    int from, to; /* nights; of drifts the first and the last of all */
};

struct trend_group {
    const char *suite, *machine;
    const char *device;         /* in words: "cuda (NVIDIA H200)" */
    struct history_run *nights; /* the oldest first */
    int night_count;
    struct trend_series *series; /* by id */
    int series_count;
    struct trend_step *steps;
    int step_count;
    struct trend_event *events; /* the newest first, drifts before jumps that end with them */
    int event_count;
    int unsteady_count; /* exact series that change in more than a quarter of their nights */
};

struct trend {
    struct arena arena;
    const char *source; /* the path of the history */
    struct trend_request request;
    struct trend_group *groups; /* by suite, then machine */
    int group_count;
};

/* Reads the series and finds their steps. *trend is overwritten, and released by the caller also after an error.
 * STATUS_INVALID: the history is damaged, or no run of it is asked for. */
enum status_code trend_make(struct history *history, const struct trend_request *request, struct trend *trend,
                            struct status *error);
void trend_release(struct trend *trend);

/* How many jumps and drifts lead to more bytes, of those that end behind the night that was accepted last; *worst, if
 * there is one, is that of the largest share. Excursions, which went back, and figures that got smaller do not
 * count. */
int trend_rises(const struct trend *trend, const struct trend_step **worst);

/* Whether what the nights say of a property is known of both, and differs. */
bool nights_differ(const struct history_run *before, const struct history_run *after, enum environment property);

#endif
