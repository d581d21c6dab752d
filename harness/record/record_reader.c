/* Record reader: lines back into runs, with the damage of a killed run told apart from other damage. Not a report. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/array.h"
#include "harness/record/line_source.h"
#include "harness/record/record.h"
#include "harness/record/record_damage.h"

struct record_stream {
    struct text path;
    struct line_source *source;
    struct json_scanner *scanner;
    struct record_rules *rules;
    int line;           /* from 1 */
    int run_count;      /* runs so far */
    struct text run_id; /* of the last of them */
    bool run_ended;
    bool is_begun;  /* its first bytes were looked at */
    bool is_joined; /* the next line stands in the same line of the file as the one before */
    int damaged_line_count;
    struct text notes;
    int pending_line; /* a line that could not be read and has not been forgiven yet; 0: none */
    enum record_damage damage;
    int pending_column;
    struct status pending; /* what the parser says of it */
};

/* Where the line begins that is read. */
static struct file_place line_place(const struct record_stream *stream)
{
    return (struct file_place){text_string(&stream->path), stream->line, 1};
}

static enum status_code stream_no_memory(const struct record_stream *stream, struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to read it", text_string(&stream->path));
}

static enum status_code stream_fail(const struct record_stream *stream, int line, const char *what,
                                    struct status *error)
{
    return status_set_at(error, STATUS_INVALID, (struct file_place){text_string(&stream->path), line, 1}, "%s", what);
}

/* The unreadable line turned out to be something else than what a killed run leaves. */
static enum status_code pending_fail(const struct record_stream *stream, enum record_follower follower,
                                     struct status *error)
{
    const char *cause = record_damage_words(stream->damage, stream->run_count == 0, follower);
    const struct file_place place = {text_string(&stream->path), stream->pending_line, stream->pending_column};
    return status_set_at(error, STATUS_INVALID, place, "%s", cause != NULL ? cause : stream->pending.text);
}

/* The one place where records are opened to be read. A pipe only where the user named it. */
enum status_code record_stream_open(const char *path, struct record_stream **stream, struct status *error)
{
    struct stat state;
    bool in_folder = stat(path, &state) == 0 && S_ISDIR(state.st_mode);
    struct record_stream *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to read it", path);
    }
    text_append(&made->path, path);
    text_append(&made->path, in_folder ? "/records.jsonl" : "");
    made->scanner = json_scanner_new();
    made->rules = record_rules_new();
    enum status_code code = made->path.failed || made->scanner == NULL || made->rules == NULL
                                ? stream_no_memory(made, error)
                                : line_source_open(text_string(&made->path), !in_folder,
                                                   "name a folder that a run has written", &made->source, error);
    if (code != STATUS_OK) {
        record_stream_close(made);
        return code;
    }
    *stream = made;
    return STATUS_OK;
}

void record_stream_close(struct record_stream *stream)
{
    if (stream != NULL) {
        line_source_close(stream->source);
        json_scanner_release(stream->scanner);
        record_rules_release(stream->rules);
        text_release(&stream->notes);
        text_release(&stream->run_id);
        text_release(&stream->path);
        free(stream);
    }
}

int record_stream_damaged_count(const struct record_stream *stream)
{
    return stream->damaged_line_count;
}

const char *record_stream_notes(const struct record_stream *stream)
{
    return text_string(&stream->notes);
}

/* The unreadable line turned out to be what a killed run leaves. */
static void pending_forgive(struct record_stream *stream)
{
    if (stream->pending_line > 0) {
        text_format(
            &stream->notes, "%s:%d: %s; this line is left out\n", text_string(&stream->path), stream->pending_line,
            stream->damage == RECORD_DAMAGE_TAIL ? "its beginning is missing" : "cut short, probably by a killed run");
        stream->damaged_line_count++;
        stream->pending_line = 0;
    }
}

