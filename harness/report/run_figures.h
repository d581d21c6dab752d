/* Run figures: what one result says, case by case: under what it was measured, and for each case how it ended, the
 * highest bytes of each level that were measured, and those that replay predicted.
 *
 * This is what gates hold against each other and what a history keeps: a hundredth of the records, without any of
 * their order. It is taken from records through a report, with the rules of a report: of several attempts at a case
 * those of the last run count, and of these the one that ended worst. Strings come from records and are raw: writers
 * escape them.
 *
 * Worked: a folder with one run of two cases, of which the second was not made because the run was killed, gives one
 * case, one missing case and ended false. */
#ifndef ASSAY_REPORT_RUN_FIGURES_H
#define ASSAY_REPORT_RUN_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/record/level.h"
#include "harness/record/outcome.h"
#include "harness/report/environment.h"

enum { FIGURE_BYTES_UNKNOWN = -1 };

/* The bytes of each level; FIGURE_BYTES_UNKNOWN where nobody knows them. */
struct level_bytes {
    int64_t of[LEVEL_COUNT];
};

struct case_figures {
    const char *id;      /* unique in the run */
    const char *label;   /* the case in words: "gpt2 train float32 b8 s512 adamw-fused" */
    const char *status;  /* as recorded: "ok", "fail", "error", "oom", "timeout", "skip", or a stranger */
    const char *reason;  /* why it is not ok, and what is missing of it; "" if it is and nothing is */
    const char *machine; /* kind, name, class and threads of its device: equal texts are one kind of machine */
    const char *tags;    /* of the suite, a newline between them; "": none */
    int64_t suite_line;  /* the line of the suite in which it stands, from 1; else it is not recorded */
    enum standing standing;
    bool invalid;            /* something disturbed the readings: device and process say nothing */
    const char *disturbance; /* what, in words; "" if it is not invalid */
    /* Attempts that the last run which selected the case made, and was to make. Fewer made than wanted: it is short. */
    int64_t made_count, wanted_count;
    /* The highest over all stages but the bare context. Of a case that did not end every level is unknown. */
    struct level_bytes measured, predicted;
    /* The widest that its attempts of this run differ by in any stage; unknown: fewer than two were measured. */
    struct level_bytes spread;
    /* Bit 1 << level: a verdict of the record passes or fails this level; 1 << LEVEL_COUNT: another quantity. */
    unsigned judged;
};

/* A case that the run selected and did not come to. */
struct absent_case {
    const char *id;
    int64_t wanted_count; /* attempts */
};

struct run_figures {
    struct arena arena;                         /* owns all of it */
    const char *source;                         /* where it comes from, for messages: the path */
    const char *run_id;                         /* of the last run; "" if not recorded */
    const char *started;                        /* its first line, also if it was resumed: "2026-11-20T02:00:00Z" */
    const char *parts;                          /* run_ids that a merge joined, a newline between; "": it is none */
    const char *suite_path;                     /* of the last run, as it was given; "" if not recorded */
    const char *environment[ENVIRONMENT_COUNT]; /* what it was measured under (environment.h); NULL: not recorded */
    struct case_figures *cases;                 /* by id, as strcmp has them */
    int case_count;
    struct absent_case *absent; /* by id, as well */
    int absent_count;
    int unnamed_absent_count; /* attempts that were selected, and the records do not say of which cases */
    const char *absent_cause; /* "the run was interrupted"; NULL: nothing is missing, or nobody knows why */
    int damaged_line_count;   /* lines that a killed run left unfinished, and that were left out */
    bool ended;               /* the last run was finished, neither interrupted nor killed */
    const char *notes;        /* what stands in the records twice, in words; "" if nothing does */
};

/* Reads path, a file of records or a folder of them. *figures is overwritten, and released by the caller also after an
 * error. Errors are those of report_open. */
enum status_code run_figures_read(const char *path, struct run_figures *figures, struct status *error);

/* Which of the runs of a file are meant. The last of several runs of one suite alone counts, unless since names a
 * moment: then all runs count that began then or later. */
struct run_wish {
    const char *run_id; /* the beginning of one */
    const char *since;  /* "2026-11-20T02:00:00Z" */
};

/* Reads the runs that are wished. *is_there false: path has no such run; *figures then describe its last run, without
 * its cases. The notes say how many cases of other runs were left out. Errors as run_figures_read. */
enum status_code run_figures_read_wish(const char *path, const struct run_wish *wish, struct run_figures *figures,
                                       bool *is_there, struct status *error);

/* As run_figures_read for each run of path by itself, in the order of the file (report_each_run): of a folder to which
 * every night appends, every night. What visit gets is released when it returns. */
typedef enum status_code run_figures_visitor(const struct run_figures *figures, void *context, struct status *error);
enum status_code run_figures_each(const char *path, run_figures_visitor *visit, void *context, struct status *error);

void run_figures_release(struct run_figures *figures); /* all zero is accepted, and what is left */

/* Whether two are of one run: they have a run_id in common, their own or one of their parts. */
bool run_figures_share(const struct run_figures *one, const struct run_figures *other);

/* The case of that id, in logarithmic time; NULL: there is none. */
const struct case_figures *run_figures_find(const struct run_figures *figures, const char *id);

/* Whether a shell pattern matches the id as a whole, or one of the tags. */
bool case_figures_match(const struct case_figures *one, const char *pattern);

/* Whether it was measured to its end: its status is ok or fail. */
bool case_figures_measured(const struct case_figures *one);

#endif
