/* Run figures: a report boiled down to what gates and histories need. Not a judgement, and not a writer. */
#include "harness/report/run_figures.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/name_table.h"
#include "harness/base/text.h"
#include "harness/report/case_view.h"
#include "harness/report/spread.h"

/* What is copied, and the words that many cases share. */
struct boiling {
    struct run_figures *figures;
    struct name_table words;
    bool failed; /* memory ran out */
};

/* Equal words are one string. */
static const char *word_keep(struct boiling *boiling, const char *word)
{
    const char *kept = name_table_keep(&boiling->words, &boiling->figures->arena, word != NULL ? word : "");
    boiling->failed = boiling->failed || kept == NULL;
    return kept;
}

static const char *text_keep(struct boiling *boiling, const char *text)
{
    const char *kept = arena_copy(&boiling->figures->arena, text);
    boiling->failed = boiling->failed || kept == NULL;
    return kept;
}

static struct level_bytes level_bytes_make(const int64_t bytes[LEVEL_COUNT])
{
    struct level_bytes made;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        made.of[level] = bytes[level] >= 0 ? bytes[level] : FIGURE_BYTES_UNKNOWN;
    }
    return made;
}

static struct level_bytes spread_bytes_make(const struct spread *spread)
{
    struct level_bytes made;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        bool repeated = spread->attempt_count > 1 && spread->stage_bytes != NULL;
        int64_t bytes = repeated ? spread_widest(spread, (enum level)level) : BYTES_UNKNOWN;
        made.of[level] = bytes >= 0 ? bytes : FIGURE_BYTES_UNKNOWN;
    }
    return made;
}

static int64_t attempt_count_of(const struct case_view *view)
{
    int64_t count = 1;
    for (const struct case_attempt *one = view->earlier; one != NULL; one = one->next) {
        count++;
    }
    return count;
}

static void case_take(struct boiling *boiling, const struct case_view *view)
{
    struct run_figures *figures = boiling->figures;
    int64_t count = attempt_count_of(view);
    figures->cases[figures->case_count++] = (struct case_figures){
        .id = text_keep(boiling, view->id),
        .label = text_keep(boiling, view->title),
        .status = word_keep(boiling, view->status),
        .reason = word_keep(boiling, view->reason),
        .machine = word_keep(boiling, view->machine),
        .tags = word_keep(boiling, view->tags),
        .suite_line = view->suite_line,
        .standing = view->standing,
        .invalid = view->invalid,
        .disturbance = word_keep(boiling, view->disturbance),
        .made_count = view->missing != NULL ? view->missing->made_count : count,
        .wanted_count = view->missing != NULL ? view->missing->wanted_count : count,
        .measured = level_bytes_make(view->measured.peak_bytes),
        .predicted = level_bytes_make(view->predicted.peak_bytes),
        .spread = spread_bytes_make(&view->spread),
        .judged = view->judged,
    };
}

static int case_order(const void *left, const void *right)
{
    return strcmp(((const struct case_figures *)left)->id, ((const struct case_figures *)right)->id);
}

static int absent_order(const void *left, const void *right)
{
    return strcmp(((const struct absent_case *)left)->id, ((const struct absent_case *)right)->id);
}

/* A case with figures of an earlier run alone is absent: the run that is told of did not come to it. */
static bool is_unmade(const struct case_view *view)
{
    return view->missing != NULL && view->missing->made_count == 0;
}

static void cases_take(struct boiling *boiling, const struct report *report)
{
    struct run_figures *figures = boiling->figures;
    figures->cases = arena_alloc(&figures->arena, (size_t)report->case_count * sizeof *figures->cases);
    figures->absent = arena_alloc(&figures->arena, (size_t)report->missing_count * sizeof *figures->absent);
    boiling->failed = boiling->failed || figures->cases == NULL || figures->absent == NULL;
    for (int index = 0; index < report->case_count && !boiling->failed; index++) {
        if (!is_unmade(&report->cases[index])) {
            case_take(boiling, &report->cases[index]);
        }
    }
    for (int index = 0; index < report->missing_count && !boiling->failed; index++) {
        const struct missing_case *one = &report->missing[index];
        if (one->made_count == 0) {
            figures->absent[figures->absent_count++] =
                (struct absent_case){.id = text_keep(boiling, one->id), .wanted_count = one->wanted_count};
        }
    }
    if (!boiling->failed) {
        qsort(figures->cases, (size_t)figures->case_count, sizeof *figures->cases, case_order);
        qsort(figures->absent, (size_t)figures->absent_count, sizeof *figures->absent, absent_order);
    }
}

/* The first line of the last run: one that was resumed behind another run has two of its own. */
static const struct json *run_beginning(const struct report *report, const char *run_id)
{
    const struct json *found = NULL;
    for (size_t at = 0; run_id[0] != '\0' && found == NULL && at < json_count(report->runs); at++) {
        const struct json *run = json_at(report->runs, at);
        found = strcmp(json_string_or(json_get(run, "run_id"), ""), run_id) == 0 ? run : NULL;
    }
    return found != NULL ? found : report_run(report);
}

