/* History same: which runs of the file are that of some records, and what becomes of both. Not for anybody outside this
 * folder. */
#ifndef ASSAY_HISTORY_HISTORY_SAME_H
#define ASSAY_HISTORY_HISTORY_SAME_H

#include "harness/history/history_inside.h"

/* Attempts at all cases. */
int64_t figures_attempts(const struct run_figures *figures);

/* Of all that the file keeps of a run but where it came from: equal figures, equal numbers. */
int64_t figures_digest(const struct run_figures *figures);

/* The ids that a run is known by: its own first, then those of the runs that it was merged of. */
struct run_ids {
    const char **ids;
    int count;
};

/* In arena. False if memory ran out. */
bool run_ids_make(const struct run_figures *figures, struct arena *arena, struct run_ids *ids);

struct same_run {
    struct history_run run; /* number and run_id alone */
    int64_t digest, attempts, part_count;
    bool ended;
};

/* The runs of the file that share an id with the records. All zero is none; the caller releases the arena. */
struct same_runs {
    struct arena arena;
    struct run_ids ids;
    struct same_run *runs;
    int count;
};

enum status_code same_runs_find(struct history *history, const struct run_figures *figures, struct same_runs *same,
                                struct status *error);

/* STATUS_INVALID if a case that one of them has as measured with all its attempts says something else in the records,
 * or is not in them although they have no fewer attempts. */
enum status_code same_runs_guard(struct history *history, const struct same_runs *same,
                                 const struct run_figures *figures, struct status *error);

/* What to do with records that may be taken. */
enum import_outcome same_runs_outcome(const struct same_runs *same, const struct run_figures *figures,
                                      enum import_manner manner);

#endif
