/* History runs: what the file says of its runs, and the figures of one of them. Reads alone. */
#include "harness/history/history_inside.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/name_table.h"
#include "harness/base/text.h"
#include "harness/history/standing_words.h"

enum { BEGINNING_LEAST = 4, CASES_MOST = 10000000 };

static enum status_code memory_error(const struct history *history, struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for the runs of the history", history->path);
}

/* ---- runs ---- */

/* Of no property that this program does not know. */
static int property_from_key(const char *key)
{
    for (int property = 0; property < ENVIRONMENT_COUNT; property++) {
        if (strcmp(environment_key((enum environment)property), key) == 0) {
            return property;
        }
    }
    return -1;
}

static enum status_code environment_fill(struct history *history, int64_t number, struct arena *arena,
                                         const char *environment[ENVIRONMENT_COUNT], struct status *error)
{
    struct query query = query_make(history, "SELECT k.word, v.word FROM property JOIN word k ON k.number = property "
                                             "JOIN word v ON v.number = value WHERE run = ?");
    bool made = true;
    query_bind_integer(&query, 1, number);
    while (query_row(&query) && made) {
        const int property = property_from_key(query_text(&query, 0));
        if (property >= 0) {
            environment[property] = arena_copy(arena, query_text(&query, 1));
            made = environment[property] != NULL;
        }
    }
    enum status_code code = query_finish(&query, error);
    return code == STATUS_OK && !made ? memory_error(history, error) : code;
}

static void count_add(struct history_run *run, const char *status, bool is_open, int count)
{
    run->case_count += count;
    *(strcmp(status, "ok") == 0     ? &run->ok_count
      : strcmp(status, "fail") == 0 ? &run->fail_count
      : strcmp(status, "skip") == 0 ? &run->skip_count
                                    : &run->other_count) += count;
    run->open_count += is_open ? count : 0;
}

static enum status_code counts_fill(struct history *history, struct history_run *run, struct status *error)
{
    struct query query = query_make(history, "SELECT w.word, c.standing, count(*) FROM figure "
                                             "JOIN circumstance c ON c.number = circumstance "
                                             "JOIN word w ON w.number = c.status WHERE run = ? GROUP BY 1, 2");
    query_bind_integer(&query, 1, run->number);
    while (query_row(&query)) {
        const bool is_open = strcmp(query_text(&query, 1), standing_word(STANDING_OPEN)) == 0;
        count_add(run, query_text(&query, 0), is_open, (int)query_integer(&query, 2, 0, CASES_MOST));
    }
    enum status_code code = query_finish(&query, error);
    if (code == STATUS_OK) {
        query = query_make(history, "SELECT count(*) FROM absent WHERE run = ?");
        query_bind_integer(&query, 1, run->number);
        run->absent_count = query_row(&query) ? (int)query_integer(&query, 0, 0, CASES_MOST) : 0;
        code = query_finish(&query, error);
    }
    return code;
}

static bool pattern_matches(const char *pattern, const char *value)
{
    return pattern == NULL || (value != NULL && fnmatch(pattern, value, 0) == 0);
}

static bool run_is_wanted(const struct history_filter *filter, const struct history_run *run)
{
    const char *const *environment = run->environment;
    const char *hash = environment[ENVIRONMENT_PLAN_HASH];
    return pattern_matches(filter->suite, environment[ENVIRONMENT_SUITE]) &&
           pattern_matches(filter->device, environment[ENVIRONMENT_DEVICE]) &&
           (filter->plan_hash == NULL || (hash != NULL && strcmp(hash, filter->plan_hash) == 0)) &&
           (filter->except == NULL || strcmp(filter->except, run->run_id) != 0);
}

