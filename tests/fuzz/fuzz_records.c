/* Fuzz target: a file of records, line by line and once more, and the reports that are made of it. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/record/record.h"
#include "harness/report/report.h"
#include "tests/fuzz/fuzz.h"

/* A line that was accepted stands inside the file, and is the same when it is read again. */
static void line_check(struct record_stream *stream, const struct record_line *line, size_t size)
{
    struct text first = {0}, lines = {0}, second = {0};
    const char *bytes = NULL;
    struct json *kept = json_copy_new(line->value), *again = NULL;
    fuzz_require(line->run >= 0 && line->place.offset >= 0);
    fuzz_require((size_t)line->place.offset + line->place.length <= size);
    fuzz_require(record_stream_again(stream, &line->place, &bytes, NULL) == STATUS_OK);
    json_indent_below(bytes, line->place.length, 2, 0, &lines);
    fuzz_require(json_parse_text("lines", text_string(&lines), lines.length, &again, NULL) == STATUS_OK);
    json_write_below(kept, 0, 0, &first);
    json_write_below(again, 0, 0, &second);
    fuzz_require(strcmp(text_string(&first), text_string(&second)) == 0);
    json_release(kept);
    json_release(again);
    text_release(&first);
    text_release(&lines);
    text_release(&second);
}

static int lines_of(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++) {
        count += *text == '\n';
    }
    return count;
}

static enum status_code stream_check(const char *path, size_t size)
{
    struct record_stream *stream = NULL;
    struct record_line line = {.type = RECORD_LINE_RUN};
    struct status error = {0};
    int64_t end = 0;
    int run = 0;
    enum status_code code = record_stream_open(path, &stream, &error);
    while (code == STATUS_OK && line.type != RECORD_LINE_NONE) {
        code = record_stream_next(stream, &line, &error);
        if (code == STATUS_OK && line.type != RECORD_LINE_NONE) {
            fuzz_require(line.place.offset >= end && line.run >= run);
            fuzz_require(line.run == run || line.type == RECORD_LINE_RUN);
            end = line.place.offset + (int64_t)line.place.length;
            run = line.run;
            line_check(stream, &line, size);
        }
    }
    fuzz_status_check(code, &error);
    if (code == STATUS_OK) {
        fuzz_require(lines_of(record_stream_notes(stream)) == record_stream_damaged_count(stream));
    }
    record_stream_close(stream);
    return code;
}

static void report_check(const char *path)
{
    static const enum report_format formats[] = {REPORT_TABLE, REPORT_MARKDOWN, REPORT_CSV, REPORT_JSON, REPORT_JUNIT};
    struct report *report = NULL;
    struct status error = {0};
    enum status_code code = report_open(path, &report, &error);
    fuzz_status_check(code, &error);
    for (size_t i = 0; code == STATUS_OK && i < sizeof formats / sizeof formats[0]; i++) {
        struct text text = {0};
        enum status_code written = report_render(report, formats[i], NULL, &text, &error);
        fuzz_status_check(written, &error);
        for (const char *c = text_string(&text); written == STATUS_OK && *c != '\0'; c++) {
            fuzz_require(*c != '\033'); /* no line of a terminal is moved by what a record says */
        }
        text_release(&text);
    }
    report_release(report);
}

int fuzz_records(const uint8_t *data, size_t size)
{
    char path[64];
    int file = memfd_create("records", MFD_CLOEXEC);
    if (file >= 0 && write(file, data, size) == (ssize_t)size) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        if (stream_check(path, size) == STATUS_OK) {
            report_check(path);
        }
    }
    if (file >= 0) {
        close(file);
    }
    return 0;
}
