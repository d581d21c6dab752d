/* History page: the runs in a table, and one of them as a page of its own. */
#include "harness/history/history_page.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/json_document.h"
#include "harness/history/standing_words.h"
#include "harness/report/page_format.h"

enum { RUN_ID_COLUMNS = 8 };

struct runs_subject {
    const char *path;
    const struct history_runs *runs;
};

/* ---- the list ---- */

static const char *shortened(struct page *page, const char *text, int length)
{
    struct text words = {0};
    text_format(&words, "%.*s", length, text);
    return page_word_move(page, &words);
}

/* "2026-11-20 02:00". */
static const char *minute_word(struct page *page, const char *started)
{
    struct text words = {0};
    text_format(&words, "%.10s%s%.5s", started, strlen(started) > 15 ? " " : "",
                strlen(started) > 15 ? started + 11 : "");
    return page_word_move(page, &words);
}

/* "45 ok", "43 ok, 2 fail, 1 missing, interrupted". */
static const char *state_word(struct page *page, const struct history_run *run)
{
    struct text words = {0};
    const struct {
        int count;
        const char *word;
    } parts[] = {{run->fail_count, "fail"},
                 {run->other_count, "not measured"},
                 {run->skip_count, "skipped"},
                 {run->open_count, "open"},
                 {run->absent_count, "missing"}};
    text_format(&words, "%d ok", run->ok_count - run->open_count);
    for (size_t at = 0; at < sizeof parts / sizeof parts[0]; at++) {
        if (parts[at].count > 0) {
            text_format(&words, ", %d %s", parts[at].count, parts[at].word);
        }
    }
    text_append(&words, run->ended ? "" : ", did not end");
    return page_word_move(page, &words);
}

/* "45 ok on cuda (NVIDIA H200)": a terminal has no room for another column. */
static const char *place_word(struct page *page, const struct history_run *run)
{
    const char *device = run->environment[ENVIRONMENT_DEVICE];
    struct text words = {0};
    text_format(&words, "%s%s%s", state_word(page, run), device != NULL ? " on " : "", device != NULL ? device : "");
    return page_word_move(page, &words);
}

static struct cell known_word(const char *word)
{
    return word != NULL && word[0] != '\0' ? cell_word(word) : (struct cell){0};
}

static void runs_describe(const void *subject, struct page *page)
{
    static const struct page_column columns[] = {
        {.title = "started", .kind = CELL_WORD, .width = 16},
        {.title = "run", .kind = CELL_WORD, .lead = 2, .width = RUN_ID_COLUMNS},
        {.title = "suite", .kind = CELL_WORD, .lead = 2, .width = 12, .width_most = 24},
        {.title = "revision", .kind = CELL_WORD, .lead = 2, .width = 10, .is_optional = true},
        {.title = "cases", .kind = CELL_WORD, .media = MEDIA_READ},
        {.title = "device", .kind = CELL_WORD, .media = MEDIA_READ},
        {.title = "driver", .kind = CELL_WORD, .media = MEDIA_READ},
        {.title = "cases", .kind = CELL_WORD, .media = MEDIUM_TERMINAL, .lead = 2, .width = WIDTH_REST},
    };
    const struct runs_subject *all = subject;
    page_say(page, BLOCK_TITLE, MEDIA_READ, "Runs of a history");
    page_say(page, BLOCK_LEAD, MEDIUM_ALL, "%s: %d run%s", all->path, all->runs->count,
             all->runs->count == 1 ? "" : "s");
    struct page_table *table = page_table_add(page, MEDIUM_ALL, columns, 8);
    for (int at = 0; at < all->runs->count; at++) {
        const struct history_run *run = &all->runs->runs[at];
        const char *const *environment = run->environment;
        const struct cell cells[] = {
            cell_word(minute_word(page, run->started)),
            cell_word(shortened(page, run->run_id, RUN_ID_COLUMNS)),
            known_word(environment[ENVIRONMENT_SUITE]),
            known_word(environment[ENVIRONMENT_REVISION]),
            cell_word(state_word(page, run)),
            known_word(environment[ENVIRONMENT_DEVICE]),
            known_word(environment[ENVIRONMENT_DRIVER]),
            cell_word(place_word(page, run)),
        };
        page_row_add(page, table, cells);
    }
}

