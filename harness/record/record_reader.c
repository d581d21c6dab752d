/* Record reader: lines back into runs, with the damage of a killed run told apart from other damage. Not a report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/regular_file.h"
#include "harness/record/record.h"

enum { LINE_BYTES_MAXIMUM = 16 * 1024 * 1024 };

struct reader {
    const char *path;
    int line; /* from 1 */
    struct record_file made;
    int pending_line; /* a line that could not be read and has not been forgiven yet; 0: none */
    struct status pending;
    struct status *error;
};

static enum status_code reader_no_memory(const struct reader *reader)
{
    return status_set(reader->error, STATUS_OUT_OF_MEMORY, "%s: no memory to read it", reader->path);
}

static enum status_code reader_fail(const struct reader *reader, int line, const char *what)
{
    return status_set(reader->error, STATUS_INVALID, "%s:%d:1: %s", reader->path, line, what);
}

/* The unreadable line turned out to be what a killed run leaves. */
static void pending_forgive(struct reader *reader)
{
    if (reader->pending_line > 0) {
        text_format(&reader->made.notes, "%s:%d: cut short, probably by a killed run; this line is left out\n",
                    reader->path, reader->pending_line);
        reader->made.damaged_line_count++;
        reader->pending_line = 0;
    }
}

static enum status_code schema_check(const struct reader *reader, const struct json *line)
{
    const struct json *schema = json_get(line, "schema");
    int64_t major = json_integer_or(json_get(schema, "major"), 0);
    if (strcmp(json_string_or(json_get(schema, "name"), ""), RECORD_SCHEMA_NAME) != 0) {
        return reader_fail(reader, reader->line,
                           "the schema is not " RECORD_SCHEMA_NAME "; name a file that assay wrote");
    }
    if (major != RECORD_SCHEMA_MAJOR) {
        return status_set(reader->error, STATUS_INVALID,
                          "%s:%d:1: records of version %lld.x; this program reads version %d.x: use one that fits",
                          reader->path, reader->line, (long long)major, RECORD_SCHEMA_MAJOR);
    }
    return STATUS_OK;
}

static struct record_run *run_last(struct reader *reader)
{
    return reader->made.run_count > 0 ? &reader->made.runs[reader->made.run_count - 1] : NULL;
}

static enum status_code run_add(struct reader *reader, struct json *line)
{
    size_t count = (size_t)reader->made.run_count + 1;
    struct record_run *runs = realloc(reader->made.runs, count * sizeof *runs);
    if (runs == NULL) {
        return reader_no_memory(reader);
    }
    reader->made.runs = runs;
    runs[reader->made.run_count++] = (struct record_run){.run = json_share(line)};
    return STATUS_OK;
}

static enum status_code case_add(struct reader *reader, struct json *line)
{
    struct record_run *run = run_last(reader);
    size_t count = (size_t)run->case_count;
    if ((count & (count - 1)) == 0) { /* 0, 1, 2, 4, 8, ...: full */
        struct json **cases = realloc(run->cases, (count > 0 ? count * 2 : 1) * sizeof *cases);
        if (cases == NULL) {
            return reader_no_memory(reader);
        }
        run->cases = cases;
    }
    run->cases[run->case_count++] = json_share(line);
    return STATUS_OK;
}

/* Puts a line that was read where it belongs. */
static enum status_code line_add(struct reader *reader, struct json *line)
{
    struct record_run *run = run_last(reader);
    const char *type = json_string_or(json_get(line, "type"), "");
    bool is_run = strcmp(type, "run") == 0;
    enum status_code code = is_run ? schema_check(reader, line) : STATUS_OK; /* a newer one may look different */
    if (code == STATUS_OK) {
        code = record_line_check(line, reader->error);
        if (code != STATUS_OK) {
            status_prefix(reader->error, "%s:%d:1", reader->path, reader->line);
        }
    }
    if (code != STATUS_OK) {
        return code;
    }
    if (is_run) {
        pending_forgive(reader);
        return run_add(reader, line);
    }
    if (reader->pending_line > 0) {
        return status_set(reader->error, STATUS_INVALID, "%s", reader->pending.text);
    }
    if (run == NULL || run->end != NULL) {
        return reader_fail(reader, reader->line, "a line outside a run; a run begins with a line of type \"run\"");
    }
    if (strcmp(type, "case") == 0) {
        return case_add(reader, line);
    }
    if (strcmp(type, "end") == 0) {
        run->end = json_share(line);
    }
    return STATUS_OK;
}