static bool run_read(struct query *query, struct arena *arena, struct history_run *run)
{
    *run = (struct history_run){.number = query_integer(query, 0, 1, INT64_MAX),
                                .run_id = arena_copy(arena, query_text(query, 1)),
                                .started = arena_copy(arena, query_text(query, 2)),
                                .source = arena_copy(arena, query_text(query, 3)),
                                .ended = query_integer(query, 4, 0, 1) == 1};
    if (!query_is_null(query, 5)) {
        run->accepted_by = arena_copy(arena, query_text(query, 5));
        run->accepted_why = arena_copy(arena, query_text(query, 6));
        return run->run_id != NULL && run->started != NULL && run->source != NULL && run->accepted_by != NULL &&
               run->accepted_why != NULL;
    }
    return run->run_id != NULL && run->started != NULL && run->source != NULL;
}

/* The rows of a query, those that are wanted, with their environments. */
static enum status_code rows_take(struct query *query, const struct history_filter *filter, struct arena *arena,
                                  struct history_runs *runs, struct status *error)
{
    enum status_code code = STATUS_OK;
    size_t room = 0;
    while (code == STATUS_OK && (filter->most <= 0 || runs->count < filter->most) && query_row(query)) {
        struct history_run *list = arena_array_extend(arena, runs->runs, (size_t)runs->count, &room, sizeof *list);
        if (list == NULL || !run_read(query, arena, &list[runs->count])) {
            return memory_error(query->history, error);
        }
        runs->runs = list;
        struct history_run *run = &list[runs->count];
        code = environment_fill(query->history, run->number, arena, run->environment, error);
        if (code == STATUS_OK && run_is_wanted(filter, run)) {
            code = filter->without_counts ? STATUS_OK : counts_fill(query->history, run, error);
            runs->count++;
        }
    }
    return code;
}

enum status_code history_runs_list(struct history *history, const struct history_filter *filter, struct arena *arena,
                                   struct history_runs *runs, struct status *error)
{
    struct query query = query_make(history, "SELECT number, run_id, started, source, ended, a.name, a.reason FROM run "
                                             "LEFT JOIN acceptance a USING (run_id) "
                                             "WHERE (?1 IS NULL OR started < ?1) AND (?2 IS NULL OR started >= ?2) "
                                             "AND (?3 IS NULL OR started <= ?3) "
                                             "ORDER BY started DESC, run_id DESC");
    *runs = (struct history_runs){0};
    query_bind_text(&query, 1, filter->before);
    query_bind_text(&query, 2, filter->since);
    query_bind_text(&query, 3, filter->until);
    enum status_code code = rows_take(&query, filter, arena, runs, error);
    enum status_code finished = query_finish(&query, code == STATUS_OK ? error : NULL);
    return code == STATUS_OK ? finished : code;
}

static enum status_code several_refuse(const char *beginning, const struct history_runs *found, struct status *error)
{
    struct text names = {0};
    for (int at = 0; at < found->count && at < 3; at++) {
        text_format(&names, "%s%.40s of %.24s", at > 0 ? ", " : "", found->runs[at].run_id, found->runs[at].started);
    }
    enum status_code code =
        status_set(error, STATUS_INVALID, "'%.64s' begins %d runs of the history (%s%s); write more of it", beginning,
                   found->count, text_string(&names), found->count > 3 ? ", ..." : "");
    text_release(&names);
    return code;
}

enum status_code history_run_find(struct history *history, const char *beginning, struct arena *arena,
                                  struct history_run *run, struct status *error)
{
    const struct history_filter all = {0};
    struct history_runs found = {0};
    if (strlen(beginning) < BEGINNING_LEAST) {
        return status_set(error, STATUS_INVALID,
                          "'%s' is too short for a run; write at least %d characters of its run_id", beginning,
                          BEGINNING_LEAST);
    }
    struct query query = query_make(history, "SELECT number, run_id, started, source, ended, a.name, a.reason FROM run "
                                             "LEFT JOIN acceptance a USING (run_id) "
                                             "WHERE substr(run_id, 1, length(?1)) = ?1 ORDER BY started DESC, run_id");
    query_bind_text(&query, 1, beginning);
    enum status_code code = rows_take(&query, &all, arena, &found, error);
    enum status_code finished = query_finish(&query, code == STATUS_OK ? error : NULL);
    code = code == STATUS_OK ? finished : code;
    if (code == STATUS_OK && found.count == 0) {
        code = status_set(error, STATUS_INVALID,
                          "%s: has no run whose run_id begins with '%.64s'; `assay history show` lists them",
                          history->path, beginning);
    } else if (code == STATUS_OK && found.count > 1) {
        code = several_refuse(beginning, &found, error);
    } else if (code == STATUS_OK) {
        *run = found.runs[0];
    }
    return code;
}