static bool environment_set(struct json *value, const char *const environment[ENVIRONMENT_COUNT])
{
    bool made = true;
    for (int property = 0; property < ENVIRONMENT_COUNT && made; property++) {
        made = json_set(value, environment_key((enum environment)property), json_text_or_null(environment[property]));
    }
    return made;
}

static struct json *run_value(const struct history_run *run)
{
    struct json *value = json_object_new();
    bool made = json_set(value, "run_id", json_string_new(run->run_id)) &&
                json_set(value, "started", json_string_new(run->started)) &&
                json_set(value, "source", json_string_new(run->source)) && environment_set(value, run->environment) &&
                json_set(value, "cases", json_integer_new(run->case_count)) &&
                json_set(value, "ok", json_integer_new(run->ok_count)) &&
                json_set(value, "fail", json_integer_new(run->fail_count)) &&
                json_set(value, "skip", json_integer_new(run->skip_count)) &&
                json_set(value, "other", json_integer_new(run->other_count)) &&
                json_set(value, "open", json_integer_new(run->open_count)) &&
                json_set(value, "missing", json_integer_new(run->absent_count)) &&
                json_set(value, "ended", json_boolean_new(run->ended));
    return json_made(value, made);
}

static struct json *runs_value(const void *subject)
{
    const struct runs_subject *all = subject;
    struct json *value = json_object_new(), *runs = json_array_new();
    bool made = runs != NULL;
    for (int at = 0; at < all->runs->count && made; at++) {
        made = json_append(runs, run_value(&all->runs->runs[at]));
    }
    made = json_set(value, "history", json_string_new(all->path)) && json_set(value, "runs", runs) && made;
    return json_made(value, made);
}

static const struct page_kind runs_kind = {
    .name = "a list of runs",
    .what = "the runs of a history",
    .describe = runs_describe,
    .value = runs_value,
};

enum status_code history_format_parse(const char *name, enum report_format *format, struct status *error)
{
    return page_format_parse(&runs_kind, name, format, error);
}

enum status_code history_runs_render(const char *path, const struct history_runs *runs, enum report_format format,
                                     const struct report_style *style, struct text *text, struct status *error)
{
    const struct runs_subject subject = {path, runs};
    return page_render(&runs_kind, &subject, format, style, text, error);
}

/* ---- one run ---- */

static void facts_describe(struct page *page, const struct run_figures *figures)
{
    static const struct page_column columns[] = {
        {.title = "", .kind = CELL_WORD, .width = 19},
        {.title = "", .kind = CELL_WORD, .lead = 1, .width = WIDTH_REST},
    };
    struct page_table *table = page_table_add(page, MEDIUM_ALL, columns, 2);
    table->has_no_heading = true;
    table->indent = 2;
    page_row_add(page, table, (const struct cell[]){cell_word("started"), cell_word(figures->started)});
    for (int property = 0; property < ENVIRONMENT_COUNT; property++) {
        const char *value = figures->environment[property];
        if (value != NULL && value[0] != '\0') {
            page_row_add(
                page, table,
                (const struct cell[]){cell_word(environment_words((enum environment)property)), cell_word(value)});
        }
    }
    if (figures->absent_cause != NULL) {
        page_row_add(page, table, (const struct cell[]){cell_word("not whole"), cell_word(figures->absent_cause)});
    }
}

static struct cell bytes_or_unknown(int64_t bytes)
{
    return bytes >= 0 ? cell_bytes(bytes) : (struct cell){0};
}

