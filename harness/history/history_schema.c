/* History schema: the tables, version by version. A version that was released is never changed: a new one is a step
 * more, with statements that lead from the one before to it, and HISTORY_VERSION one higher.
 *
 * Every word is there once (word), and what nights share is one row (subject: who was measured; circumstance: how it
 * ended), so that a night adds to `figure` alone: some 100 bytes a case. Sizes that are not known are null. */
#include "harness/history/history_inside.h"

#include "harness/record/level.h"

_Static_assert(LEVEL_COUNT == 5, "a level that the table `figure` has no columns for: add a step that makes them");

/* "assy": tells a history from a database of another program. */
#define APPLICATION_ID 0x61737379
#define STRINGIFIED(x) #x
#define DECIMAL(x)     STRINGIFIED(x)

#define LEVEL_COLUMNS(part)                                                                                            \
    part "_requested INTEGER, " part "_allocated INTEGER, " part "_reserved INTEGER, " part "_device INTEGER, " part   \
         "_process INTEGER, "

static const char version_1[] =
    "CREATE TABLE word (number INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE run (number INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, started TEXT NOT NULL, "
    "source TEXT NOT NULL, suite_path INTEGER NOT NULL REFERENCES word, absent_cause INTEGER REFERENCES word, "
    "notes INTEGER NOT NULL REFERENCES word, unnamed_absent INTEGER NOT NULL, damaged_lines INTEGER NOT NULL, "
    "ended INTEGER NOT NULL, attempts INTEGER NOT NULL, digest INTEGER NOT NULL) STRICT;"
    "CREATE INDEX run_started ON run (started, run_id);"
    "CREATE TABLE property (run INTEGER NOT NULL REFERENCES run, property INTEGER NOT NULL REFERENCES word, "
    "value INTEGER NOT NULL REFERENCES word, PRIMARY KEY (run, property)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE subject (number INTEGER PRIMARY KEY, id INTEGER NOT NULL REFERENCES word, "
    "label INTEGER NOT NULL REFERENCES word, tags INTEGER NOT NULL REFERENCES word, "
    "machine INTEGER NOT NULL REFERENCES word, UNIQUE (id, label, tags, machine)) STRICT;"
    "CREATE TABLE circumstance (number INTEGER PRIMARY KEY, status INTEGER NOT NULL REFERENCES word, "
    "standing TEXT NOT NULL, invalid INTEGER NOT NULL, made INTEGER NOT NULL, wanted INTEGER NOT NULL, "
    "reason INTEGER NOT NULL REFERENCES word, disturbance INTEGER NOT NULL REFERENCES word, "
    "UNIQUE (status, standing, invalid, made, wanted, reason, disturbance)) STRICT;"
    "CREATE TABLE figure (run INTEGER NOT NULL REFERENCES run, subject INTEGER NOT NULL REFERENCES subject, "
    "circumstance INTEGER NOT NULL REFERENCES circumstance, " LEVEL_COLUMNS("measured") LEVEL_COLUMNS("predicted")
        LEVEL_COLUMNS(
            "spread") "PRIMARY KEY (run, subject)) STRICT, WITHOUT ROWID;"
                      "CREATE TABLE absent (run INTEGER NOT NULL REFERENCES run, id INTEGER NOT NULL REFERENCES word, "
                      "wanted INTEGER NOT NULL, PRIMARY KEY (run, id)) STRICT, WITHOUT ROWID;";

/* Which runs a merged one was joined of: a merge that is completed later is the same night. */
static const char version_2[] =
    "CREATE TABLE part (run INTEGER NOT NULL REFERENCES run, run_id TEXT NOT NULL, PRIMARY KEY (run, run_id)) STRICT, "
    "WITHOUT ROWID;"
    "CREATE INDEX part_run_id ON part (run_id);";

/* Which levels of a case the run itself judged, and which runs somebody took for what is right. */
static const char version_3[] =
    "ALTER TABLE figure ADD COLUMN judged INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE acceptance (run_id TEXT PRIMARY KEY, accepted TEXT NOT NULL, name TEXT NOT NULL, "
    "reason TEXT NOT NULL) STRICT, WITHOUT ROWID;";

