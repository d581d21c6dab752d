/* Report: records read from a file or folder, and the choice of a writer. Not the writers, and not the run that made
 * the records. */
#include "harness/report/report.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/record.h"
#include "harness/report/case_view.h"
#include "harness/report/spread.h"

/* The case lines of every run in the file, in its order; each one a reference of its own. */
struct reading {
    struct report *report;
    struct json **lines;
    int *line_runs;         /* for each line the place of its run */
    struct spread *spreads; /* for each line that stays, of the attempts that it stands for */
    size_t line_count;
};

static enum status_code memory_error(struct status *error, const char *path)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for its records", path);
}

/* Takes what the report needs out of the file, which is released by the caller. */
static bool file_take(struct reading *reading, const struct record_file *file)
{
    struct report *report = reading->report;
    size_t count = 0;
    for (int index = 0; index < file->run_count; index++) {
        count += (size_t)file->runs[index].case_count;
    }
    reading->lines = calloc(count + 1, sizeof *reading->lines);
    reading->line_runs = calloc(count + 1, sizeof *reading->line_runs);
    reading->spreads = calloc(count + 1, sizeof *reading->spreads);
    if (reading->lines == NULL || reading->line_runs == NULL || reading->spreads == NULL) {
        return false;
    }
    for (int index = 0; index < file->run_count; index++) {
        const struct record_run *run = &file->runs[index];
        for (int at = 0; at < run->case_count; at++) {
            reading->line_runs[reading->line_count] = index;
            reading->lines[reading->line_count++] = json_share(run->cases[at]);
        }
        if (!json_append(report->runs, json_share(run->run))) {
            return false;
        }
        report->attempt_count = run->case_count;
        report->ended = run->end != NULL && !json_boolean_or(json_get(run->end, "interrupted"), false);
    }
    report->damaged_line_count = file->damaged_line_count;
    return true;
}

struct attempt {
    const char *id;
    size_t order;
};

