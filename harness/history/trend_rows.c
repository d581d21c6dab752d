/* Trend rows: each night's figures are read once, by numbers; words are looked up once for each case, not for each
 * night. */
#include "harness/history/trend_rows.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/name_table.h"
#include "harness/history/history_inside.h"

/* More than any history has, and a table of them still fits. */
enum { SUBJECTS_MOST = 1 << 24 };

/* A case as the file knows it. */
struct subject {
    const char *id, *label, *machine; /* NULL: there is none of this number, or it is not asked for */
    int series;                       /* of the suite that is being read, in its group; -1: not looked for yet */
    int group;
    int suite; /* for which series and group hold */
};

struct group_room {
    size_t nights, series;
    size_t *points; /* of each series */
    size_t points_room;
};

struct rows_reader {
    struct history *history;
    struct trend *trend;
    struct arena arena; /* of what is not kept */
    struct subject *subjects;
    int64_t subject_count;
    bool *usable, *undisturbed; /* by number of the circumstance: it was measured; nothing disturbed it */
    int64_t circumstance_count;
    struct name_table suites, groups, series; /* keys */
    int *series_places;                       /* by number of its key: in its group */
    struct group_room *rooms;
    size_t group_room, rooms_room, places_room;
    bool failed;
};

/* ---- what the numbers stand for ---- */

static int64_t number_most(struct history *history, const char *sql, struct status *error, enum status_code *code)
{
    struct query query = query_make(history, sql);
    const int64_t most = query_row(&query) ? query_integer(&query, 0, 0, SUBJECTS_MOST) : 0;
    *code = query_finish(&query, error);
    return most;
}

/* One tag of a list that a newline parts, or the id or label, matches. */
static bool subject_is_wanted(const char *pattern, const char *id, const char *label, const char *tags)
{
    const struct case_figures one = {.id = id, .tags = tags};
    return pattern == NULL || case_figures_match(&one, pattern) || fnmatch(pattern, label, 0) == 0;
}

static enum status_code subjects_read(struct rows_reader *reader, struct status *error)
{
    enum status_code code;
    reader->subject_count =
        1 + number_most(reader->history, "SELECT coalesce(max(number), 0) FROM subject", error, &code);
    reader->subjects = calloc((size_t)reader->subject_count, sizeof *reader->subjects);
    reader->failed = reader->failed || reader->subjects == NULL;
    if (code != STATUS_OK || reader->failed) {
        return code;
    }
    struct query query =
        query_make(reader->history, "SELECT u.number, i.word, l.word, m.word, t.word FROM subject u "
                                    "JOIN word i ON i.number = u.id JOIN word l ON l.number = u.label "
                                    "JOIN word m ON m.number = u.machine JOIN word t ON t.number = u.tags");
    while (!reader->failed && query_row(&query)) {
        struct subject *subject = &reader->subjects[query_integer(&query, 0, 0, reader->subject_count - 1)];
        *subject = (struct subject){.suite = -1};
        if (subject_is_wanted(reader->trend->request.pattern, query_text(&query, 1), query_text(&query, 2),
                              query_text(&query, 4))) {
            subject->id = arena_copy(&reader->trend->arena, query_text(&query, 1));
            subject->label = arena_copy(&reader->trend->arena, query_text(&query, 2));
            subject->machine = arena_copy(&reader->trend->arena, query_text(&query, 3));
            reader->failed = subject->id == NULL || subject->label == NULL || subject->machine == NULL;
        }
    }
    return query_finish(&query, error);
}

static enum status_code circumstances_read(struct rows_reader *reader, struct status *error)
{
    enum status_code code;
    reader->circumstance_count =
        1 + number_most(reader->history, "SELECT coalesce(max(number), 0) FROM circumstance", error, &code);
    reader->usable = calloc((size_t)reader->circumstance_count, sizeof *reader->usable);
    reader->undisturbed = calloc((size_t)reader->circumstance_count, sizeof *reader->undisturbed);
    reader->failed = reader->failed || reader->usable == NULL || reader->undisturbed == NULL;
    if (code != STATUS_OK || reader->failed) {
        return code;
    }
    struct query query = query_make(reader->history, "SELECT c.number, w.word, c.invalid FROM circumstance c "
                                                     "JOIN word w ON w.number = c.status");
    while (query_row(&query)) {
        const int64_t number = query_integer(&query, 0, 0, reader->circumstance_count - 1);
        const struct case_figures one = {.status = query_text(&query, 1)};
        reader->usable[number] = case_figures_measured(&one);
        reader->undisturbed[number] = query_integer(&query, 2, 0, 1) == 0;
    }
    return query_finish(&query, error);
}

/* ---- groups and series ---- */