/* ---- the figures of one ---- */

struct figures_reader {
    struct run_figures *figures;
    struct name_table words;
    struct query query;
    bool failed;
};

static const char *word_keep(struct figures_reader *reader, int column)
{
    const char *kept = name_table_keep(&reader->words, &reader->figures->arena, query_text(&reader->query, column));
    reader->failed = reader->failed || kept == NULL;
    return kept;
}

static const char *own_copy(struct figures_reader *reader, int column)
{
    const char *copy = arena_copy(&reader->figures->arena, query_text(&reader->query, column));
    reader->failed = reader->failed || copy == NULL;
    return copy;
}

static struct level_bytes levels_read(struct query *query, int column)
{
    struct level_bytes levels;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        levels.of[level] = query_bytes(query, column + level);
    }
    return levels;
}

static struct case_figures case_read(struct figures_reader *reader)
{
    struct query *query = &reader->query;
    struct case_figures one = {
        .id = own_copy(reader, 0),
        .label = own_copy(reader, 1),
        .tags = word_keep(reader, 2),
        .machine = word_keep(reader, 3),
        .status = word_keep(reader, 4),
        .invalid = query_integer(query, 6, 0, 1) == 1,
        .made_count = query_integer(query, 7, 0, INT64_MAX),
        .wanted_count = query_integer(query, 8, 0, INT64_MAX),
        .reason = word_keep(reader, 9),
        .disturbance = word_keep(reader, 10),
        .measured = levels_read(query, 11),
        .predicted = levels_read(query, 11 + LEVEL_COUNT),
        .spread = levels_read(query, 11 + 2 * LEVEL_COUNT),
        .judged = (unsigned)query_integer(query, 11 + 3 * LEVEL_COUNT, 0, (2 << LEVEL_COUNT) - 1),
    };
    query->is_damaged = query->is_damaged || !standing_from_word(query_text(query, 5), &one.standing);
    return one;
}

static enum status_code reader_finish(struct figures_reader *reader, struct status *error)
{
    enum status_code code = query_finish(&reader->query, error);
    return code == STATUS_OK && reader->failed ? memory_error(reader->query.history, error) : code;
}

static enum status_code cases_read(struct history *history, int64_t number, struct figures_reader *reader,
                                   struct status *error)
{
    struct run_figures *figures = reader->figures;
    size_t room = 0;
    reader->query = query_make(
        history,
        "SELECT i.word, l.word, t.word, m.word, s.word, c.standing, c.invalid, c.made, c.wanted, r.word, d.word, "
        "measured_requested, measured_allocated, measured_reserved, measured_device, measured_process, "
        "predicted_requested, predicted_allocated, predicted_reserved, predicted_device, predicted_process, "
        "spread_requested, spread_allocated, spread_reserved, spread_device, spread_process, judged FROM figure "
        "JOIN subject u ON u.number = subject JOIN circumstance c ON c.number = circumstance "
        "JOIN word i ON i.number = u.id JOIN word l ON l.number = u.label JOIN word t ON t.number = u.tags "
        "JOIN word m ON m.number = u.machine JOIN word s ON s.number = c.status JOIN word r ON r.number = c.reason "
        "JOIN word d ON d.number = c.disturbance WHERE run = ? ORDER BY i.word COLLATE BINARY");
    query_bind_integer(&reader->query, 1, number);
    while (!reader->failed && query_row(&reader->query)) {
        struct case_figures *cases =
            arena_array_extend(&figures->arena, figures->cases, (size_t)figures->case_count, &room, sizeof *cases);
        reader->failed = cases == NULL;
        if (cases != NULL) {
            figures->cases = cases;
            cases[figures->case_count++] = case_read(reader);
        }
    }
    return reader_finish(reader, error);
}

