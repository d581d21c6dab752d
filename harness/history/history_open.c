/* History open: a file becomes a history, or is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/history/history_inside.h"

/* A FIFO would hold SQLite up, and a folder gets a riddle from it. */
static enum status_code file_look(const char *path, enum history_access access, struct status *error)
{
    struct stat facts;
    if (stat(path, &facts) == 0) {
        return S_ISREG(facts.st_mode)
                   ? STATUS_OK
                   : status_set(error, STATUS_IO, "%s: is not a regular file; name the file of a history", path);
    }
    if (errno != ENOENT) {
        return status_set(error, STATUS_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    return access == HISTORY_WRITE
               ? STATUS_OK
               : status_set(error, STATUS_IO, "%s: there is no history yet; `assay history import RECORDS` makes one",
                            path);
}

/* SQLite gives some names a meaning of their own (":memory:", ""), which no path with a folder has. */
static char *path_with_folder(const char *path)
{
    struct text text = {0};
    text_format(&text, "%s%s", path[0] == '/' ? "" : "./", path);
    if (text.failed) {
        text_release(&text);
        return NULL;
    }
    return text.data;
}

/* What a file from somebody else may not do. */
static void database_restrain(sqlite3 *database)
{
    sqlite3_busy_timeout(database, HISTORY_WAIT_SECONDS * 1000);
    sqlite3_extended_result_codes(database, 0);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 16 << 20);
}

enum status_code history_open(const char *path, enum history_access access, struct history **history,
                              struct status *error)
{
    struct history *made = calloc(1, sizeof *made);
    char *name = path_with_folder(path);
    if (made == NULL || name == NULL || (made->path = strdup(path)) == NULL) {
        free(name);
        history_close(made);
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for the history", path);
    }
    enum status_code code = file_look(path, access, error);
    if (code == STATUS_OK) {
        /* what may only be read is opened so by SQLite itself; a journal that a kill left needs the right to write */
        const int flags = SQLITE_OPEN_READWRITE | (access == HISTORY_WRITE ? SQLITE_OPEN_CREATE : 0);
        const int result = sqlite3_open_v2(name, &made->database, flags, NULL);
        if (result != SQLITE_OK) {
            code = history_fail(made, result, error);
        }
    }
    if (code == STATUS_OK) {
        database_restrain(made->database);
        code = schema_settle(made, history_steps, HISTORY_VERSION, error);
    }
    free(name);
    if (code != STATUS_OK) {
        history_close(made);
        return code;
    }
    *history = made;
    return STATUS_OK;
}

void history_close(struct history *history)
{
    if (history != NULL) {
        sqlite3_close(history->database);
        free(history->path);
        free(history);
    }
}
