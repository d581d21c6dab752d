/* History same: a run that is there already, and what the records say else. Writes nothing. */
#include "harness/history/history_same.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/hash.h"

/* ---- what a run comes to ---- */

static uint64_t hash_integer(uint64_t hash, int64_t value)
{
    unsigned char bytes[8];
    for (int at = 0; at < 8; at++) {
        bytes[at] = (unsigned char)((uint64_t)value >> (8 * at));
    }
    return hash_bytes(hash, bytes, sizeof bytes);
}

/* With its end, so that "ab", "c" is not "a", "bc". */
static uint64_t hash_word(uint64_t hash, const char *word)
{
    return hash_integer(hash_text(hash, word != NULL ? word : ""), word != NULL ? 1 : 0);
}

static uint64_t hash_case(uint64_t hash, const struct case_figures *one)
{
    const char *const words[] = {one->id,      one->label, one->status,     one->reason,
                                 one->machine, one->tags,  one->disturbance};
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++) {
        hash = hash_word(hash, words[at]);
    }
    hash = hash_integer(hash, (int64_t)one->standing);
    hash = hash_integer(hash, one->invalid ? 1 : 0);
    hash = hash_integer(hash, one->made_count);
    hash = hash_integer(hash, one->wanted_count);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        hash = hash_integer(hash, one->measured.of[level]);
        hash = hash_integer(hash, one->predicted.of[level]);
        hash = hash_integer(hash, one->spread.of[level]);
    }
    return hash;
}

/* Of all that the file keeps of a run but where it came from. */
int64_t figures_digest(const struct run_figures *figures)
{
    uint64_t hash = hash_word(HASH_START, figures->run_id);
    hash = hash_word(hash, figures->started);
    hash = hash_word(hash, figures->suite_path);
    hash = hash_word(hash, figures->absent_cause);
    hash = hash_word(hash, figures->notes);
    hash = hash_integer(hash, figures->unnamed_absent_count);
    hash = hash_integer(hash, figures->damaged_line_count);
    hash = hash_integer(hash, figures->ended ? 1 : 0);
    for (int property = 0; property < ENVIRONMENT_COUNT; property++) {
        hash = hash_word(hash, figures->environment[property]);
    }
    for (int at = 0; at < figures->case_count; at++) {
        hash = hash_case(hash, &figures->cases[at]);
    }
    for (int at = 0; at < figures->absent_count; at++) {
        hash = hash_integer(hash_word(hash, figures->absent[at].id), figures->absent[at].wanted_count);
    }
    if (figures->parts != NULL && figures->parts[0] != '\0') {
        hash = hash_word(hash, figures->parts);
    }
    return (int64_t)hash;
}

int64_t figures_attempts(const struct run_figures *figures)
{
    int64_t count = 0;
    for (int at = 0; at < figures->case_count; at++) {
        count += figures->cases[at].made_count;
    }
    return count;
}

bool run_ids_make(const struct run_figures *figures, struct arena *arena, struct run_ids *ids)
{
    const char *parts = figures->parts != NULL ? figures->parts : "";
    size_t most = 2;
    for (const char *at = parts; *at != '\0'; at++) {
        most += *at == '\n' ? 1 : 0;
    }
    *ids = (struct run_ids){.ids = arena_alloc(arena, most * sizeof *ids->ids)};
    char *copy = arena_copy(arena, parts), *rest = NULL;
    if (ids->ids == NULL || copy == NULL) {
        return false;
    }
    ids->ids[ids->count++] = figures->run_id;
    for (char *id = strtok_r(copy, "\n", &rest); id != NULL; id = strtok_r(NULL, "\n", &rest)) {
        ids->ids[ids->count++] = id;
    }
    return true;
}

/* ---- which runs ---- */

static bool is_among(const struct same_runs *same, int64_t number)
{
    bool found = false;
    for (int at = 0; at < same->count; at++) {
        found = found || same->runs[at].run.number == number;
    }
    return found;
}

static bool same_add(struct same_runs *same, struct query *query, size_t *room)
{
    const int64_t number = query_integer(query, 0, 1, INT64_MAX);
    if (is_among(same, number)) {
        return true;
    }
    struct same_run *runs = arena_array_extend(&same->arena, same->runs, (size_t)same->count, room, sizeof *same->runs);
    const char *run_id = arena_copy(&same->arena, query_text(query, 1));
    if (runs == NULL || run_id == NULL) {
        return false;
    }
    same->runs = runs;
    runs[same->count++] = (struct same_run){.run = {.number = number, .run_id = run_id},
                                            .digest = query_integer(query, 2, INT64_MIN, INT64_MAX),
                                            .attempts = query_integer(query, 3, 0, INT64_MAX),
                                            .ended = query_integer(query, 4, 0, 1) == 1,
                                            .part_count = query_integer(query, 5, 0, INT64_MAX)};
    return true;
}