static enum status_code absent_read(struct history *history, int64_t number, struct figures_reader *reader,
                                    struct status *error)
{
    struct run_figures *figures = reader->figures;
    size_t room = 0;
    reader->query = query_make(history, "SELECT w.word, wanted FROM absent JOIN word w ON w.number = id WHERE run = ? "
                                        "ORDER BY w.word COLLATE BINARY");
    query_bind_integer(&reader->query, 1, number);
    while (!reader->failed && query_row(&reader->query)) {
        struct absent_case *absent =
            arena_array_extend(&figures->arena, figures->absent, (size_t)figures->absent_count, &room, sizeof *absent);
        reader->failed = absent == NULL;
        if (absent != NULL) {
            figures->absent = absent;
            absent[figures->absent_count++] = (struct absent_case){
                .id = own_copy(reader, 0), .wanted_count = query_integer(&reader->query, 1, 0, INT64_MAX)};
        }
    }
    return reader_finish(reader, error);
}

static enum status_code parts_read(struct history *history, int64_t number, struct figures_reader *reader,
                                   struct status *error)
{
    struct text words = {0};
    reader->query = query_make(history, "SELECT run_id FROM part WHERE run = ? ORDER BY run_id COLLATE BINARY");
    query_bind_integer(&reader->query, 1, number);
    while (query_row(&reader->query)) {
        text_format(&words, "%s%s", words.length > 0 ? "\n" : "", query_text(&reader->query, 0));
    }
    reader->figures->parts = arena_copy(&reader->figures->arena, text_string(&words));
    reader->failed = reader->failed || words.failed || reader->figures->parts == NULL;
    text_release(&words);
    return reader_finish(reader, error);
}

static enum status_code head_read(struct history *history, const struct history_run *run, struct figures_reader *reader,
                                  struct status *error)
{
    struct run_figures *figures = reader->figures;
    struct query *query = &reader->query;
    *query = query_make(history, "SELECT run_id, started, p.word, a.word, n.word, unnamed_absent, damaged_lines, ended "
                                 "FROM run JOIN word p ON p.number = suite_path LEFT JOIN word a ON a.number = "
                                 "absent_cause JOIN word n ON n.number = notes WHERE run.number = ?");
    query_bind_integer(query, 1, run->number);
    const bool is_there = query_row(query);
    if (is_there) {
        figures->run_id = own_copy(reader, 0);
        figures->started = own_copy(reader, 1);
        figures->suite_path = own_copy(reader, 2);
        figures->absent_cause = query_is_null(query, 3) ? NULL : own_copy(reader, 3);
        figures->notes = own_copy(reader, 4);
        figures->unnamed_absent_count = (int)query_integer(query, 5, 0, INT32_MAX);
        figures->damaged_line_count = (int)query_integer(query, 6, 0, INT32_MAX);
        figures->ended = query_integer(query, 7, 0, 1) == 1;
        figures->source = arena_format(&figures->arena, "%s: run %s", history->path, run->run_id);
        reader->failed = reader->failed || figures->source == NULL;
    }
    enum status_code code = reader_finish(reader, error);
    return code == STATUS_OK && !is_there ? history_damaged(history, "a run is gone", error) : code;
}

enum status_code history_figures(struct history *history, const struct history_run *run, struct run_figures *figures,
                                 struct status *error)
{
    *figures = (struct run_figures){0};
    struct figures_reader reader = {.figures = figures};
    enum status_code code = head_read(history, run, &reader, error);
    if (code == STATUS_OK) {
        code = environment_fill(history, run->number, &figures->arena, figures->environment, error);
    }
    if (code == STATUS_OK) {
        code = cases_read(history, run->number, &reader, error);
    }
    if (code == STATUS_OK) {
        code = absent_read(history, run->number, &reader, error);
    }
    if (code == STATUS_OK) {
        code = parts_read(history, run->number, &reader, error);
    }
    name_table_release(&reader.words);
    return code;
}
