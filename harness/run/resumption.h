/* Resumption: what an interrupted run has left in its folder, and whether a run of today may go on with it. Internal to
 * harness/run.
 *
 * The last run of the file is the one that goes on. An attempt whose line is there is not made again, but for those
 * right at the end whose children somebody killed, or a signal ended: they went down with the run, and it came to write
 * of them before it went down itself. */
#ifndef ASSAY_RUN_RESUMPTION_H
#define ASSAY_RUN_RESUMPTION_H

#include "harness/run/run.h"

/* All zero: there is nothing to go on with. */
struct resumption {
    struct json *run;       /* the first run line of the run; NULL: no records are there */
    struct json *end;       /* its end line; NULL: it was killed */
    struct json *constants; /* an object for each class of devices and the constants that its attempts used */
    int64_t number;         /* of this resumption, from 1 */
    bool *made;             /* by attempt, in the order of the suite and its choice */
    int made_count;         /* of these */
    bool *failed;           /* by case of the suite: an attempt of these failed (case_status_is_failure) */
    int64_t selected_count; /* attempts that its `selected` lines name */
    int64_t whole_bytes;    /* of the file, up to the last line that stays */
    struct outcome outcome; /* of the attempts that stay */
    int counts[CASE_STATUS_COUNT];
};

/* Reads the last run of the folder, which must be one of the same suite, choice, program and options; what stood for
 * its devices is compared by resumption_devices_check, and their constants by resumption_constants_check. Nothing is
 * written. STATUS_INVALID: "--resume: the run of
 * 2026-11-20T02:00:00Z in DIR cannot go on: --prove was none, and is replay; remedy". Errors of a record_stream. The
 * caller releases *resumption. */
enum status_code resumption_read(const struct run_options *options, struct resumption *resumption,
                                 struct status *error);

/* What of that needs no device: `run` is a run line. STATUS_INVALID as above. */
enum status_code resumption_run_check(const struct run_options *options, const struct json *run, struct status *error);

/* Adds {"kind", "name", "threads", "hash"} of a case line to the list, once of each: the device that it was measured
 * on, and the constants that its predictions used (hash null: none). False: memory ran out. */
bool resumption_constants_note(struct json *list, const struct json *line);

/* Whether the same constants are found today for those devices, if nobody named any. STATUS_INVALID as above; errors of
 * constants_find. */
enum status_code resumption_constants_check(const struct run_options *options, const struct resumption *resumption,
                                            struct status *error);

/* devices: of the run line that would be written now. STATUS_INVALID as above. */
enum status_code resumption_devices_check(const struct run_options *options, const struct resumption *resumption,
                                          const struct json *devices, struct status *error);

/* Whether the run made all attempts that it was to make, and said so. */
bool resumption_is_finished(const struct resumption *resumption);

/* Tells options->progress.warned in one line what becomes of the run. */
void resumption_tell(const struct run_options *options, const struct resumption *resumption,
                     const struct run_result *result);

void resumption_release(struct resumption *resumption); /* all zero is accepted */

#endif