static int attempt_order(const void *left, const void *right)
{
    const struct attempt *a = left, *b = right;
    int order = strcmp(a->id, b->id);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

/* The spread of the attempts, all at one case and in their order: those of the last run alone, because another run is of
 * another day, another driver or another program. group: room for all of them. */
static struct spread attempts_spread(const struct reading *reading, const struct attempt *attempts, size_t count,
                                     struct json **group)
{
    int last_run = reading->line_runs[attempts[count - 1].order], kept = 0;
    for (size_t at = 0; at < count; at++) {
        if (reading->line_runs[attempts[at].order] == last_run) {
            group[kept++] = reading->lines[attempts[at].order];
        }
    }
    return spread_of(group, kept);
}

/* Moves the lines that stayed together; returns how many they are. */
static size_t lines_close(struct reading *reading)
{
    size_t kept = 0;
    for (size_t index = 0; index < reading->line_count; index++) {
        if (reading->lines[index] != NULL) {
            reading->spreads[kept] = reading->spreads[index];
            reading->line_runs[kept] = reading->line_runs[index];
            reading->lines[kept++] = reading->lines[index];
        }
    }
    return kept;
}

/* Of several attempts at one case the last stays, at the place of the first; the others are released. */
static bool attempts_drop(struct reading *reading)
{
    size_t count = reading->line_count;
    struct attempt *attempts = calloc(count + 1, sizeof *attempts);
    struct json **group = calloc(count + 1, sizeof *group);
    for (size_t index = 0; index < count && attempts != NULL; index++) {
        attempts[index].id = json_string_or(json_get(reading->lines[index], "id"), "(no id)");
        attempts[index].order = index;
    }
    bool made = attempts != NULL && group != NULL;
    if (made) {
        qsort(attempts, count, sizeof *attempts, attempt_order);
    }
    for (size_t index = 0; made && index < count;) {
        size_t last = index;
        while (last + 1 < count && strcmp(attempts[last + 1].id, attempts[index].id) == 0) {
            last++;
        }
        struct json *line = reading->lines[attempts[last].order];
        int run = reading->line_runs[attempts[last].order];
        reading->spreads[attempts[index].order] = attempts_spread(reading, &attempts[index], last - index + 1, group);
        for (size_t at = index; at <= last; at++) {
            if (at != last) {
                json_release(reading->lines[attempts[at].order]);
            }
            reading->lines[attempts[at].order] = NULL;
        }
        reading->lines[attempts[index].order] = line;
        reading->line_runs[attempts[index].order] = run;
        index = last + 1;
    }
    reading->line_count = made ? lines_close(reading) : count;
    free(group);
    free(attempts);
    return made;
}

/* Moves the lines into views; whatever happens, the report then owns every line or it is released. */
static bool views_make(struct reading *reading)
{
    struct report *report = reading->report;
    report->cases = arena_alloc(&report->arena, reading->line_count * sizeof *report->cases);
    if (report->cases == NULL) {
        return false;
    }
    bool made = true;
    while (made && (size_t)report->case_count < reading->line_count) {
        struct json *line = reading->lines[report->case_count];
        struct case_view *view = &report->cases[report->case_count];
        made = case_view_read(report, line, view);
        view->run = reading->line_runs[report->case_count];
        view->spread = reading->spreads[report->case_count++];
    }
    memmove(reading->lines, reading->lines + report->case_count,
            (reading->line_count - (size_t)report->case_count) * sizeof *reading->lines);
    reading->line_count -= (size_t)report->case_count;
    for (int index = 0; made && index < report->case_count; index++) {
        made = case_view_compare(report, &report->cases[index]);
    }
    return made;
}

/* What the figures of the report are; where some cases are measured and some replayed, one heading cannot say it, and the
 * titles do. False where memory ran out. */
static bool basis_mark(struct report *report)
{
    int replayed_count = 0, device_count = 0;
    for (int index = 0; index < report->case_count; index++) {
        const struct case_view *view = &report->cases[index];
        device_count += view->device_kind != NULL ? 1 : 0;
        replayed_count += strcmp(view->basis, BASIS_REPLAYED) == 0 ? 1 : 0;
    }
    bool is_replayed = replayed_count > 0 && replayed_count == device_count, made = true;
    report->basis = is_replayed ? BASIS_REPLAYED : BASIS_MEASURED;
    for (int index = 0; made && index < report->case_count; index++) {
        struct case_view *view = &report->cases[index];
        bool is_odd = !is_replayed && strcmp(view->basis, BASIS_REPLAYED) == 0;
        view->title = is_odd ? arena_format(&report->arena, "%s (" BASIS_REPLAYED ")", view->label) : view->label;
        made = view->title != NULL;
    }
    return made;
}

static enum status_code records_read(struct report *report, const struct record_file *file, struct status *error)
{
    struct reading reading = {.report = report};
    bool made = file_take(&reading, file) && attempts_drop(&reading) && views_make(&reading) && basis_mark(report);
    for (size_t index = 0; index < reading.line_count; index++) {
        json_release(reading.lines[index]); /* what no view has taken */
    }
    free(reading.lines);
    free(reading.line_runs);
    free(reading.spreads);
    return made ? STATUS_OK : memory_error(error, report->source);
}

enum status_code report_open(const char *path, struct report **report, struct status *error)
{
    struct record_file file = {0};
    struct report *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return memory_error(error, path);
    }
    made->estimators[made->estimator_count++] = "replay";
    made->source = arena_copy(&made->arena, path);
    made->runs = json_array_new();
    enum status_code code =
        made->source == NULL || made->runs == NULL ? memory_error(error, path) : record_file_read(path, &file, error);
    if (code == STATUS_OK) {
        code = records_read(made, &file, error);
        record_file_release(&file);
    }
    if (code != STATUS_OK) {
        report_release(made);
        return code;
    }
    *report = made;
    return STATUS_OK;
}

