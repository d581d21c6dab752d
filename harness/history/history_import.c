/* History import: a run into the tables, in one transaction. */
#include "harness/history/history_inside.h"

#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/name_table.h"
#include "harness/history/history_same.h"
#include "harness/history/standing_words.h"

enum { LEVELS_OF_FIGURE = 3 /* measured, predicted, spread */ };

/* The statements of an import, prepared once. */
struct importer {
    struct history *history;
    struct query word_find, word_add, subject_find, subject_add, circumstance_find, circumstance_add, figure_add;
    struct name_table words; /* that this import has met, and their numbers in the file */
    struct arena arena;
    int64_t *word_numbers;
    size_t word_room;
    bool failed; /* memory ran out */
};

/* ---- dictionaries ---- */

/* Runs a statement that finds a number, else one that adds a row; both are bound. */
static int64_t number_of(struct importer *importer, struct query *find, struct query *add)
{
    int64_t number = 0;
    if (query_row(find)) {
        number = query_integer(find, 0, 1, INT64_MAX);
    } else {
        query_row(add);
        number = sqlite3_last_insert_rowid(importer->history->database);
        query_again(add);
    }
    query_again(find);
    return number;
}

static int64_t word_number(struct importer *importer, const char *word)
{
    const size_t known = importer->words.count;
    const int place = name_table_add(&importer->words, &importer->arena, word);
    int64_t *numbers =
        place < 0 ? NULL : array_extend(importer->word_numbers, known, &importer->word_room, sizeof *numbers);
    if (numbers == NULL) {
        importer->failed = true;
        return 0;
    }
    importer->word_numbers = numbers;
    if ((size_t)place == known) {
        query_bind_text(&importer->word_find, 1, word);
        query_bind_text(&importer->word_add, 1, word);
        numbers[place] = number_of(importer, &importer->word_find, &importer->word_add);
    }
    return numbers[place];
}

static int64_t subject_number(struct importer *importer, const struct case_figures *one)
{
    const char *const words[] = {one->id, one->label, one->tags, one->machine};
    for (int at = 0; at < 4; at++) {
        const int64_t number = word_number(importer, words[at]);
        query_bind_integer(&importer->subject_find, at + 1, number);
        query_bind_integer(&importer->subject_add, at + 1, number);
    }
    return number_of(importer, &importer->subject_find, &importer->subject_add);
}

static void circumstance_bind(struct query *query, const struct case_figures *one, const int64_t words[3])
{
    query_bind_integer(query, 1, words[0]);
    query_bind_text(query, 2, standing_word(one->standing));
    query_bind_integer(query, 3, one->invalid ? 1 : 0);
    query_bind_integer(query, 4, one->made_count);
    query_bind_integer(query, 5, one->wanted_count);
    query_bind_integer(query, 6, words[1]);
    query_bind_integer(query, 7, words[2]);
}

static int64_t circumstance_number(struct importer *importer, const struct case_figures *one)
{
    const int64_t words[] = {word_number(importer, one->status), word_number(importer, one->reason),
                             word_number(importer, one->disturbance)};
    circumstance_bind(&importer->circumstance_find, one, words);
    circumstance_bind(&importer->circumstance_add, one, words);
    return number_of(importer, &importer->circumstance_find, &importer->circumstance_add);
}

/* ---- rows ---- */

static void figure_write(struct importer *importer, int64_t run, const struct case_figures *one)
{
    const struct level_bytes *const parts[LEVELS_OF_FIGURE] = {&one->measured, &one->predicted, &one->spread};
    struct query *query = &importer->figure_add;
    query_bind_integer(query, 1, run);
    query_bind_integer(query, 2, subject_number(importer, one));
    query_bind_integer(query, 3, circumstance_number(importer, one));
    for (int part = 0; part < LEVELS_OF_FIGURE; part++) {
        for (int level = 0; level < LEVEL_COUNT; level++) {
            query_bind_bytes(query, 4 + part * LEVEL_COUNT + level, parts[part]->of[level]);
        }
    }
    query_bind_integer(query, 4 + LEVELS_OF_FIGURE * LEVEL_COUNT, one->judged);
    query_row(query);
    query_again(query);
}

/* A row of two or three integers in a table of a run. */
static enum status_code row_write(struct history *history, const char *sql, const int64_t *values, int count,
                                  struct status *error)
{
    struct query query = query_make(history, sql);
    for (int at = 0; at < count; at++) {
        query_bind_integer(&query, at + 1, values[at]);
    }
    query_row(&query);
    return query_finish(&query, error);
}

static enum status_code parts_write(struct importer *importer, int64_t run, const struct run_figures *figures,
                                    struct status *error)
{
    struct run_ids ids;
    enum status_code code = STATUS_OK;
    if (!run_ids_make(figures, &importer->arena, &ids)) {
        importer->failed = true;
        return STATUS_OK;
    }
    for (int at = 1; at < ids.count && code == STATUS_OK; at++) {
        struct query query = query_make(importer->history, "INSERT OR IGNORE INTO part VALUES (?, ?)");
        query_bind_integer(&query, 1, run);
        query_bind_text(&query, 2, ids.ids[at]);
        query_row(&query);
        code = query_finish(&query, error);
    }
    return code;
}