static enum status_code schema_check(const struct record_stream *stream, const struct json *line, struct status *error)
{
    const struct json *schema = json_get(line, "schema");
    int64_t major = json_integer_or(json_get(schema, "major"), 0);
    if (strcmp(json_string_or(json_get(schema, "name"), ""), RECORD_SCHEMA_NAME) != 0) {
        return stream_fail(stream, stream->line,
                           "the schema is not " RECORD_SCHEMA_NAME "; name a file that assay wrote", error);
    }
    if (major != RECORD_SCHEMA_MAJOR) {
        return status_set_at(error, STATUS_INVALID, line_place(stream),
                             "records of version %lld.x; this program reads version %d.x: use one that fits",
                             (long long)major, RECORD_SCHEMA_MAJOR);
    }
    return STATUS_OK;
}

static enum record_line_type type_of(const struct json *line)
{
    const char *type = json_string_or(json_get(line, "type"), "");
    return strcmp(type, "case") == 0       ? RECORD_LINE_CASE
           : strcmp(type, "run") == 0      ? RECORD_LINE_RUN
           : strcmp(type, "end") == 0      ? RECORD_LINE_END
           : strcmp(type, "selected") == 0 ? RECORD_LINE_SELECTED
                                           : RECORD_LINE_NONE;
}

/* A run begins, or the last one goes on. */
static enum status_code run_begin(struct record_stream *stream, const struct json *line, enum record_line_type *type,
                                  struct status *error)
{
    const char *run_id = json_string_or(json_get(line, "run_id"), "");
    bool goes_on = stream->run_count > 0 && json_integer_or(json_get(line, "resumption"), 0) > 0 &&
                   strcmp(run_id, text_string(&stream->run_id)) == 0;
    pending_forgive(stream);
    if (goes_on) {
        *type = RECORD_LINE_RESUMED;
    } else {
        text_release(&stream->run_id);
        text_append(&stream->run_id, run_id);
        stream->run_count++;
    }
    stream->run_ended = false;
    return stream->notes.failed || stream->run_id.failed ? stream_no_memory(stream, error) : STATUS_OK;
}

/* Whether a line may stand where it stands, and has what it must have. */
static enum status_code line_accept(struct record_stream *stream, const struct json *line, enum record_line_type *type,
                                    struct status *error)
{
    bool is_run = *type == RECORD_LINE_RUN;
    enum status_code code = is_run ? schema_check(stream, line, error) : STATUS_OK; /* a newer one may look different */
    if (code == STATUS_OK) {
        code = record_rules_check(stream->rules, line, error);
        if (code != STATUS_OK) {
            status_place(error, line_place(stream));
        }
    }
    if (code != STATUS_OK) {
        return code;
    }
    if (is_run) {
        return run_begin(stream, line, type, error);
    }
    if (stream->pending_line > 0) {
        return pending_fail(stream, RECORD_FOLLOWER_LINE, error);
    }
    if (stream->run_count == 0 || stream->run_ended) {
        return stream_fail(stream, stream->line,
                           "a line outside a run; a run begins with a line of type \"run\", which is not here: copy "
                           "the whole file",
                           error);
    }
    stream->run_ended = *type == RECORD_LINE_END;
    return STATUS_OK;
}

/* Only one line can be the last that was written. */
static enum status_code damage_note(struct record_stream *stream, const struct source_line *source,
                                    const struct status *damage, struct status *error)
{
    if (stream->pending_line > 0) {
        return pending_fail(stream, RECORD_FOLLOWER_OTHER, error);
    }
    stream->pending_line = stream->line;
    stream->damage = record_damage_of(source->bytes, source->length);
    stream->pending_column = stream->damage == RECORD_DAMAGE_TAIL || damage->column == 0 ? 1 : damage->column;
    stream->pending = *damage;
    return STATUS_OK;
}

enum { LANES = 4 }; /* that do not wait for each other */

