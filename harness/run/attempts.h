/* Attempts: cases measured one after the other, each in a child of its own, on one device that is claimed for all of
 * them. For commands that decide from each what the next one is; a suite, whose cases are known, is run_suite's. No
 * record is written. */
#ifndef ASSAY_RUN_ATTEMPTS_H
#define ASSAY_RUN_ATTEMPTS_H

#include <stdbool.h>

#include "harness/base/json.h"
#include "harness/run/run.h"

struct attempts; /* opaque */

struct attempts_options {
    const struct case_runner *runner;
    const char *device;        /* spec for device_open */
    const char *catalogue_dir; /* models/catalogue */
    const char *version;       /* of the program; NULL: unknown */
    const char *purpose;       /* what another run is told that has to wait: "assay batch" */
    const char *lock_folder;   /* as in struct run_options */
    bool can_share_device;
    bool share_device;
    int wait_device_seconds;
    struct run_progress progress; /* only `warned` is called */
};

/* Takes the signals that end a run (run_signals.h) and the lock of a GPU until attempts_close. case_: any; it bounds
 * how long the question which device this is may take. Call it from a process with one thread. Texts of options are
 * borrowed. STATUS_BUSY: another run has the GPU. STATUS_INTERRUPTED, STATUS_IO, STATUS_OUT_OF_MEMORY. */
enum status_code attempts_open(const struct attempts_options *options, const struct suite_case *case_,
                               struct attempts **attempts, struct status *error);

/* Measures the case and gives its line (docs/FORMAT.md), also of one that crashed or ran out of memory; the caller
 * releases it. If a signal comes first, its child is ended, *line is NULL and every further call returns so at once.
 * STATUS_IO, STATUS_OUT_OF_MEMORY. */
enum status_code attempts_measure(struct attempts *attempts, const struct suite_case *case_, struct json **line,
                                  struct status *error);

bool attempts_interrupted(struct attempts *attempts);

void attempts_close(struct attempts *attempts); /* NULL is accepted */

#endif