static void cases_describe(struct page *page, const struct run_figures *figures)
{
    enum { COLUMNS = LEVEL_COUNT + 2 };
    struct page_column columns[COLUMNS] = {{.title = "", .kind = CELL_WORD, .width = 7}};
    for (int level = 0; level < LEVEL_COUNT; level++) {
        columns[1 + level] = (struct page_column){.title = level_name((enum level)level),
                                                  .kind = CELL_BYTES,
                                                  .width = 13,
                                                  .media = level == LEVEL_REQUESTED ? MEDIA_READ : MEDIUM_ALL};
    }
    columns[COLUMNS - 1] =
        (struct page_column){.title = "case", .short_title = "case", .kind = CELL_WORD, .width = WIDTH_BELOW};
    struct page_table *table = page_table_add(page, MEDIUM_ALL, columns, COLUMNS);
    for (int at = 0; at < figures->case_count; at++) {
        const struct case_figures *one = &figures->cases[at];
        struct cell cells[COLUMNS];
        cells[0] = cell_word(one->standing == STANDING_OPEN ? standing_word(STANDING_OPEN) : one->status);
        for (int level = 0; level < LEVEL_COUNT; level++) {
            cells[1 + level] = bytes_or_unknown(one->measured.of[level]);
        }
        cells[COLUMNS - 1] = cell_word(one->label);
        page_row_add(page, table, cells);
    }
    for (int at = 0; at < figures->absent_count; at++) {
        page_say(page, BLOCK_ITEM, MEDIUM_ALL, "missing: %s", figures->absent[at].id);
    }
}

static void run_describe(const void *subject, struct page *page)
{
    const struct run_figures *figures = subject;
    page_say(page, BLOCK_TITLE, MEDIA_READ, "Run %s", figures->run_id);
    page_line(page, 0, "run %s", figures->run_id);
    facts_describe(page, figures);
    page_gap(page);
    page_link_heading(page, MEDIA_READ, "cases", "Cases");
    cases_describe(page, figures);
}

static bool levels_set(struct json *value, const char *key, const struct level_bytes *levels)
{
    struct json *object = json_object_new();
    bool made = object != NULL;
    for (int level = 0; level < LEVEL_COUNT && made; level++) {
        made = json_set(object, level_name((enum level)level),
                        levels->of[level] >= 0 ? json_integer_new(levels->of[level]) : json_null_new());
    }
    return json_set(value, key, object) && made;
}

static struct json *case_value(const struct case_figures *one)
{
    struct json *value = json_object_new();
    bool made =
        json_set(value, "id", json_string_new(one->id)) && json_set(value, "label", json_string_new(one->label)) &&
        json_set(value, "status", json_string_new(one->status)) &&
        json_set(value, "standing", json_string_new(standing_word(one->standing))) &&
        json_set(value, "reason", json_string_new(one->reason)) &&
        json_set(value, "machine", json_string_new(one->machine)) &&
        json_set(value, "invalid", json_boolean_new(one->invalid)) && levels_set(value, "measured", &one->measured) &&
        levels_set(value, "predicted", &one->predicted) && levels_set(value, "spread", &one->spread);
    return json_made(value, made);
}

static struct json *figures_value(const void *subject)
{
    const struct run_figures *figures = subject;
    struct json *value = json_object_new(), *cases = json_array_new(), *missing = json_array_new();
    bool made = cases != NULL && missing != NULL;
    for (int at = 0; at < figures->case_count && made; at++) {
        made = json_append(cases, case_value(&figures->cases[at]));
    }
    for (int at = 0; at < figures->absent_count && made; at++) {
        made = json_append(missing, json_string_new(figures->absent[at].id));
    }
    made = json_set(value, "run_id", json_string_new(figures->run_id)) &&
           json_set(value, "started", json_string_new(figures->started)) &&
           environment_set(value, figures->environment) && json_set(value, "ended", json_boolean_new(figures->ended)) &&
           json_set(value, "cases", cases) && json_set(value, "missing", missing) && made;
    return json_made(value, made);
}

static const struct page_kind run_kind = {
    .name = "a run",
    .what = "the figures of a run",
    .describe = run_describe,
    .value = figures_value,
};

enum status_code history_run_render(const struct run_figures *figures, enum report_format format,
                                    const struct report_style *style, struct text *text, struct status *error)
{
    return page_render(&run_kind, figures, format, style, text, error);
}