static uint64_t bytes_hash(const char *bytes, size_t length)
{
    const uint64_t factor = 0x9E3779B97F4A7C15u;
    uint64_t lanes[LANES] = {length, 1, 2, 3}, words[LANES];
    size_t at = 0;
    for (; at + sizeof words <= length; at += sizeof words) {
        memcpy(words, bytes + at, sizeof words);
        for (int lane = 0; lane < LANES; lane++) {
            lanes[lane] = (lanes[lane] ^ words[lane]) * factor;
            lanes[lane] ^= lanes[lane] >> 32;
        }
    }
    memset(words, 0, sizeof words);
    memcpy(words, bytes + at, length - at);
    uint64_t hash = 0;
    for (int lane = 0; lane < LANES; lane++) {
        hash = (hash ^ lanes[lane] ^ words[lane]) * factor;
        hash ^= hash >> 32;
    }
    return hash;
}

bool record_place_holds(const struct record_place *place, const char *bytes)
{
    return bytes_hash(bytes, place->length) == place->hash;
}

static enum status_code line_scan(struct record_stream *stream, const struct source_line *source,
                                  const struct json **value, struct status *damage)
{
    return json_scan_text(stream->scanner, "line", source->bytes, source->length, value, damage);
}

/* One line of the file. line->type stays RECORD_LINE_NONE where there is nothing in it for the caller. */
static enum status_code line_read(struct record_stream *stream, struct source_line *source, struct record_line *line,
                                  struct status *error)
{
    struct status damage;
    if (stream->line == INT_MAX) {
        return stream_fail(stream, stream->line, "too many lines; this is not a file of records", error);
    }
    stream->line += stream->is_joined ? 0 : 1;
    stream->is_joined = false;
    if (source->too_long) {
        return stream_fail(stream, stream->line, "longer than 16 MiB; this is not a file of records", error);
    }
    if (stream->pending_line > 0 && source->length == 0) {
        return STATUS_OK;
    }
    line->place = (struct record_place){source->offset, source->length, bytes_hash(source->bytes, source->length)};
    enum status_code code = line_scan(stream, source, &line->value, &damage);
    size_t joint = code == STATUS_INVALID ? line_joint(source->bytes, source->length) : 0;
    if (joint > 0) { /* files were joined, and the first did not end with a newline */
        stream->is_joined = true;
        line_source_split(stream->source, source, joint);
        line->place = (struct record_place){source->offset, joint, bytes_hash(source->bytes, joint)};
        code = line_scan(stream, source, &line->value, &damage);
    }
    if (code != STATUS_OK) {
        return code == STATUS_OUT_OF_MEMORY ? stream_no_memory(stream, error)
                                            : damage_note(stream, source, &damage, error);
    }
    enum record_line_type type = type_of(line->value);
    code = line_accept(stream, line->value, &type, error);
    line->type = code == STATUS_OK ? type : RECORD_LINE_NONE;
    line->run = stream->run_count - 1;
    return code;
}

static enum status_code end_check(struct record_stream *stream, struct status *error)
{
    if (stream->run_count == 0) {
        return stream->pending_line > 0
                   ? pending_fail(stream, RECORD_FOLLOWER_NONE, error)
                   : stream_fail(stream, 1, "no records in it; name a file that assay wrote", error);
    }
    pending_forgive(stream);
    return stream->notes.failed ? stream_no_memory(stream, error) : STATUS_OK;
}

static enum status_code stream_begin(struct record_stream *stream, struct status *error)
{
    const char *bytes = NULL;
    size_t length = 0;
    stream->is_begun = true;
    enum status_code code = line_source_begin(stream->source, &bytes, &length, error);
    if (code == STATUS_OK) {
        code = foreign_file_check(bytes, length, error);
        if (code != STATUS_OK) {
            status_place(error, (struct file_place){text_string(&stream->path), 1, 1});
        }
    }
    return code;
}