static enum status_code lists_write(struct importer *importer, int64_t run, const struct run_figures *figures,
                                    struct status *error)
{
    enum status_code code = parts_write(importer, run, figures, error);
    for (int property = 0; property < ENVIRONMENT_COUNT && code == STATUS_OK; property++) {
        if (figures->environment[property] != NULL) {
            const int64_t values[] = {run, word_number(importer, environment_key((enum environment)property)),
                                      word_number(importer, figures->environment[property])};
            code = row_write(importer->history, "INSERT INTO property VALUES (?, ?, ?)", values, 3, error);
        }
    }
    for (int at = 0; at < figures->absent_count && code == STATUS_OK; at++) {
        const int64_t values[] = {run, word_number(importer, figures->absent[at].id), figures->absent[at].wanted_count};
        code = row_write(importer->history, "INSERT INTO absent VALUES (?, ?, ?)", values, 3, error);
    }
    return code;
}

static enum status_code run_write(struct importer *importer, const struct run_figures *figures, int64_t *number,
                                  struct status *error)
{
    struct query query =
        query_make(importer->history, "INSERT INTO run (run_id, started, source, suite_path, absent_cause, notes, "
                                      "unnamed_absent, damaged_lines, ended, attempts, digest) "
                                      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    query_bind_text(&query, 1, figures->run_id);
    query_bind_text(&query, 2, figures->started);
    query_bind_text(&query, 3, figures->source);
    query_bind_integer(&query, 4, word_number(importer, figures->suite_path));
    query_bind_bytes(&query, 5, figures->absent_cause != NULL ? word_number(importer, figures->absent_cause) : -1);
    query_bind_integer(&query, 6, word_number(importer, figures->notes));
    query_bind_integer(&query, 7, figures->unnamed_absent_count);
    query_bind_integer(&query, 8, figures->damaged_line_count);
    query_bind_integer(&query, 9, figures->ended ? 1 : 0);
    query_bind_integer(&query, 10, figures_attempts(figures));
    query_bind_integer(&query, 11, figures_digest(figures));
    query_row(&query);
    *number = sqlite3_last_insert_rowid(importer->history->database);
    return query_finish(&query, error);
}

static void importer_open(struct importer *importer, struct history *history)
{
    *importer = (struct importer){.history = history};
    importer->word_find = query_make(history, "SELECT number FROM word WHERE word = ?");
    importer->word_add = query_make(history, "INSERT INTO word (word) VALUES (?)");
    importer->subject_find = query_make(history, "SELECT number FROM subject WHERE id = ? AND label = ? AND tags = ? "
                                                 "AND machine = ?");
    importer->subject_add = query_make(history, "INSERT INTO subject (id, label, tags, machine) VALUES (?, ?, ?, ?)");
    importer->circumstance_find =
        query_make(history, "SELECT number FROM circumstance WHERE status = ? AND standing = ? AND invalid = ? AND "
                            "made = ? AND wanted = ? AND reason = ? AND disturbance = ?");
    importer->circumstance_add =
        query_make(history, "INSERT INTO circumstance (status, standing, invalid, made, wanted, reason, disturbance) "
                            "VALUES (?, ?, ?, ?, ?, ?, ?)");
    importer->figure_add =
        query_make(history, "INSERT INTO figure VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
}

/* The first failure counts; code is that of what came before. */
static enum status_code importer_close(struct importer *importer, enum status_code code, struct status *error)
{
    struct query *const queries[] = {&importer->word_find,   &importer->word_add,          &importer->subject_find,
                                     &importer->subject_add, &importer->circumstance_find, &importer->circumstance_add,
                                     &importer->figure_add};
    for (size_t at = 0; at < sizeof queries / sizeof queries[0]; at++) {
        enum status_code one = query_finish(queries[at], code == STATUS_OK ? error : NULL);
        code = code == STATUS_OK ? one : code;
    }
    if (code == STATUS_OK && importer->failed) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for the words of a run", importer->history->path);
    }
    name_table_release(&importer->words);
    arena_release(&importer->arena);
    free(importer->word_numbers);
    return code;
}

static enum status_code figures_write(struct history *history, const struct run_figures *figures, struct status *error)
{
    struct importer importer;
    int64_t run = 0;
    importer_open(&importer, history);
    enum status_code code = run_write(&importer, figures, &run, error);
    if (code == STATUS_OK) {
        code = lists_write(&importer, run, figures, error);
    }
    for (int at = 0; at < figures->case_count && code == STATUS_OK && !importer.failed; at++) {
        figure_write(&importer, run, &figures->cases[at]);
    }
    return importer_close(&importer, code, error);
}

/* ---- a run as a whole ---- */

static enum status_code run_remove(struct history *history, int64_t number, struct status *error)
{
    static const char *const statements[] = {
        "DELETE FROM figure WHERE run = ?", "DELETE FROM property WHERE run = ?", "DELETE FROM absent WHERE run = ?",
        "DELETE FROM part WHERE run = ?",   "DELETE FROM run WHERE number = ?",
    };
    enum status_code code = STATUS_OK;
    for (size_t at = 0; at < sizeof statements / sizeof statements[0] && code == STATUS_OK; at++) {
        struct query query = query_make(history, statements[at]);
        query_bind_integer(&query, 1, number);
        query_row(&query);
        code = query_finish(&query, error);
    }
    return code;
}

static enum status_code figures_check(const struct run_figures *figures, struct status *error)
{
    const char *lack = figures->run_id[0] == '\0'    ? "has no run_id"
                       : figures->started[0] == '\0' ? "has no time of its start"
                       : figures->case_count == 0    ? "attempted no case"
                                                     : NULL;
    return lack == NULL
               ? STATUS_OK
               : status_set(error, STATUS_INVALID, "%s: a run %s, so no history can keep it", figures->source, lack);
}

struct import_work {
    const struct run_figures *figures;
    enum import_manner manner;
    enum import_outcome *outcome;
};

static enum status_code import_work(struct history *history, void *context, struct status *error)
{
    const struct import_work *work = context;
    struct same_runs same = {0};
    enum status_code code = same_runs_find(history, work->figures, &same, error);
    if (code == STATUS_OK && work->manner == IMPORT_GUARDED) {
        code = same_runs_guard(history, &same, work->figures, error);
    }
    if (code == STATUS_OK) {
        *work->outcome = same_runs_outcome(&same, work->figures, work->manner);
    }
    for (int at = 0; code == STATUS_OK && *work->outcome == IMPORT_RENEWED && at < same.count; at++) {
        code = run_remove(history, same.runs[at].run.number, error);
    }
    if (code == STATUS_OK && (*work->outcome == IMPORT_ADDED || *work->outcome == IMPORT_RENEWED)) {
        code = figures_write(history, work->figures, error);
    }
    arena_release(&same.arena);
    return code;
}

enum status_code history_import(struct history *history, const struct run_figures *figures, enum import_manner manner,
                                enum import_outcome *outcome, struct status *error)
{
    struct import_work work = {figures, manner, outcome};
    enum status_code code = figures_check(figures, error);
    return code == STATUS_OK ? history_transact(history, import_work, &work, error) : code;
}

/* ---- what somebody accepted ---- */

struct accept_work {
    const char *run_id, *moment, *name, *reason;
};

static enum status_code accept_work(struct history *history, void *context, struct status *error)
{
    const struct accept_work *work = context;
    struct query query = query_make(history, "INSERT OR REPLACE INTO acceptance SELECT run_id, ?2, ?3, ?4 FROM run "
                                             "WHERE run_id = ?1");
    query_bind_text(&query, 1, work->run_id);
    query_bind_text(&query, 2, work->moment);
    query_bind_text(&query, 3, work->name);
    query_bind_text(&query, 4, work->reason);
    query_row(&query);
    enum status_code code = query_finish(&query, error);
    return code == STATUS_OK && sqlite3_changes(history->database) == 0
               ? status_set(error, STATUS_INVALID, "%s: has no run %.40s; import it first", history->path, work->run_id)
               : code;
}

enum status_code history_accept(struct history *history, const char *run_id, const char *moment, const char *name,
                                const char *reason, struct status *error)
{
    return history_transact(history, accept_work, &(struct accept_work){run_id, moment, name, reason}, error);
}

/* ---- removing ---- */

/* Words and rows that no run needs any more. */
static const char orphans_remove[] =
    "DELETE FROM subject WHERE number NOT IN (SELECT subject FROM figure);"
    "DELETE FROM circumstance WHERE number NOT IN (SELECT circumstance FROM figure);"
    "DELETE FROM word WHERE number NOT IN (SELECT id FROM subject UNION SELECT label FROM subject "
    "UNION SELECT tags FROM subject UNION SELECT machine FROM subject UNION SELECT status FROM circumstance "
    "UNION SELECT reason FROM circumstance UNION SELECT disturbance FROM circumstance "
    "UNION SELECT property FROM property UNION SELECT value FROM property UNION SELECT id FROM absent "
    "UNION SELECT suite_path FROM run UNION SELECT notes FROM run "
    "UNION SELECT absent_cause FROM run WHERE absent_cause IS NOT NULL);"
    "DELETE FROM acceptance WHERE run_id NOT IN (SELECT run_id FROM run);";

static enum status_code remove_work(struct history *history, void *context, struct status *error)
{
    const struct history_runs *runs = context;
    enum status_code code = STATUS_OK;
    for (int at = 0; at < runs->count && code == STATUS_OK; at++) {
        code = run_remove(history, runs->runs[at].number, error);
    }
    return code == STATUS_OK ? history_execute(history, orphans_remove, error) : code;
}

enum status_code history_remove(struct history *history, const struct history_runs *runs, struct status *error)
{
    struct history_runs copy = *runs;
    return history_transact(history, remove_work, &copy, error);
}
