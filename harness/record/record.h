/* Record: the results of runs as JSON lines, written and read. The format is described in docs/FORMAT.md.
 *
 * One file holds any number of runs, one after the other: a `run` line, `selected` lines, its `case` lines, an `end`
 * line. A run that was interrupted and resumed has a further `run` line where it went on. Lines are appended, flushed
 * and synchronised one by one, so a run that was killed leaves every finished case readable. Additive changes raise the
 * minor version and are ignored by older readers; everything else raises the major one, which older readers refuse. */
#ifndef ASSAY_RECORD_RECORD_H
#define ASSAY_RECORD_RECORD_H

#include <stdbool.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/base/text.h"

#define RECORD_SCHEMA_NAME "assay-record"
enum { RECORD_SCHEMA_MAJOR = 1, RECORD_SCHEMA_MINOR = 9 };

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

/* Whether a case that ended so failed or could not be measured: fail, error, oom, timeout. */
bool case_status_is_failure(enum case_status status);

/* Seconds since 1970 of a time as records have it, "2026-11-20T02:00:00Z". False, and 0: text is NULL or no time. */
bool record_time_read(const char *text, int64_t *seconds);

/* {"name": "assay-record", "major": 1, "minor": 9}; NULL where memory ran out. */
struct json *record_schema_json(void);

/* Whether a line has the fields that its type must have, each of the right kind. Fields that are not known are
 * accepted. STATUS_INVALID with "'stages.load.requested_bytes' is a string; it must be an integer or null". */
enum status_code record_line_check(const struct json *line, struct status *error);

/* The same for many lines: the tables are prepared once. NULL where memory ran out. */
struct record_rules *record_rules_new(void);
void record_rules_release(struct record_rules *rules); /* NULL is accepted */
enum status_code record_rules_check(const struct record_rules *rules, const struct json *line, struct status *error);

/* ---- writing ---- */

struct record_writer; /* opaque */

/* Opens folder/records.jsonl for appending; makes the folder where it is missing (not its parents). What is there stays
 * where it is: a new run follows the old ones, and a line that a killed run left unfinished is closed. STATUS_IO with
 * the path and the reason: not writable, another run is writing to it (still, after three seconds), or records.jsonl is
 * a symbolic link or no regular file. (A link to the folder is followed.) STATUS_INVALID as of record_stream_next: what
 * is there is no file of records, and stays as it is. */
enum status_code record_writer_open(const char *folder, struct record_writer **writer, struct status *error);

/* Whether a file or anything else stands where the records of the folder are. */
bool record_is_in(const char *folder);

/* Whether the file at path is empty, or is the beginning of a run line and nothing else: what a run leaves that was
 * killed before it had written anything. False if it cannot be read. */
bool record_is_unbegun(const char *path);

/* Checks, appends, flushes and synchronises one line. On STATUS_IO (a full disk) the file is cut back to the lines that
 * are whole; it is STATUS_IO too if the file no longer stands under its name, because its folder was deleted or
 * moved. */
enum status_code record_writer_append(struct record_writer *writer, const struct json *line, struct status *error);

/* Cuts the file back to its first bytes, which end with a line: what stands behind them is of a run that goes on and
 * that will write it anew. STATUS_IO. */
enum status_code record_writer_cut(struct record_writer *writer, int64_t bytes, struct status *error);

const char *record_writer_path(const struct record_writer *writer);

/* NULL is accepted. */
void record_writer_close(struct record_writer *writer);

/* ---- reading, line by line ---- */

enum record_line_type {
    RECORD_LINE_NONE, /* behind the last line */
    RECORD_LINE_RUN,
    RECORD_LINE_RESUMED, /* a `run` line too: the run before it, which was interrupted, goes on */
    RECORD_LINE_SELECTED,
    RECORD_LINE_CASE,
    RECORD_LINE_END
};

/* Where a line stands in its file, so that it can be read once more. */
struct record_place {
    int64_t offset;
    size_t length; /* without its newline */
    uint64_t hash; /* of its bytes */
};

struct record_line {
    enum record_line_type type;
    const struct json *value; /* borrowed until the next line is read; json_copy_new keeps it */
    int run;                  /* the number of its run, from 0; one that was resumed has one number */
    struct record_place place;
};

struct record_stream; /* opaque: a file of records that is read in blocks, of any size and in little memory */

/* Opens path, a file of records or a folder that holds records.jsonl (a regular file or a link to one). Also a pipe,
 * where path itself is one, as <(zstdcat FILE) is; it is kept in a temporary file meanwhile, so that its lines can be
 * read once more. STATUS_IO: it is neither, or cannot be opened. The caller closes *stream. */
enum status_code record_stream_open(const char *path, struct record_stream **stream, struct status *error);
void record_stream_close(struct record_stream *stream); /* NULL is accepted */

/* The next line of a run, checked (record_line_check); lines of types that are not known are passed over. A line that
 * is cut short is noted and left out where a killed run can have left it: at the end of the file, or before a `run`
 * line. STATUS_IO: it cannot be read. STATUS_INVALID: "FILE:LINE:COLUMN: what is wrong; what would be right" for any
 * other damage, wrong types, a case outside a run, an empty file, a line longer than 16 MiB, a newer major version. */
enum status_code record_stream_next(struct record_stream *stream, struct record_line *line, struct status *error);

/* A line once more. *bytes, place->length of them with a zero byte behind, are borrowed until the next line is read
 * again. STATUS_IO: the file is not what it was when the line was read first. */
enum status_code record_stream_again(struct record_stream *stream, const struct record_place *place, const char **bytes,
                                     struct status *error);

/* Whether these are the bytes of the line that stood there, place->length of them: for who copies lines as they are. */
bool record_place_holds(const struct record_place *place, const char *bytes);

/* Lines that a killed run left unfinished, so far, and one line of text for each of them. */
int record_stream_damaged_count(const struct record_stream *stream);
const char *record_stream_notes(const struct record_stream *stream);

/* ---- reading, all at once ---- */

struct record_run {
    struct json *run;      /* the run line; of a run that was resumed the first */
    struct json *selected; /* array of its `selected` lines; NULL: it has none, which is so of records before 1.4 */
    struct json **cases;   /* in the order of the file, one per attempt */
    int case_count;
    size_t case_room;
    struct json *end; /* NULL: the run was killed, or is still going on */
};

struct record_file {
    struct record_run *runs; /* at least one */
    int run_count;
    size_t run_room;
    int damaged_line_count; /* lines that a killed run left unfinished */
    struct text notes;      /* one line of text for each of them */
};

/* Reads path with a record_stream, whose errors it passes on, and keeps all of it: 55 KB a case. */
enum status_code record_file_read(const char *path, struct record_file *file, struct status *error);

void record_file_release(struct record_file *file);

#endif