/* The number of a key of several parts; -1: no memory. */
static int key_number(struct rows_reader *reader, struct name_table *table, const char *first, const char *second,
                      const char *third)
{
    const char *key = arena_format(&reader->arena, "%s\x1f%s\x1f%s", first, second, third);
    const int number = key != NULL ? name_table_add(table, &reader->arena, key) : -1;
    reader->failed = reader->failed || number < 0;
    return number;
}

/* "cuda (NVIDIA H200)" of "cuda|NVIDIA H200|sm_90|0". */
static const char *device_words(struct arena *arena, const char *machine)
{
    const int kind = (int)strcspn(machine, "|");
    const char *name = machine + kind + (machine[kind] == '|' ? 1 : 0);
    const int length = (int)strcspn(name, "|");
    return length > 0 ? arena_format(arena, "%.*s (%.*s)", kind, machine, length, name)
                      : arena_format(arena, "%.*s", kind, machine);
}

static int group_find(struct rows_reader *reader, const char *suite, const char *machine)
{
    struct trend *trend = reader->trend;
    const int number = key_number(reader, &reader->groups, suite, machine, "");
    if (number < 0 || number < trend->group_count) {
        return number;
    }
    struct trend_group *groups = arena_array_extend(&trend->arena, trend->groups, (size_t)trend->group_count,
                                                    &reader->group_room, sizeof *groups);
    struct group_room *rooms = arena_array_extend(&reader->arena, reader->rooms, (size_t)trend->group_count,
                                                  &reader->rooms_room, sizeof *rooms);
    const char *device = device_words(&trend->arena, machine);
    if (groups == NULL || rooms == NULL || device == NULL) {
        reader->failed = true;
        return -1;
    }
    trend->groups = groups;
    reader->rooms = rooms;
    rooms[number] = (struct group_room){0};
    groups[number] = (struct trend_group){.suite = suite, .machine = machine, .device = device};
    trend->group_count++;
    return number;
}

/* The night of a group that a run is: its last, or a new one. */
static int night_find(struct rows_reader *reader, int number, const struct history_run *run)
{
    struct trend_group *group = &reader->trend->groups[number];
    if (group->night_count == 0 || group->nights[group->night_count - 1].number != run->number) {
        struct history_run *nights =
            arena_array_extend(&reader->trend->arena, group->nights, (size_t)group->night_count,
                               &reader->rooms[number].nights, sizeof *nights);
        if (nights == NULL) {
            reader->failed = true;
            return -1;
        }
        group->nights = nights;
        nights[group->night_count++] = *run;
    }
    return group->night_count - 1;
}

static int series_add(struct rows_reader *reader, int group_number, const struct subject *subject)
{
    struct trend_group *group = &reader->trend->groups[group_number];
    struct group_room *room = &reader->rooms[group_number];
    struct arena *arena = &reader->trend->arena;
    struct trend_series *series =
        arena_array_extend(arena, group->series, (size_t)group->series_count, &room->series, sizeof *series);
    size_t *points = arena_array_extend(&reader->arena, room->points, (size_t)group->series_count, &room->points_room,
                                        sizeof *points);
    if (series == NULL || points == NULL) {
        reader->failed = true;
        return -1;
    }
    group->series = series;
    room->points = points;
    points[group->series_count] = 0;
    series[group->series_count] = (struct trend_series){.id = subject->id, .label = subject->label};
    return group->series_count++;
}

/* Where the figures of a subject go in this suite. Two subjects may be of one series: their tags or labels differ. */
static void subject_settle(struct rows_reader *reader, struct subject *subject, int suite, const char *suite_name)
{
    subject->suite = suite;
    subject->group = group_find(reader, suite_name, subject->machine);
    if (subject->group < 0) {
        return;
    }
    const size_t known = reader->series.count;
    const char *group = arena_format(&reader->arena, "%d", subject->group);
    const int number = group != NULL ? key_number(reader, &reader->series, group, subject->id, "") : -1;
    reader->failed = reader->failed || number < 0;
    int *places =
        arena_array_extend(&reader->arena, reader->series_places, known, &reader->places_room, sizeof *places);
    reader->failed = reader->failed || places == NULL;
    if (reader->failed) {
        return;
    }
    reader->series_places = places;
    if ((size_t)number == known) {
        places[number] = series_add(reader, subject->group, subject);
    }
    subject->series = places[number];
}

/* ---- figures ---- */

static void point_add(struct rows_reader *reader, const struct subject *subject, int night, struct query *query)
{
    struct trend_group *group = &reader->trend->groups[subject->group];
    struct trend_series *series = &group->series[subject->series];
    const int64_t circumstance = query_integer(query, 1, 0, reader->circumstance_count - 1);
    if (!reader->usable[circumstance] || night < 0) {
        return;
    }
    struct trend_point *points =
        arena_array_extend(&reader->trend->arena, series->points, (size_t)series->count,
                           &reader->rooms[subject->group].points[subject->series], sizeof *points);
    if (points == NULL) {
        reader->failed = true;
        return;
    }
    series->points = points;
    struct trend_point *point = &points[series->count++];
    point->night = night;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        const bool counts = reader->undisturbed[circumstance] || !level_is_reading((enum level)level);
        point->bytes[level] = counts ? query_bytes(query, 2 + level) : FIGURE_BYTES_UNKNOWN;
    }
}

