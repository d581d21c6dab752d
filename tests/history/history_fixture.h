/* History fixture: records of nights with figures that a test chooses, and histories made of them. */
#ifndef ASSAY_TESTS_HISTORY_HISTORY_FIXTURE_H
#define ASSAY_TESTS_HISTORY_HISTORY_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/text.h"
#include "harness/history/history.h"

enum { SCENE_PATH_BYTES = 160 };

/* A night; what is NULL or 0 is as usual. */
struct night_facts {
    const char *run_id;   /* needed */
    const char *started;  /* "2026-11-20T02:00:00Z" */
    const char *suite;    /* "nightly" */
    const char *revision; /* none */
    const char *driver;   /* "570.124.06" */
    const char *device;   /* "NVIDIA H200" */
    const char *reason;   /* why the readings of the last case say nothing */
    int cases;            /* that are there; 3 */
    int selected;         /* that were to be; as many as are there */
    int first;            /* the number of the first that is there, of a run that went on */
    int resumption;
    const char *merged;      /* the run_ids of its parts, with commas between; none */
    bool killed;             /* no `end` line */
    int64_t allocated_more;  /* in case 0 */
    int64_t process_more;    /* in every case */
    int64_t process_by_case; /* times its number */
};

/* Appends the lines of a run; the test fails if it cannot. */
void night_append(const char *path, const struct night_facts *night);

/* A test's own folder, a history in it, and errors. */
struct history_scene {
    char folder[64];
    char database[SCENE_PATH_BYTES], records[SCENE_PATH_BYTES];
    struct status error;
};

int history_scene_open(void **state);
int history_scene_close(void **state);

/* Opens the scene's history for writing; the test fails if that is not possible. */
struct history *history_opened(struct history_scene *scene);

/* Imports every run of a file of records. The outcome of the last one. */
enum import_outcome records_imported(struct history *history, const char *path);

/* The same of a history that is opened and closed for it. */
enum import_outcome scene_import(struct history_scene *scene, const char *path);

/* All that `assay history export` says of a history, as JSON lines. The caller releases it. */
struct text history_exported(const char *database);

/* Runs SQL on the file, past all that guards it. */
void database_execute(const char *database, const char *sql);

#endif
