/* Record writer: append one line, see it on the disk, go on. Not atomic replacement: earlier lines are never
 * touched. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/bytes_write.h"
#include "harness/base/clock.h"
#include "harness/base/regular_file.h"
#include "harness/record/line_source.h"
#include "harness/record/record.h"

struct record_writer {
    int file;
    off_t size; /* of the whole lines */
    struct text path;
};

static enum status_code writer_fail(const struct record_writer *writer, const char *what, struct status *error)
{
    return status_set(error, STATUS_IO, "%s: %s: %s", text_string(&writer->path), what, strerror(errno));
}

/* Whether the file is one line without an end that begins as a run's first does: what a run leaves that was killed
 * while it wrote it. */
static bool is_first_line_cut(int file, off_t size)
{
    static const char begin[] = "{\"type\": \"run\"";
    char bytes[4096];
    bool is_cut = size < LINE_BYTES_MAXIMUM;
    for (off_t at = 0; at < size && is_cut; at += (off_t)sizeof bytes) {
        ssize_t count = pread(file, bytes, sizeof bytes, at);
        size_t taken = count > 0 ? (size_t)count : 0, compared = taken < sizeof begin - 1 ? taken : sizeof begin - 1;
        is_cut = taken > 0 && memchr(bytes, '\n', taken) == NULL && (at > 0 || memcmp(bytes, begin, compared) == 0);
    }
    return is_cut;
}

/* What stands there is read before anything is measured or written: what is no file of records, or a damaged one, is
 * left as it is. */
static enum status_code present_check(const struct record_writer *writer, struct status *error)
{
    struct record_stream *stream = NULL;
    struct record_line line = {.type = RECORD_LINE_RUN};
    if (writer->size == 0) {
        return STATUS_OK;
    }
    enum status_code code = record_stream_open(text_string(&writer->path), &stream, error);
    while (code == STATUS_OK && line.type != RECORD_LINE_NONE) {
        code = record_stream_next(stream, &line, error);
    }
    record_stream_close(stream);
    if (code == STATUS_INVALID && is_first_line_cut(writer->file, writer->size)) {
        return STATUS_OK;
    }
    if (code == STATUS_INVALID) {
        status_extend(error, ". Nothing was measured or written; mend the file, or name another folder");
    }
    return code;
}

/* A killed run may have left a line without its end: close it, so that the next line stands by itself. */
static enum status_code tail_close(struct record_writer *writer, struct status *error)
{
    struct stat state;
    char last = '\n';
    if (fstat(writer->file, &state) != 0) {
        return writer_fail(writer, "cannot be examined", error);
    }
    writer->size = state.st_size;
    enum status_code code = present_check(writer, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (state.st_size > 0 && pread(writer->file, &last, 1, state.st_size - 1) != 1) {
        return writer_fail(writer, "cannot be read", error);
    }
    if (last != '\n') {
        if (bytes_write(writer->file, "\n", 1) != 0) {
            return writer_fail(writer, "cannot be written", error);
        }
        writer->size++;
    }
    return STATUS_OK;
}

/* Children of a run that was killed have its lock until the kernel has taken them down, too: whoever starts it anew at
 * once must not be told that it still runs. */
static bool lock_take(int file)
{
    enum { PATIENCE_MS = 3000, PAUSE_MS = 20 };
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    int64_t deadline_ns = clock_ns() + PATIENCE_MS * INT64_C(1000000);
    bool is_ours = flock(file, LOCK_EX | LOCK_NB) == 0;
    while (!is_ours && errno == EWOULDBLOCK && clock_ns() < deadline_ns) {
        nanosleep(&pause, NULL);
        is_ours = flock(file, LOCK_EX | LOCK_NB) == 0;
    }
    return is_ours;
}

enum status_code record_writer_open(const char *folder, struct record_writer **writer, struct status *error)
{
    struct record_writer *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to write records", folder);
    }
    made->file = -1;
    text_format(&made->path, "%s/records.jsonl", folder);
    enum status_code code = STATUS_OK;
    if (made->path.failed) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to write records", folder);
    } else if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        code = status_set(error, STATUS_IO, "%s: the folder cannot be made: %s; name one that can be written", folder,
                          strerror(errno));
    } else if (regular_file_append(text_string(&made->path), "name a folder that can be written", &made->file, error) !=
               STATUS_OK) {
        code = STATUS_IO;
    } else if (!lock_take(made->file)) {
        code = status_set(error, STATUS_IO, "%s: another run is writing to it; wait for it or name another folder",
                          text_string(&made->path));
    } else {
        code = tail_close(made, error);
    }
    if (code != STATUS_OK) {
        record_writer_close(made);
        return code;
    }
    *writer = made;
    return STATUS_OK;
}