static enum status_code night_read(struct rows_reader *reader, const struct history_run *run, struct status *error)
{
    const char *suite_name = run->environment[ENVIRONMENT_SUITE];
    suite_name = suite_name != NULL ? suite_name : "";
    const int suite = key_number(reader, &reader->suites, suite_name, "", "");
    struct query query =
        query_make(reader->history, "SELECT subject, circumstance, measured_requested, measured_allocated, "
                                    "measured_reserved, measured_device, measured_process FROM figure WHERE run = ?");
    query_bind_integer(&query, 1, run->number);
    while (!reader->failed && query_row(&query)) {
        struct subject *subject = &reader->subjects[query_integer(&query, 0, 0, reader->subject_count - 1)];
        if (subject->id == NULL) {
            continue;
        }
        if (subject->suite != suite) {
            subject_settle(reader, subject, suite, suite_name);
        }
        if (!reader->failed) {
            point_add(reader, subject, night_find(reader, subject->group, run), &query);
        }
    }
    return query_finish(&query, error);
}

/* Of each suite and device the newest nights; *kept are those, the oldest first. */
static int nights_choose(struct rows_reader *reader, const struct history_runs *runs, const struct history_run **kept)
{
    struct name_table pairs = {0};
    int *counts = calloc((size_t)runs->count + 1, sizeof *counts), count = 0;
    reader->failed = reader->failed || counts == NULL;
    for (int at = 0; at < runs->count && !reader->failed; at++) {
        const char *const *environment = runs->runs[at].environment;
        const char *suite = environment[ENVIRONMENT_SUITE], *device = environment[ENVIRONMENT_DEVICE];
        const int pair = key_number(reader, &pairs, suite != NULL ? suite : "", device != NULL ? device : "", "");
        if (pair >= 0 && counts[pair]++ < reader->trend->request.nights) {
            kept[count++] = &runs->runs[at];
        }
    }
    for (int at = 0; at < count / 2; at++) {
        const struct history_run *swapped = kept[at];
        kept[at] = kept[count - 1 - at];
        kept[count - 1 - at] = swapped;
    }
    name_table_release(&pairs);
    free(counts);
    return count;
}

static enum status_code nights_read(struct rows_reader *reader, struct status *error)
{
    struct trend *trend = reader->trend;
    struct history_filter filter = trend->request.filter;
    struct history_runs runs;
    filter.without_counts = true;
    enum status_code code = history_runs_list(reader->history, &filter, &trend->arena, &runs, error);
    if (code != STATUS_OK) {
        return code;
    }
    const struct history_run **kept = arena_alloc(&reader->arena, (size_t)runs.count * sizeof *kept);
    reader->failed = reader->failed || kept == NULL;
    const int count = reader->failed ? 0 : nights_choose(reader, &runs, kept);
    for (int at = 0; at < count && code == STATUS_OK && !reader->failed; at++) {
        code = night_read(reader, kept[at], error);
    }
    return code;
}

static int series_order(const void *left, const void *right)
{
    return strcmp(((const struct trend_series *)left)->id, ((const struct trend_series *)right)->id);
}

static int group_order(const void *left, const void *right)
{
    const struct trend_group *a = left, *b = right;
    const int suites = strcmp(a->suite, b->suite);
    return suites != 0 ? suites : strcmp(a->machine, b->machine);
}

static void groups_order(struct trend *trend)
{
    if (trend->group_count > 1) {
        qsort(trend->groups, (size_t)trend->group_count, sizeof *trend->groups, group_order);
    }
    for (int at = 0; at < trend->group_count; at++) {
        qsort(trend->groups[at].series, (size_t)trend->groups[at].series_count, sizeof *trend->groups[at].series,
              series_order);
    }
}

enum status_code trend_rows_read(struct history *history, struct trend *trend, struct status *error)
{
    struct rows_reader reader = {.history = history, .trend = trend};
    enum status_code code = subjects_read(&reader, error);
    if (code == STATUS_OK && !reader.failed) {
        code = circumstances_read(&reader, error);
    }
    if (code == STATUS_OK && !reader.failed) {
        code = nights_read(&reader, error);
    }
    if (code == STATUS_OK && reader.failed) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the series of a history");
    }
    if (code == STATUS_OK) {
        groups_order(trend);
    }
    free(reader.subjects);
    free(reader.usable);
    free(reader.undisturbed);
    name_table_release(&reader.suites);
    name_table_release(&reader.groups);
    name_table_release(&reader.series);
    arena_release(&reader.arena);
    return code;
}
