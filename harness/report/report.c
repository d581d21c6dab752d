/* Report: records read from a file or folder, and the choice of a writer. Not the writers, and not the run that made
 * the records. */
#include "harness/report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/report/case_view.h"

enum { LINE_BYTES_MAXIMUM = 64 * 1024 * 1024 };

/* The case lines while they are read; order is the place in the file. */
struct reading {
    struct report *report;
    struct json **lines;
    size_t line_count, line_room;
    long long records; /* lines that are records of any type */
};

static enum status_code memory_error(struct status *error, const char *path)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for its records", path);
}

/* Keeps a case line; takes over the reference. */
static bool line_keep(struct reading *reading, struct json *line)
{
    if (reading->line_count == reading->line_room) {
        size_t room = reading->line_room > 0 ? reading->line_room * 2 : 64;
        struct json **lines = realloc(reading->lines, room * sizeof *lines);
        if (lines == NULL) {
            json_release(line);
            return false;
        }
        reading->lines = lines;
        reading->line_room = room;
    }
    reading->lines[reading->line_count++] = line;
    return true;
}

/* False where memory ran out; a line that is no record is counted. */
static bool line_read(struct reading *reading, const char *bytes, size_t length)
{
    struct report *report = reading->report;
    struct json *line = NULL;
    if (length == 0 || strspn(bytes, " \t\r") == length) {
        return true;
    }
    if (length > LINE_BYTES_MAXIMUM || json_parse_text(report->source, bytes, length, &line, NULL) != STATUS_OK) {
        report->damaged_line_count++;
        return true;
    }
    const char *type = json_string_or(json_get(line, "type"), "");
    reading->records++;
    if (strcmp(type, "case") == 0) {
        return line_keep(reading, line);
    }
    if (strcmp(type, "run") == 0) {
        report->ended = false;
        return json_append(report->runs, line);
    }
    if (strcmp(type, "end") == 0) {
        report->ended = true;
    } else {
        reading->records--;
        report->damaged_line_count++;
    }
    json_release(line);
    return true;
}

static enum status_code lines_read(struct reading *reading, FILE *file, struct status *error)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    bool kept = true;
    errno = 0;
    while (kept && (length = getline(&line, &room, file)) >= 0) {
        size_t count = (size_t)length - (line[length - 1] == '\n' ? 1 : 0);
        line[count] = '\0';
        kept = line_read(reading, line, count);
        errno = 0;
    }
    int cause = errno;
    free(line);
    if (!kept || cause == ENOMEM) {
        return memory_error(error, reading->report->source);
    }
    if (ferror(file)) {
        return status_set(error, STATUS_IO, "%s: cannot be read: %s", reading->report->source, strerror(cause));
    }
    return STATUS_OK;
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

/* Of several attempts at one case the last stays, at the place of the first; the others are released. */
static bool attempts_drop(struct reading *reading)
{
    size_t count = reading->line_count, kept = 0;
    struct attempt *attempts = calloc(count + 1, sizeof *attempts);
    if (attempts == NULL) {
        return false;
    }
    for (size_t index = 0; index < count; index++) {
        attempts[index].id = json_string_or(json_get(reading->lines[index], "id"), "(no id)");
        attempts[index].order = index;
    }
    qsort(attempts, count, sizeof *attempts, attempt_order);
    for (size_t index = 0; index < count;) {
        size_t last = index;
        while (last + 1 < count && strcmp(attempts[last + 1].id, attempts[index].id) == 0) {
            last++;
        }
        struct json *line = reading->lines[attempts[last].order];
        for (size_t at = index; at <= last; at++) {
            if (at != last) {
                json_release(reading->lines[attempts[at].order]);
            }
            reading->lines[attempts[at].order] = NULL;
        }
        reading->lines[attempts[index].order] = line;
        index = last + 1;
    }
    for (size_t index = 0; index < count; index++) {
        if (reading->lines[index] != NULL) {
            reading->lines[kept++] = reading->lines[index];
        }
    }
    reading->line_count = kept;
    free(attempts);
    return true;
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
        struct case_view *view = &report->cases[report->case_count++];
        made = case_view_read(report, line, view);
    }
    memmove(reading->lines, reading->lines + report->case_count,
            (reading->line_count - (size_t)report->case_count) * sizeof *reading->lines);
    reading->line_count -= (size_t)report->case_count;
    for (int index = 0; made && index < report->case_count; index++) {
        made = case_view_compare(report, &report->cases[index]);
    }
    return made;
}

static enum status_code records_read(struct report *report, FILE *file, struct status *error)
{
    struct reading reading = {.report = report};
    enum status_code code = lines_read(&reading, file, error);
    if (code == STATUS_OK && reading.records == 0 && report->damaged_line_count > 0) {
        code = status_set(error, STATUS_INVALID,
                          "%s: no line of it is a record; give a folder or file that "
                          "`assay run` wrote",
                          report->source);
    }
    if (code == STATUS_OK && (!attempts_drop(&reading) || (reading.line_count > 0 && !views_make(&reading)))) {
        code = memory_error(error, report->source);
    }
    for (size_t index = 0; index < reading.line_count; index++) {
        json_release(reading.lines[index]); /* what no view has taken */
    }
    free(reading.lines);
    return code;
}

static enum status_code records_open(struct report *report, const char *path, FILE **file, struct status *error)
{
    struct stat kind;
    if (stat(path, &kind) == 0 && S_ISDIR(kind.st_mode)) {
        report->source = arena_format(&report->arena, "%s/records.jsonl", path);
    } else {
        report->source = arena_copy(&report->arena, path);
    }
    if (report->source == NULL) {
        return memory_error(error, path);
    }
    *file = fopen(report->source, "re");
    if (*file == NULL) {
        return status_set(error, STATUS_IO, "%s: cannot be opened: %s; give a folder or file that `assay run` wrote",
                          report->source, strerror(errno));
    }
    return STATUS_OK;
}

enum status_code report_open(const char *path, struct report **report, struct status *error)
{
    FILE *file = NULL;
    struct report *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return memory_error(error, path);
    }
    made->estimators[made->estimator_count++] = "replay";
    made->runs = json_array_new();
    enum status_code code = made->runs == NULL ? memory_error(error, path) : records_open(made, path, &file, error);
    if (code == STATUS_OK) {
        code = records_read(made, file, error);
        fclose(file);
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
    for (int index = 0; index < report->case_count; index++) {
        const char *status = report->cases[index].status;
        int *counter = strcmp(status, "ok") == 0        ? &counts.ok
                       : strcmp(status, "fail") == 0    ? &counts.fail
                       : strcmp(status, "oom") == 0     ? &counts.oom
                       : strcmp(status, "timeout") == 0 ? &counts.timeout
                       : strcmp(status, "skip") == 0    ? &counts.skip
                                                        : &counts.error;
        ++*counter;
    }
    return counts;
}

enum status_code report_format_parse(const char *name, enum report_format *format, struct status *error)
{
    static const char *const names[] = {[REPORT_TABLE] = "table", [REPORT_MARKDOWN] = "md", [REPORT_CSV] = "csv",
                                        [REPORT_JSON] = "json",   [REPORT_HTML] = "html",   [REPORT_JUNIT] = "junit"};
    for (size_t index = 0; index < sizeof names / sizeof names[0]; index++) {
        if (strcmp(name, names[index]) == 0) {
            *format = (enum report_format)index;
            return STATUS_OK;
        }
    }
    return status_set(error, STATUS_INVALID, "'%s' is not a format; use table, md, csv, json, html or junit", name);
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
