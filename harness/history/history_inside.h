/* History inside: what the files of this folder share of SQLite. The only header that includes sqlite3.h; not for
 * anybody outside this folder, whose other headers do not show it. */
#ifndef ASSAY_HISTORY_HISTORY_INSIDE_H
#define ASSAY_HISTORY_HISTORY_INSIDE_H

#include <sqlite3.h>

#include "harness/history/history.h"

struct history {
    sqlite3 *database;
    char *path;
};

/* What SQLite says went wrong, as a status with the path, the cause and the remedy. */
enum status_code history_fail(const struct history *history, int result, struct status *error);

/* STATUS_INVALID: what was read cannot stand there; what: "a size below 0". */
enum status_code history_damaged(const struct history *history, const char *what, struct status *error);

/* Runs statements that give nothing back. */
enum status_code history_execute(struct history *history, const char *sql, struct status *error);

/* A prepared statement; finished in any case. Failures are remembered, so that a caller binds and steps and looks
 * once. */
struct query {
    struct history *history;
    sqlite3_stmt *statement;
    int result;      /* SQLITE_OK, SQLITE_ROW or SQLITE_DONE until something failed */
    bool is_damaged; /* a column holds what cannot stand there */
};

struct query query_make(struct history *history, const char *sql);
bool query_row(struct query *query);   /* whether there is one more row; false also after a failure */
void query_again(struct query *query); /* to be bound anew */
enum status_code query_finish(struct query *query, struct status *error);

void query_bind_text(struct query *query, int parameter, const char *text); /* copied; NULL is null */
void query_bind_integer(struct query *query, int parameter, int64_t value);
void query_bind_bytes(struct query *query, int parameter, int64_t bytes); /* negative is null */

/* Columns of the row; borrowed until the next. */
const char *query_text(struct query *query, int column); /* null is "" */
bool query_is_null(struct query *query, int column);
int64_t query_integer(struct query *query, int column, int64_t least, int64_t most);
int64_t query_bytes(struct query *query, int column); /* null is FIGURE_BYTES_UNKNOWN */

/* Does work in one transaction, for which it waits until no other writes; all of it is done or nothing. */
typedef enum status_code history_work(struct history *history, void *context, struct status *error);
enum status_code history_transact(struct history *history, history_work *work, void *context, struct status *error);

/* A step from one version to the next. */
struct history_step {
    int version; /* that it leads to, one more than the step before */
    const char *sql;
};

/* Brings the file to the version of the last step, in one transaction, if it is older, and makes it if it is empty.
 * Nothing of it changes otherwise. STATUS_INVALID, STATUS_IO as history_open. */
enum status_code schema_settle(struct history *history, const struct history_step *steps, int count,
                               struct status *error);

/* The steps of this program. */
extern const struct history_step history_steps[HISTORY_VERSION];

#endif