void report_release(struct report *report)
{
    if (report == NULL) {
        return;
    }
    for (int index = 0; index < report->case_count; index++) {
        json_release(report->cases[index].line);
    }
    json_release(report->runs);
    arena_release(&report->arena);
    free(report);
}

const struct json *report_run(const struct report *report)
{
    size_t count = json_count(report->runs);
    return count > 0 ? json_at(report->runs, count - 1) : NULL;
}

struct report_counts report_count(const struct report *report)
{
    struct report_counts counts = {
        .cases = report->case_count, .damaged_lines = report->damaged_line_count, .ended = report->ended};
    int64_t selected_count = json_integer_or(json_get(json_get(report_run(report), "suite"), "selected_count"), 0);
    int made_count = report->attempt_count > report->case_count ? report->attempt_count : report->case_count;
    if (selected_count > made_count && selected_count <= INT_MAX) {
        counts.missing = (int)selected_count - made_count;
    }
    for (int index = 0; index < report->case_count; index++) {
        const char *status = report->cases[index].status;
        int *counter = strcmp(status, "ok") == 0        ? &counts.ok
                       : strcmp(status, "fail") == 0    ? &counts.fail
                       : strcmp(status, "oom") == 0     ? &counts.oom
                       : strcmp(status, "timeout") == 0 ? &counts.timeout
                       : strcmp(status, "skip") == 0    ? &counts.skip
                                                        : &counts.error;
        ++*counter;
        counts.invalid += report->cases[index].invalid ? 1 : 0;
    }
    return counts;
}

enum status_code report_format_parse(const char *name, enum report_format *format, struct status *error)
{
    static const char *const names[] = {
        [REPORT_TABLE] = "table", [REPORT_MARKDOWN] = "md", [REPORT_CSV] = "csv",        [REPORT_JSON] = "json",
        [REPORT_HTML] = "html",   [REPORT_JUNIT] = "junit", [REPORT_SUMMARY] = "summary"};
    for (size_t index = 0; index < sizeof names / sizeof names[0]; index++) {
        if (strcmp(name, names[index]) == 0) {
            *format = (enum report_format)index;
            return STATUS_OK;
        }
    }
    return status_set(error, STATUS_INVALID, "'%s' is not a format; use table, summary, md, csv, json, html or junit",
                      name);
}

static enum status_code writer_call(const struct report *report, enum report_format format,
                                    const struct report_style *style, const struct accuracy *rows, int count,
                                    struct text *text, struct status *error)
{
    switch (format) {
    case REPORT_TABLE:
        table_write(report, style, rows, count, text);
        return STATUS_OK;
    case REPORT_MARKDOWN:
        markdown_write(report, rows, count, text);
        return STATUS_OK;
    case REPORT_CSV:
        csv_write(report, text);
        return STATUS_OK;
    case REPORT_JSON:
        return document_write(report, rows, count, text, error);
    case REPORT_HTML:
        html_write(report, style, rows, count, text);
        return STATUS_OK;
    case REPORT_JUNIT:
        junit_write(report, text);
        return STATUS_OK;
    case REPORT_SUMMARY:
        summary_write(report, style, text);
        return STATUS_OK;
    }
    return status_set(error, STATUS_INTERNAL, "report format %d does not exist", (int)format);
}

enum status_code report_render(const struct report *report, enum report_format format, const struct report_style *style,
                               struct text *text, struct status *error)
{
    struct report_style chosen = style != NULL ? *style : (struct report_style){0};
    chosen.width = chosen.width == 0 ? 80 : chosen.width < 40 ? 40 : chosen.width;
    struct arena arena = {0};
    struct accuracy *rows = NULL;
    int count = 0;
    enum status_code code = report_accuracy(report, &arena, &rows, &count, error);
    if (code == STATUS_OK) {
        code = writer_call(report, format, &chosen, rows, count, text, error);
    }
    if (code == STATUS_OK && text->failed) {
        code = memory_error(error, report->source);
    }
    arena_release(&arena);
    return code;
}
