/* History: the figures of many runs in one file of SQLite, so that a night can be held against those before it.
 *
 * Records stay the source: what is here is taken from them (struct run_figures), can be made again from them, and may
 * be thrown away. A run is known by its run_id, a merged one by those of its parts as well, and is there as a whole or
 * not at all: each is imported in one transaction, of which a kill, a full disk or a second writer leaves nothing by
 * half. Two writers wait for each other. The journal is SQLite's own (no WAL), because that alone works on a network
 * drive.
 *
 * The file may come from somebody else: what stands in it is checked as it is read, and triggers and views of others
 * are not obeyed. Worked: importing the records of 30 nights of 500 cases and reading the 30th gives the figures that
 * run_figures_read gives of its folder, but for the path. */
#ifndef ASSAY_HISTORY_HISTORY_H
#define ASSAY_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/report/run_figures.h"

enum { HISTORY_VERSION = 3 };

/* How long a writer waits for another one, and a reader for a writer. */
enum { HISTORY_WAIT_SECONDS = 60 };

struct history; /* opaque */

enum history_access {
    HISTORY_READ, /* the file must be there; nothing of it changes but its version, where it is an older one */
    HISTORY_WRITE /* the file is made where it is missing; its folder must be there */
};

/* Opens the file at path. An older version is brought to HISTORY_VERSION in one transaction. STATUS_INVALID: it is no
 * database, one of another program, damaged, or of a newer version, and stays untouched. STATUS_IO: it is not there,
 * no regular file, may not be read or written, or somebody else writes to it for longer than HISTORY_WAIT_SECONDS. */
enum status_code history_open(const char *path, enum history_access access, struct history **history,
                              struct status *error);
void history_close(struct history *history); /* NULL is accepted */

const char *history_path(const struct history *history);

enum import_outcome {
    IMPORT_ADDED,
    IMPORT_PRESENT, /* it was there already, and nothing changes */
    IMPORT_RENEWED, /* it was there, and the records have more of it now: it was going on, or is read better */
    IMPORT_KEPT     /* the history has more of it than these records: it stays */
};

/* What becomes of records that say something else of a case that the history has as measured to its end. */
enum import_manner {
    IMPORT_GUARDED, /* they are refused: nobody measures the past again */
    IMPORT_REPLACES /* they take the place of what was there: somebody says that they are right */
};

/* Puts a run in. It is that of a run which is there already if they have a run_id in common, their own or one of their
 * parts: a merge that was completed later, or that comes behind one of its shards, is the same night, and one run.
 * STATUS_INVALID: it has no run_id, no start or no case that was attempted; or a finished case of it says something
 * else than before, and the text says which. STATUS_IO: the disk is full, and so on: nothing of it is there then. */
enum status_code history_import(struct history *history, const struct run_figures *figures, enum import_manner manner,
                                enum import_outcome *outcome, struct status *error);

/* Which runs. What is NULL or 0 does not choose. Patterns are those of a shell (fnmatch). */
struct history_filter {
    const char *suite;     /* a pattern of its name */
    const char *plan_hash; /* its hash, as recorded */
    const char *device;    /* a pattern of the device in words, as environment.h has it: "cuda (NVIDIA H200)" */
    const char *before;    /* started before this: "2026-11-21", "2026-11-21T02:00:00Z" */
    const char *until;     /* started before this second or in it: "2026-11-21T02:00:00Z" */
    const char *since;     /* at this or later */
    const char *except;    /* a run_id */
    int most;              /* no more than so many, the newest */
    bool without_counts;   /* cases are not counted, which is faster */
};

/* A run in a line. Strings are raw: writers escape them. */
struct history_run {
    int64_t number; /* in this file; another file has others */
    const char *run_id, *started, *source;
    const char *environment[ENVIRONMENT_COUNT]; /* as in run_figures */
    int case_count, absent_count;
    int ok_count, fail_count, skip_count, other_count; /* by status; other: error, oom, timeout */
    int open_count;                                    /* that are ok, and have a figure that could not be judged */
    bool ended;
    const char *accepted_by; /* who took it for what is right; NULL: nobody did */
    const char *accepted_why;
};

struct history_runs {
    struct history_run *runs; /* the newest first; of those that began in one second by run_id, so the order is total */
    int count;
};

/* The list is in arena. STATUS_INVALID: the file is damaged. */
enum status_code history_runs_list(struct history *history, const struct history_filter *filter, struct arena *arena,
                                   struct history_runs *runs, struct status *error);

/* The run whose run_id begins so, of which there must be one; at least 4 characters. STATUS_INVALID: none has it, or
 * several; the text names them. */
enum status_code history_run_find(struct history *history, const char *beginning, struct arena *arena,
                                  struct history_run *run, struct status *error);

/* The figures of a run, as run_figures_read gave them when it was imported; source is "FILE: run RUN_ID". *figures is
 * overwritten, and released by the caller also after an error. STATUS_INVALID: the file is damaged. */
enum status_code history_figures(struct history *history, const struct history_run *run, struct run_figures *figures,
                                 struct status *error);

/* Notes that somebody takes a run of the history for what is right (harness/gate/gate_chain.h begins anew there).
 * moment: "2026-11-20T09:00:00Z". It stays when the records of the run are renewed, and goes with the file: it is in no
 * record. STATUS_INVALID: no such run is there. */
enum status_code history_accept(struct history *history, const char *run_id, const char *moment, const char *name,
                                const char *reason, struct status *error);

/* Removes the runs of a list, all or none of them, and gives their room back to the disk. */
enum status_code history_remove(struct history *history, const struct history_runs *runs, struct status *error);

#endif
