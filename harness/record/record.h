/* Record: the results of runs as JSON lines, written and read. The format is described in docs/FORMAT.md.
 *
 * One file holds any number of runs, one after the other: a `run` line, its `case` lines, an `end` line. Lines are
 * appended, flushed and synchronised one by one, so a run that was killed leaves every finished case readable. Additive
 * changes raise the minor version and are ignored by older readers; everything else raises the major one, which older
 * readers refuse. */
#ifndef ASSAY_RECORD_RECORD_H
#define ASSAY_RECORD_RECORD_H

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/base/text.h"

#define RECORD_SCHEMA_NAME "assay-record"
enum { RECORD_SCHEMA_MAJOR = 1, RECORD_SCHEMA_MINOR = 4 };

/* X(NAME, name in records): how a case ended. */
#define CASE_STATUS_TABLE(X)                                                                                           \
    X(OK, "ok")           /* measured, and no verdict failed */                                                        \
    X(FAIL, "fail")       /* measured, and a verdict failed */                                                         \
    X(ERROR, "error")     /* not measured: a device call failed, the child crashed, ... */                             \
    X(OOM, "oom")         /* the device or the host had not enough memory */                                           \
    X(TIMEOUT, "timeout") /* the child did not end in time and was ended */                                            \
    X(SKIP, "skip")       /* the device is not here */

enum case_status {
#define CASE_STATUS_ENUM(name, text) CASE_STATUS_##name,
    CASE_STATUS_TABLE(CASE_STATUS_ENUM)
#undef CASE_STATUS_ENUM
        CASE_STATUS_COUNT
};

const char *case_status_name(enum case_status status);
bool case_status_from_name(const char *name, enum case_status *status);

/* {"name": "assay-record", "major": 1, "minor": 4}; NULL where memory ran out. */
struct json *record_schema_json(void);

/* Whether a line has the fields that its type must have, each of the right kind. Fields that are not known are
 * accepted. STATUS_INVALID with "'stages.load.requested_bytes' is a string; it must be an integer or null". */
enum status_code record_line_check(const struct json *line, struct status *error);

/* ---- writing ---- */

struct record_writer; /* opaque */

/* Opens folder/records.jsonl for appending; makes the folder where it is missing (not its parents). What is there stays
 * where it is: a new run follows the old ones, and a line that a killed run left unfinished is closed. STATUS_IO with the
 * path and the reason: not writable, another run is writing to it, or records.jsonl is a symbolic link or no regular file.
 * (A link to the folder is followed.) */
enum status_code record_writer_open(const char *folder, struct record_writer **writer, struct status *error);

/* Checks, appends, flushes and synchronises one line. On STATUS_IO (a full disk) the file is cut back to the lines that
 * are whole. */
enum status_code record_writer_append(struct record_writer *writer, const struct json *line, struct status *error);

const char *record_writer_path(const struct record_writer *writer);

/* NULL is accepted. */
void record_writer_close(struct record_writer *writer);

/* ---- reading ---- */

struct record_run {
    struct json *run;    /* the run line */
    struct json **cases; /* in the order of the file, one per attempt */
    int case_count;
    struct json *end; /* NULL: the run was killed, or is still going on */
};

struct record_file {
    struct record_run *runs; /* at least one */
    int run_count;
    int damaged_line_count; /* lines that a killed run left unfinished */
    struct text notes;      /* one line of text for each of them */
};

/* Reads path, a file of records, a pipe of them, or a folder that holds records.jsonl (a regular file or a link to one). A line that is cut short is noted and left out
 * where a killed run can have left it: at the end of the file, or before a `run` line. STATUS_IO: it cannot be read.
 * STATUS_INVALID: "FILE:LINE:COLUMN: what is wrong; what would be right" for any other damage, wrong types, a case
 * outside a run, an empty file, a newer major version. */
enum status_code record_file_read(const char *path, struct record_file *file, struct status *error);

void record_file_release(struct record_file *file);

#endif