bool record_is_in(const char *folder)
{
    struct text path = {0};
    struct stat state;
    text_format(&path, "%s/records.jsonl", folder);
    bool is_in = !path.failed && lstat(text_string(&path), &state) == 0;
    text_release(&path);
    return is_in;
}

bool record_is_unbegun(const char *path)
{
    struct stat state;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_unbegun =
        file >= 0 && fstat(file, &state) == 0 && S_ISREG(state.st_mode) && is_first_line_cut(file, state.st_size);
    if (file >= 0) {
        close(file);
    }
    return is_unbegun;
}

/* A folder that was deleted or moved away while a run writes into it: what follows would be lost, or land where nobody
 * looks. */
static enum status_code place_check(const struct record_writer *writer, struct status *error)
{
    struct stat opened, named;
    if (fstat(writer->file, &opened) != 0) {
        return writer_fail(writer, "cannot be examined", error);
    }
    bool is_named =
        stat(text_string(&writer->path), &named) == 0 && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
    if (is_named) {
        return STATUS_OK;
    }
    return status_set(error, STATUS_IO, "%s: %s while the run was writing to it; the run ends here",
                      text_string(&writer->path),
                      opened.st_nlink == 0 ? "it was deleted, with the records in it," : "it was moved or replaced");
}

enum status_code record_writer_append(struct record_writer *writer, const struct json *line, struct status *error)
{
    struct text text = {0};
    enum status_code code = place_check(writer, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = record_line_check(line, error);
    if (code != STATUS_OK) {
        char said[STATUS_LINE_BYTES];
        code = status_set(error, STATUS_INTERNAL, "a record line is wrong: %s",
                          error != NULL ? status_line(error, said) : "");
    } else {
        code = json_write(line, 0, &text, error);
    }
    text_append(&text, "\n");
    if (code == STATUS_OK && text.failed) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to write a line", text_string(&writer->path));
    }
    if (code == STATUS_OK) {
        bool written = bytes_write(writer->file, text.data, text.length) == 0;
        if (written && fsync(writer->file) != 0 && errno != EINVAL) {
            written = false;
        }
        if (written) {
            writer->size += (off_t)text.length;
        } else {
            code = writer_fail(writer, "cannot be written (what is in it stays readable)", error);
            if (ftruncate(writer->file, writer->size) != 0) { /* the reader copes with the rest of a line */
                status_prefix(error, "an unfinished line remains");
            }
        }
    }
    text_release(&text);
    return code;
}

enum status_code record_writer_cut(struct record_writer *writer, int64_t bytes, struct status *error)
{
    enum status_code code = place_check(writer, error);
    if (code == STATUS_OK && (ftruncate(writer->file, (off_t)bytes) != 0 || fsync(writer->file) != 0)) {
        code = writer_fail(writer, "cannot be cut back to its whole lines", error);
    }
    writer->size = code == STATUS_OK ? (off_t)bytes : writer->size;
    return code;
}

const char *record_writer_path(const struct record_writer *writer)
{
    return text_string(&writer->path);
}

void record_writer_close(struct record_writer *writer)
{
    if (writer != NULL) {
        if (writer->file >= 0) {
            close(writer->file);
        }
        text_release(&writer->path);
        free(writer);
    }
}