const struct history_step history_steps[HISTORY_VERSION] = {{1, version_1}, {2, version_2}, {3, version_3}};

static enum status_code number_read(struct history *history, const char *sql, int64_t *number, struct status *error)
{
    struct query query = query_make(history, sql);
    *number = query_row(&query) ? query_integer(&query, 0, INT32_MIN, INT32_MAX) : 0;
    return query_finish(&query, error);
}

/* What the file is now. */
struct schema_state {
    int64_t application, version, table_count;
};

static enum status_code state_read(struct history *history, struct schema_state *state, struct status *error)
{
    enum status_code code = number_read(history, "PRAGMA application_id", &state->application, error);
    if (code == STATUS_OK) {
        code = number_read(history, "PRAGMA user_version", &state->version, error);
    }
    if (code == STATUS_OK) {
        code = number_read(history, "SELECT count(*) FROM sqlite_schema", &state->table_count, error);
    }
    return code;
}

/* In one transaction: between two of its questions somebody else may make the file a history. */
static enum status_code state_read_at_once(struct history *history, struct schema_state *state, struct status *error)
{
    enum status_code code = history_execute(history, "BEGIN", error);
    if (code != STATUS_OK) {
        return code;
    }
    code = state_read(history, state, error);
    const enum status_code ended = history_execute(history, "ROLLBACK", code == STATUS_OK ? error : NULL);
    return code == STATUS_OK ? ended : code;
}

static enum status_code state_check(const struct history *history, const struct schema_state *state, int newest,
                                    struct status *error)
{
    const bool is_empty = state->application == 0 && state->version == 0 && state->table_count == 0;
    if (!is_empty && (state->application != APPLICATION_ID || state->version < 1)) {
        return status_set(error, STATUS_INVALID,
                          "%s: is a database of SQLite, and not a history of assay; name another file", history->path);
    }
    if (state->version > newest) {
        return status_set(error, STATUS_INVALID,
                          "%s: is a history of version %d, and this assay knows versions up to %d; take the newer "
                          "assay that wrote it. It is as it was",
                          history->path, (int)state->version, newest);
    }
    return STATUS_OK;
}

struct steps_work {
    const struct history_step *steps;
    int count;
};

static enum status_code steps_work(struct history *history, void *context, struct status *error)
{
    const struct steps_work *work = context;
    const struct history_step *steps = work->steps;
    const int count = work->count;
    struct schema_state state;
    enum status_code code = state_read(history, &state, error); /* once more: somebody may have been faster */
    if (code == STATUS_OK) {
        code = state_check(history, &state, steps[count - 1].version, error);
    }
    for (int at = 0; at < count && code == STATUS_OK; at++) {
        if (steps[at].version > state.version) {
            struct text version = {0};
            text_format(&version, "PRAGMA user_version = %d", steps[at].version);
            code = history_execute(history, steps[at].sql, error);
            if (code == STATUS_OK) {
                code = history_execute(history, text_string(&version), error);
            }
            text_release(&version);
        }
    }
    return code == STATUS_OK ? history_execute(history, "PRAGMA application_id = " DECIMAL(APPLICATION_ID), error)
                             : code;
}

enum status_code schema_settle(struct history *history, const struct history_step *steps, int count,
                               struct status *error)
{
    struct schema_state state;
    enum status_code code = state_read_at_once(history, &state, error);
    if (code == STATUS_OK) {
        code = state_check(history, &state, steps[count - 1].version, error);
    }
    if (code != STATUS_OK || state.version == steps[count - 1].version) {
        return code;
    }
    if (state.version == 0) { /* before the first table; of a file that somebody else begins now it says nothing */
        code = history_execute(history, "PRAGMA auto_vacuum = FULL", error);
    }
    if (code == STATUS_OK) {
        code = history_transact(history, steps_work, &(struct steps_work){steps, count}, error);
    }
    if (code != STATUS_OK && state.version > 0) {
        status_extend(error, " (it is of version %d and must become one of version %d)", (int)state.version,
                      steps[count - 1].version);
    }
    return code;
}