enum status_code same_runs_find(struct history *history, const struct run_figures *figures, struct same_runs *same,
                                struct status *error)
{
    bool made = run_ids_make(figures, &same->arena, &same->ids);
    struct query query =
        query_make(history, "SELECT number, run_id, digest, attempts, ended, (SELECT count(*) FROM part WHERE run = "
                            "number) FROM run WHERE run_id = ?1 OR number IN (SELECT run FROM part WHERE run_id = ?1)");
    size_t room = 0;
    for (int at = 0; made && at < same->ids.count; at++) {
        query_bind_text(&query, 1, same->ids.ids[at]);
        while (made && query_row(&query)) {
            made = same_add(same, &query, &room);
        }
        query_again(&query);
    }
    enum status_code code = query_finish(&query, made ? error : NULL);
    return made ? code
                : status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for the runs of the history", history->path);
}

/* ---- what has changed ---- */

/* The first finished case that says something else now, and how many do. */
struct alteration {
    const struct case_figures *before, *now; /* now: NULL: it is gone */
    int level;                               /* LEVEL_COUNT: its status */
    int count;
};

static bool is_finished(const struct case_figures *one)
{
    return case_figures_measured(one) && one->made_count >= one->wanted_count;
}

/* LEVEL_COUNT: the status; -1: nothing. What was not known before may be read now. */
static int change_find(const struct case_figures *before, const struct case_figures *now)
{
    if (strcmp(before->status, now->status) != 0) {
        return LEVEL_COUNT;
    }
    for (int level = 0; level < LEVEL_COUNT; level++) {
        const int64_t bytes = before->measured.of[level];
        if (bytes != FIGURE_BYTES_UNKNOWN && bytes != now->measured.of[level]) {
            return level;
        }
    }
    return -1;
}

static void alteration_find(const struct run_figures *before, const struct run_figures *now,
                            struct alteration *alteration)
{
    const bool is_shorter = figures_attempts(now) < figures_attempts(before);
    for (int at = 0; at < before->case_count; at++) {
        const struct case_figures *one = &before->cases[at], *other = run_figures_find(now, one->id);
        const int level = other == NULL ? (is_shorter ? -1 : LEVEL_COUNT) : change_find(one, other);
        if (is_finished(one) && level >= 0) {
            if (alteration->count++ == 0) {
                alteration->before = one;
                alteration->now = other;
                alteration->level = level;
            }
        }
    }
}

static void alteration_append(struct text *text, const struct alteration *alteration)
{
    const struct case_figures *before = alteration->before, *now = alteration->now;
    const int level = alteration->level;
    text_append(text, before->id);
    if (now == NULL) {
        text_format(text, " was %s, and is not in them", before->status);
    } else if (level == LEVEL_COUNT) {
        text_format(text, " was %s, and is %s in them", before->status, now->status);
    } else if (now->measured.of[level] == FIGURE_BYTES_UNKNOWN) {
        text_format(text, " has no %s in them", level_peak_name((enum level)level));
    } else {
        text_format(text, ": %s %" PRId64 " bytes, and %" PRId64 " in them", level_peak_name((enum level)level),
                    before->measured.of[level], now->measured.of[level]);
    }
    if (alteration->count > 1) {
        text_format(text, "; so have %d more cases changed", alteration->count - 1);
    }
}

static enum status_code alteration_refuse(const struct history *history, const struct run_figures *figures,
                                          const struct same_run *same, const struct alteration *alteration,
                                          struct status *error)
{
    struct text words = {0};
    alteration_append(&words, alteration);
    enum status_code code = status_set(
        error, STATUS_INVALID,
        "%s: the history %s has run %.40s, and these records say something else of it: %s. Nothing of it was changed; "
        "if the records are right, import them with --replace",
        figures->source, history->path, same->run.run_id, text_string(&words));
    text_release(&words);
    return code;
}

enum status_code same_runs_guard(struct history *history, const struct same_runs *same,
                                 const struct run_figures *figures, struct status *error)
{
    const int64_t digest = same->count > 0 ? figures_digest(figures) : 0;
    enum status_code code = STATUS_OK;
    for (int at = 0; at < same->count && code == STATUS_OK; at++) {
        struct run_figures before = {0};
        struct alteration alteration = {0};
        if (same->runs[at].digest == digest) {
            continue;
        }
        code = history_figures(history, &same->runs[at].run, &before, error);
        if (code == STATUS_OK) {
            alteration_find(&before, figures, &alteration);
            code = alteration.count == 0 ? STATUS_OK
                                         : alteration_refuse(history, figures, &same->runs[at], &alteration, error);
        }
        run_figures_release(&before);
    }
    return code;
}

/* ---- what is done ---- */

/* Whether the file has more of the run than the records: more attempts, its end, or more of its parts. */
static bool has_more(const struct same_run *same, const struct same_runs *all, const struct run_figures *figures)
{
    const int64_t attempts = figures_attempts(figures);
    return attempts != same->attempts      ? attempts < same->attempts
           : same->ended != figures->ended ? same->ended
                                           : same->part_count + 1 > all->ids.count;
}

enum import_outcome same_runs_outcome(const struct same_runs *same, const struct run_figures *figures,
                                      enum import_manner manner)
{
    bool is_kept = false;
    for (int at = 0; at < same->count; at++) {
        is_kept = is_kept || (manner == IMPORT_GUARDED && has_more(&same->runs[at], same, figures));
    }
    return same->count == 0                                                      ? IMPORT_ADDED
           : same->count == 1 && same->runs[0].digest == figures_digest(figures) ? IMPORT_PRESENT
           : is_kept                                                             ? IMPORT_KEPT
                                                                                 : IMPORT_RENEWED;
}