static enum status_code line_read(struct reader *reader, const char *bytes, size_t length)
{
    struct json *line = NULL;
    struct status damage;
    if (reader->pending_line > 0 && length == 0) {
        return STATUS_OK;
    }
    enum status_code code = json_parse_text("line", bytes, length, &line, &damage);
    if (code == STATUS_OUT_OF_MEMORY) {
        return reader_no_memory(reader);
    }
    if (code != STATUS_OK) {
        if (reader->pending_line > 0) { /* only one line can be the last that was written */
            return status_set(reader->error, STATUS_INVALID, "%s", reader->pending.text);
        }
        int column = 1;
        const char *what = damage.text;
        int consumed = 0;
        if (sscanf(damage.text, "line:1:%d: %n", &column, &consumed) == 1 && consumed > 0) {
            what += consumed;
        }
        reader->pending_line = reader->line;
        status_set(&reader->pending, STATUS_INVALID, "%s:%d:%d: %s", reader->path, reader->line, column, what);
        return STATUS_OK;
    }
    code = line_add(reader, line);
    json_release(line);
    return code;
}

static enum status_code lines_read(struct reader *reader, FILE *stream)
{
    char *bytes = NULL;
    size_t capacity = 0;
    ssize_t length = 0;
    enum status_code code = STATUS_OK;
    while (code == STATUS_OK && (length = getline(&bytes, &capacity, stream)) > 0) {
        reader->line++;
        if (length > LINE_BYTES_MAXIMUM) {
            code = reader_fail(reader, reader->line, "longer than 16 MiB; this is not a file of records");
        } else {
            code = line_read(reader, bytes, (size_t)length - (bytes[length - 1] == '\n' ? 1 : 0));
        }
    }
    if (code == STATUS_OK && ferror(stream)) {
        code = status_set(reader->error, STATUS_IO, "%s: cannot be read: %s", reader->path, strerror(errno));
    }
    free(bytes);
    if (code == STATUS_OK) {
        if (reader->made.run_count == 0) {
            return reader->pending_line > 0 ? status_set(reader->error, STATUS_INVALID, "%s", reader->pending.text)
                                            : reader_fail(reader, 1, "no records in it; name a file that assay wrote");
        }
        pending_forgive(reader);
    }
    return code == STATUS_OK && reader->made.notes.failed ? reader_no_memory(reader) : code;
}

/* A file that the user names may be a pipe, as <(zstdcat FILE) is; the one in a folder must be a file. */
static enum status_code stream_open(const char *path, bool is_in_folder, FILE **stream, struct status *error)
{
    static const char remedy[] = "name a folder that a run has written";
    int file = -1;
    if (is_in_folder && regular_file_read(path, remedy, &file, error) != STATUS_OK) {
        return STATUS_IO;
    }
    *stream = is_in_folder ? fdopen(file, "rb") : fopen(path, "rbe");
    if (*stream != NULL) {
        return STATUS_OK;
    }
    status_set(error, STATUS_IO, "%s: cannot be opened: %s; %s", path, strerror(errno), remedy);
    if (file >= 0) {
        close(file);
    }
    return STATUS_IO;
}

enum status_code record_file_read(const char *path, struct record_file *file, struct status *error)
{
    struct text full = {0};
    struct stat state;
    FILE *stream = NULL;
    bool is_folder = stat(path, &state) == 0 && S_ISDIR(state.st_mode);
    text_format(&full, "%s%s", path, is_folder ? "/records.jsonl" : "");
    struct reader reader = {.path = text_string(&full), .error = error};
    enum status_code code = STATUS_OK;
    if (full.failed) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to read it", path);
    } else {
        code = stream_open(reader.path, is_folder, &stream, error);
    }
    if (code == STATUS_OK) {
        code = lines_read(&reader, stream);
        fclose(stream);
    }
    text_release(&full);
    if (code != STATUS_OK) {
        record_file_release(&reader.made);
        return code;
    }
    *file = reader.made;
    return STATUS_OK;
}

void record_file_release(struct record_file *file)
{
    for (int i = 0; i < file->run_count; i++) {
        struct record_run *run = &file->runs[i];
        for (int n = 0; n < run->case_count; n++) {
            json_release(run->cases[n]);
        }
        free(run->cases);
        json_release(run->run);
        json_release(run->end);
    }
    free(file->runs);
    text_release(&file->notes);
    *file = (struct record_file){0};
}
