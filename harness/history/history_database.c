/* History database: statements, transactions, and what SQLite says when something is wrong. Not what the tables
 * mean. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "harness/history/history_inside.h"

const char *history_path(const struct history *history)
{
    return history->path;
}

enum status_code history_damaged(const struct history *history, const char *what, struct status *error)
{
    return status_set(error, STATUS_INVALID,
                      "%s: this history is damaged (%s); records are the source: move it away, and make it anew with "
                      "`assay history import`",
                      history->path, what);
}

static enum status_code unwritten(const struct history *history, const char *cause, struct status *error)
{
    return status_set(error, STATUS_IO, "%s: cannot be written: %s; it is as it was", history->path, cause);
}

/* The main file or its folder: SQLite needs both to write. */
static enum status_code not_writable(const struct history *history, struct status *error)
{
    const bool file_is = access(history->path, W_OK) == 0;
    return unwritten(history,
                     file_is ? "its folder may not be written, where SQLite keeps its journal" : "you may only read it",
                     error);
}

enum status_code history_fail(const struct history *history, int result, struct status *error)
{
    const int extended = history->database != NULL ? sqlite3_extended_errcode(history->database) : result;
    switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return status_set(error, STATUS_IO,
                          "%s: somebody else has been writing to it for %d seconds; try again when that has ended",
                          history->path, HISTORY_WAIT_SECONDS);
    case SQLITE_NOMEM:
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for the history", history->path);
    case SQLITE_FULL:
        return unwritten(history, "the disk is full", error);
    case SQLITE_READONLY:
        return not_writable(history, error);
    case SQLITE_NOTADB:
        return status_set(error, STATUS_INVALID, "%s: is no history: it is not a database of SQLite", history->path);
    case SQLITE_CORRUPT:
    case SQLITE_MISMATCH:
    case SQLITE_ERROR: /* a table or a column is not what the version says */
    case SQLITE_CONSTRAINT:
        return history_damaged(history, history->database != NULL ? sqlite3_errmsg(history->database) : "unreadable",
                               error);
    case SQLITE_CANTOPEN:
        return status_set(error, STATUS_IO, "%s: cannot be opened: %s", history->path,
                          strerror(history->database != NULL && sqlite3_system_errno(history->database) != 0
                                       ? sqlite3_system_errno(history->database)
                                       : EACCES));
    case SQLITE_IOERR:
        return extended == SQLITE_IOERR_WRITE || extended == SQLITE_IOERR_FSYNC || extended == SQLITE_IOERR_TRUNCATE
                   ? unwritten(history, "the disk or its quota refuses more", error)
                   : status_set(error, STATUS_IO, "%s: cannot be read: %s", history->path, sqlite3_errstr(extended));
    default:
        return status_set(error, STATUS_IO, "%s: %s", history->path, sqlite3_errstr(extended));
    }
}

enum status_code history_execute(struct history *history, const char *sql, struct status *error)
{
    const int result = sqlite3_exec(history->database, sql, NULL, NULL, NULL);
    return result == SQLITE_OK ? STATUS_OK : history_fail(history, result, error);
}

/* ---- statements ---- */

struct query query_make(struct history *history, const char *sql)
{
    struct query query = {.history = history};
    query.result = sqlite3_prepare_v2(history->database, sql, -1, &query.statement, NULL);
    return query;
}

static bool query_is_well(const struct query *query)
{
    return query->result == SQLITE_OK || query->result == SQLITE_ROW || query->result == SQLITE_DONE;
}

bool query_row(struct query *query)
{
    if (query_is_well(query)) {
        query->result = sqlite3_step(query->statement);
    }
    return query->result == SQLITE_ROW && !query->is_damaged;
}

void query_again(struct query *query)
{
    if (query_is_well(query)) {
        query->result = sqlite3_reset(query->statement);
    }
}

enum status_code query_finish(struct query *query, struct status *error)
{
    enum status_code code = STATUS_OK;
    if (!query_is_well(query)) {
        code = history_fail(query->history, query->result, error);
    } else if (query->is_damaged) {
        code = history_damaged(query->history, "a field holds what cannot stand there", error);
    }
    sqlite3_finalize(query->statement);
    query->statement = NULL;
    return code;
}

void query_bind_text(struct query *query, int parameter, const char *text)
{
    if (query_is_well(query)) {
        query->result = sqlite3_bind_text(query->statement, parameter, text, -1, SQLITE_TRANSIENT);
    }
}

void query_bind_integer(struct query *query, int parameter, int64_t value)
{
    if (query_is_well(query)) {
        query->result = sqlite3_bind_int64(query->statement, parameter, value);
    }
}

void query_bind_bytes(struct query *query, int parameter, int64_t bytes)
{
    if (query_is_well(query)) {
        query->result = bytes >= 0 ? sqlite3_bind_int64(query->statement, parameter, bytes)
                                   : sqlite3_bind_null(query->statement, parameter);
    }
}

bool query_is_null(struct query *query, int column)
{
    return sqlite3_column_type(query->statement, column) == SQLITE_NULL;
}

const char *query_text(struct query *query, int column)
{
    const int kind = sqlite3_column_type(query->statement, column);
    query->is_damaged = query->is_damaged || (kind != SQLITE_TEXT && kind != SQLITE_NULL);
    const char *text = (const char *)sqlite3_column_text(query->statement, column);
    return text != NULL ? text : "";
}

int64_t query_integer(struct query *query, int column, int64_t least, int64_t most)
{
    const int64_t value = sqlite3_column_int64(query->statement, column);
    const bool is_one = sqlite3_column_type(query->statement, column) == SQLITE_INTEGER;
    query->is_damaged = query->is_damaged || !is_one || value < least || value > most;
    return value < least ? least : value > most ? most : value;
}

int64_t query_bytes(struct query *query, int column)
{
    return query_is_null(query, column) ? FIGURE_BYTES_UNKNOWN : query_integer(query, column, 0, INT64_MAX);
}

enum status_code history_transact(struct history *history, history_work *work, void *context, struct status *error)
{
    enum status_code code = history_execute(history, "BEGIN IMMEDIATE", error);
    if (code != STATUS_OK) {
        return code;
    }
    code = work(history, context, error);
    if (code == STATUS_OK) {
        code = history_execute(history, "COMMIT", error);
    }
    if (code != STATUS_OK) {
        sqlite3_exec(history->database, "ROLLBACK", NULL, NULL, NULL);
    }
    return code;
}
