/* Record writer: append one line, see it on the disk, go on. Not atomic replacement: earlier lines are never touched. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/regular_file.h"
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

/* All of it or an error; EINTR is not one. */
static bool bytes_write(int file, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(file, bytes, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        bytes += written;
        count -= (size_t)written;
    }
    return true;
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
    if (state.st_size > 0 && pread(writer->file, &last, 1, state.st_size - 1) != 1) {
        return writer_fail(writer, "cannot be read", error);
    }
    if (last != '\n') {
        if (!bytes_write(writer->file, "\n", 1)) {
            return writer_fail(writer, "cannot be written", error);
        }
        writer->size++;
    }
    return STATUS_OK;
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
    } else if (flock(made->file, LOCK_EX | LOCK_NB) != 0) {
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

enum status_code record_writer_append(struct record_writer *writer, const struct json *line, struct status *error)
{
    struct text text = {0};
    enum status_code code = record_line_check(line, error);
    if (code != STATUS_OK) {
        code = status_set(error, STATUS_INTERNAL, "a record line is wrong: %s", error != NULL ? error->text : "");
    } else {
        code = json_write(line, 0, &text, error);
    }
    text_append(&text, "\n");
    if (code == STATUS_OK && text.failed) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to write a line", text_string(&writer->path));
    }
    if (code == STATUS_OK) {
        bool written = bytes_write(writer->file, text.data, text.length);
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