enum status_code record_stream_next(struct record_stream *stream, struct record_line *line, struct status *error)
{
    bool more = true;
    struct source_line source;
    *line = (struct record_line){0};
    enum status_code code = stream->is_begun ? STATUS_OK : stream_begin(stream, error);
    while (code == STATUS_OK && line->type == RECORD_LINE_NONE) {
        code = line_source_next(stream->source, &source, &more, error);
        if (code == STATUS_OK && !more) {
            return end_check(stream, error);
        }
        if (code == STATUS_OK) {
            code = line_read(stream, &source, line, error);
        }
    }
    return code;
}

enum status_code record_stream_again(struct record_stream *stream, const struct record_place *place, const char **bytes,
                                     struct status *error)
{
    char *line = NULL;
    enum status_code code = line_source_again(stream->source, place->offset, place->length, &line, error);
    if (code == STATUS_OK && !record_place_holds(place, line)) {
        code = status_set(error, STATUS_IO, "%s: was changed while it was read; run the command again",
                          text_string(&stream->path));
    }
    *bytes = line;
    return code;
}

static enum status_code run_add(struct record_file *file, const struct json *line)
{
    struct record_run *runs = array_extend(file->runs, (size_t)file->run_count, &file->run_room, sizeof *runs);
    if (runs == NULL) {
        return STATUS_OUT_OF_MEMORY;
    }
    file->runs = runs;
    runs[file->run_count++] = (struct record_run){.run = json_copy_new(line)};
    return runs[file->run_count - 1].run != NULL ? STATUS_OK : STATUS_OUT_OF_MEMORY;
}

static enum status_code case_add(struct record_run *run, const struct json *line)
{
    struct json **cases = array_extend(run->cases, (size_t)run->case_count, &run->case_room, sizeof *cases);
    if (cases == NULL) {
        return STATUS_OUT_OF_MEMORY;
    }
    run->cases = cases;
    run->cases[run->case_count] = json_copy_new(line);
    return run->cases[run->case_count] != NULL ? (run->case_count++, STATUS_OK) : STATUS_OUT_OF_MEMORY;
}

static enum status_code line_keep(struct record_file *file, const struct record_line *line)
{
    struct record_run *run = file->run_count > 0 ? &file->runs[file->run_count - 1] : NULL;
    switch (line->type) {
    case RECORD_LINE_RUN:
        return run_add(file, line->value);
    case RECORD_LINE_RESUMED:
        json_release(run->end); /* of its interruption */
        run->end = NULL;
        break;
    case RECORD_LINE_SELECTED:
        run->selected = run->selected != NULL ? run->selected : json_array_new();
        return json_append(run->selected, json_copy_new(line->value)) ? STATUS_OK : STATUS_OUT_OF_MEMORY;
    case RECORD_LINE_CASE:
        return case_add(run, line->value);
    case RECORD_LINE_END:
        run->end = json_copy_new(line->value);
        return run->end != NULL ? STATUS_OK : STATUS_OUT_OF_MEMORY;
    case RECORD_LINE_NONE:
        break;
    }
    return STATUS_OK;
}

enum status_code record_file_read(const char *path, struct record_file *file, struct status *error)
{
    struct record_stream *stream = NULL;
    struct record_file made = {0};
    struct record_line line = {.type = RECORD_LINE_RUN};
    enum status_code code = record_stream_open(path, &stream, error);
    while (code == STATUS_OK && line.type != RECORD_LINE_NONE) {
        code = record_stream_next(stream, &line, error);
        if (code == STATUS_OK && line_keep(&made, &line) != STATUS_OK) {
            code = stream_no_memory(stream, error);
        }
    }
    if (code == STATUS_OK) {
        made.damaged_line_count = stream->damaged_line_count;
        made.notes = stream->notes;
        stream->notes = (struct text){0};
    }
    record_stream_close(stream);
    if (code != STATUS_OK) {
        record_file_release(&made);
        return code;
    }
    *file = made;
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
        json_release(run->selected);
        json_release(run->run);
        json_release(run->end);
    }
    free(file->runs);
    text_release(&file->notes);
    *file = (struct record_file){0};
}