static int text_order(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The run_ids of what a merge joined, sorted. */
static void parts_take(struct boiling *boiling, const struct json *run)
{
    const struct json *runs = json_get(json_get(run, "merged"), "runs");
    const size_t most = json_count(runs);
    const char **ids = most > 0 ? calloc(most, sizeof *ids) : NULL;
    struct text words = {0};
    size_t count = 0;
    boiling->failed = boiling->failed || (most > 0 && ids == NULL);
    for (size_t at = 0; ids != NULL && at < most; at++) {
        const char *id = json_string_or(json_get(json_at(runs, at), "run_id"), "");
        if (id[0] != '\0' && strchr(id, '\n') == NULL) {
            ids[count++] = id;
        }
    }
    if (count > 0) {
        qsort(ids, count, sizeof *ids, text_order);
    }
    for (size_t at = 0; at < count; at++) {
        if (at == 0 || strcmp(ids[at], ids[at - 1]) != 0) {
            text_format(&words, "%s%s", at > 0 ? "\n" : "", ids[at]);
        }
    }
    boiling->figures->parts = text_keep(boiling, text_string(&words));
    boiling->failed = boiling->failed || words.failed;
    text_release(&words);
    free(ids);
}

static void run_take(struct boiling *boiling, const struct report *report)
{
    struct run_figures *figures = boiling->figures;
    const struct json *run = report_run(report);
    figures->source = text_keep(boiling, report->source);
    figures->run_id = text_keep(boiling, json_string_or(json_get(run, "run_id"), ""));
    const struct json *beginning = boiling->failed ? run : run_beginning(report, figures->run_id);
    figures->started = text_keep(boiling, json_string_or(json_get(beginning, "started"), ""));
    parts_take(boiling, run);
    figures->suite_path = text_keep(boiling, json_string_or(json_get(json_get(run, "suite"), "path"), ""));
    figures->unnamed_absent_count = report->unnamed_missing_count;
    figures->absent_cause = report->missing_cause != NULL ? text_keep(boiling, report->missing_cause) : NULL;
    figures->damaged_line_count = report->damaged_line_count;
    figures->ended = report->ended;
    figures->notes = text_keep(boiling, report->notes != NULL ? report->notes : "");
    if (!boiling->failed) {
        boiling->failed = !environment_read(report, &figures->arena, figures->environment);
    }
}

/* *figures is overwritten. */
static enum status_code figures_make(const struct report *report, struct run_figures *figures, struct status *error)
{
    struct boiling boiling = {.figures = figures};
    *figures = (struct run_figures){0};
    run_take(&boiling, report);
    cases_take(&boiling, report);
    name_table_release(&boiling.words);
    return boiling.failed ? status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for its figures", report->source)
                          : STATUS_OK;
}

enum status_code run_figures_read(const char *path, struct run_figures *figures, struct status *error)
{
    struct report *report = NULL;
    *figures = (struct run_figures){0};
    enum status_code code = report_open_side(path, &report, error);
    if (code == STATUS_OK) {
        code = figures_make(report, figures, error);
        report_release(report);
    }
    return code;
}

static const char *run_member(const struct json *run, const char *name)
{
    return json_string_or(json_get(run, name), "");
}

/* The last of several runs of one suite counts; with a moment all runs do that began then or later. */
static bool is_wished(const struct report *report, const struct run_wish *wish, const struct case_view *view)
{
    const struct json *run = json_at(report->runs, (size_t)view->run), *last = report_run(report);
    if (wish->since != NULL) {
        return strcmp(run_member(run, "started"), wish->since) >= 0;
    }
    const bool same_suite =
        strcmp(run_member(json_get(run, "suite"), "name"), run_member(json_get(last, "suite"), "name")) == 0;
    return !same_suite || strcmp(run_member(run, "run_id"), run_member(last, "run_id")) == 0;
}

/* Takes the cases of other runs out of a report of which only figures are wanted, and says how many. */
static int cases_narrow(struct report *report, const struct run_wish *wish)
{
    const int all = report->case_count;
    report->case_count = 0;
    for (int index = 0; index < all; index++) {
        if (is_wished(report, wish, &report->cases[index])) {
            report->cases[report->case_count++] = report->cases[index];
        }
    }
    return all - report->case_count;
}

/* A note counts the cases that are left out, because whoever appends to a folder may have wanted them. */
static enum status_code left_out_note(struct run_figures *figures, int count, struct status *error)
{
    if (count == 0) {
        return STATUS_OK;
    }
    figures->notes =
        arena_format(&figures->arena, "%s%s%d case%s of earlier runs in this file %s left out", figures->notes,
                     figures->notes[0] != '\0' ? "; " : "", count, count == 1 ? "" : "s", count == 1 ? "is" : "are");
    return figures->notes != NULL ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a note");
}

/* The run_id that begins as wished, the last of them; NULL: none does. */
static const char *wished_id(const struct report *report, const char *beginning)
{
    const char *found = NULL;
    for (size_t at = 0; at < json_count(report->runs); at++) {
        const char *id = run_member(json_at(report->runs, at), "run_id");
        found = strncmp(id, beginning, strlen(beginning)) == 0 ? id : found;
    }
    return found;
}

/* Takes the place of *report with the run of it that is wished; *is_there false: it has none. */
static enum status_code run_choose(const char *path, const struct run_wish *wish, struct report **report,
                                   bool *is_there, struct status *error)
{
    const char *last = run_member(report_run(*report), "run_id");
    const char *found = wish->run_id != NULL ? wished_id(*report, wish->run_id) : last;
    struct report *chosen = NULL;
    *is_there = found != NULL;
    if (found == NULL || wish->run_id == NULL || json_count((*report)->runs) == 1) {
        return STATUS_OK;
    }
    enum status_code code = report_open_run(path, found, &chosen, error);
    if (code == STATUS_OK) {
        report_release(*report);
        *report = chosen;
    }
    return code;
}

enum status_code run_figures_read_wish(const char *path, const struct run_wish *wish, struct run_figures *figures,
                                       bool *is_there, struct status *error)
{
    struct report *report = NULL;
    *figures = (struct run_figures){0};
    enum status_code code = report_open_side(path, &report, error);
    if (code == STATUS_OK) {
        code = run_choose(path, wish, &report, is_there, error);
    }
    if (code == STATUS_OK) {
        const int left_out_count = cases_narrow(report, wish);
        code = figures_make(report, figures, error);
        code = code == STATUS_OK ? left_out_note(figures, left_out_count, error) : code;
    }
    if (code == STATUS_OK && wish->since != NULL) {
        *is_there = *is_there && strcmp(figures->started, wish->since) >= 0;
    }
    if (code == STATUS_OK && !*is_there) {
        figures->case_count = 0;
    }
    report_release(report);
    return code;
}

struct figures_visit {
    run_figures_visitor *visit;
    void *context;
};

static enum status_code report_visit(const struct report *report, void *context, struct status *error)
{
    const struct figures_visit *visit = context;
    struct run_figures figures;
    enum status_code code = figures_make(report, &figures, error);
    if (code == STATUS_OK) {
        code = visit->visit(&figures, visit->context, error);
    }
    run_figures_release(&figures);
    return code;
}

enum status_code run_figures_each(const char *path, run_figures_visitor *visit, void *context, struct status *error)
{
    struct figures_visit both = {visit, context};
    return report_each_run(path, report_visit, &both, error);
}

void run_figures_release(struct run_figures *figures)
{
    arena_release(&figures->arena);
    *figures = (struct run_figures){0};
}

/* Whether the id is that of the run, or of one of its parts. */
static bool run_is_known_by(const struct run_figures *figures, const char *id, size_t length)
{
    bool found = strlen(figures->run_id) == length && strncmp(figures->run_id, id, length) == 0;
    for (const char *part = figures->parts != NULL ? figures->parts : ""; !found && *part != '\0';) {
        const size_t part_length = strcspn(part, "\n");
        found = part_length == length && strncmp(part, id, length) == 0;
        part += part_length + (part[part_length] == '\n' ? 1 : 0);
    }
    return length > 0 && found;
}

bool run_figures_share(const struct run_figures *one, const struct run_figures *other)
{
    bool shares = run_is_known_by(other, one->run_id, strlen(one->run_id));
    for (const char *part = one->parts != NULL ? one->parts : ""; !shares && *part != '\0';) {
        const size_t length = strcspn(part, "\n");
        shares = run_is_known_by(other, part, length);
        part += length + (part[length] == '\n' ? 1 : 0);
    }
    return shares;
}

const struct case_figures *run_figures_find(const struct run_figures *figures, const char *id)
{
    const struct case_figures wanted = {.id = id};
    return figures->case_count > 0
               ? bsearch(&wanted, figures->cases, (size_t)figures->case_count, sizeof wanted, case_order)
               : NULL;
}

bool case_figures_match(const struct case_figures *one, const char *pattern)
{
    if (fnmatch(pattern, one->id, 0) == 0) {
        return true;
    }
    for (const char *at = one->tags; *at != '\0';) {
        const size_t length = strcspn(at, "\n");
        char tag[256];
        if (length < sizeof tag) {
            memcpy(tag, at, length);
            tag[length] = '\0';
            if (fnmatch(pattern, tag, 0) == 0) {
                return true;
            }
        }
        at += length + (at[length] == '\n' ? 1 : 0);
    }
    return false;
}

bool case_figures_measured(const struct case_figures *one)
{
    return strcmp(one->status, "ok") == 0 || strcmp(one->status, "fail") == 0;
}
