/* Line source: read(2) into one buffer that grows for long lines only. */
#include "harness/record/line_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/arena.h"
#include "harness/base/bytes_write.h"
#include "harness/base/regular_file.h"

enum { BLOCK_BYTES = 1 << 20 };

struct line_source {
    struct arena arena; /* for path */
    const char *path;
    int file, kept;             /* kept: what came out of a pipe; -1: file can be read again */
    char *buffer;               /* size + 1 bytes */
    size_t size, begin, filled; /* lines not yet taken stand from begin to filled */
    int64_t offset;             /* of begin in the file */
    bool ended, has_newline;    /* has_newline: behind the line that was taken last */
    char hidden;                /* what stands at begin, where a zero byte ends a line that was split there */
    char *again;
    size_t again_size;
};

static enum status_code memory_error(const struct line_source *source, struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to read it", source->path);
}

/* Without a name, so that nothing is left of it whatever happens. -1 where there is no place for it. */
static int nameless_open(struct arena *arena)
{
    const char *wish = getenv("TMPDIR");
    const char *path = arena_format(arena, "%s/assay-XXXXXX", wish != NULL && wish[0] == '/' ? wish : "/var/tmp");
    int file = path != NULL ? mkostemp((char *)(uintptr_t)path, O_CLOEXEC) : -1;
    if (file >= 0) {
        unlink(path);
    }
    return file;
}

static enum status_code pipe_open(struct line_source *source, const char *hint, struct status *error)
{
    source->file = open(source->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (source->file < 0) {
        return status_set(error, STATUS_IO, "%s: cannot be opened: %s; %s", source->path, strerror(errno), hint);
    }
    source->kept = nameless_open(&source->arena);
    if (source->kept < 0) {
        return status_set(error, STATUS_IO, "%s: no temporary file for it: %s; set TMPDIR to a folder with room",
                          source->path, strerror(errno));
    }
    return STATUS_OK;
}

enum status_code line_source_open(const char *path, bool pipes, const char *hint, struct line_source **source,
                                  struct status *error)
{
    struct line_source *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to read it", path);
    }
    made->file = made->kept = -1;
    made->path = arena_copy(&made->arena, path);
    made->buffer = malloc(BLOCK_BYTES + 1);
    made->size = BLOCK_BYTES;
    enum status_code code = STATUS_OK;
    if (made->path == NULL || made->buffer == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to read it", path);
    } else {
        struct stat kind;
        bool is_pipe = pipes && stat(path, &kind) == 0 && S_ISFIFO(kind.st_mode);
        code = is_pipe ? pipe_open(made, hint, error) : regular_file_read(path, hint, &made->file, error);
    }
    if (code != STATUS_OK) {
        line_source_close(made);
        return code;
    }
    *source = made;
    return STATUS_OK;
}

void line_source_close(struct line_source *source)
{
    if (source == NULL) {
        return;
    }
    if (source->file >= 0) {
        close(source->file);
    }
    if (source->kept >= 0) {
        close(source->kept);
    }
    free(source->buffer);
    free(source->again);
    arena_release(&source->arena);
    free(source);
}

/* Copies what came out of a pipe. */
static bool bytes_keep(const struct line_source *source, const char *bytes, size_t count)
{
    return source->kept < 0 || bytes_write(source->kept, bytes, count) == 0;
}

/* Room for more behind what is there: moved to the front, or the buffer grows. */
static bool room_make(struct line_source *source)
{
    if (source->begin > 0) {
        memmove(source->buffer, source->buffer + source->begin, source->filled - source->begin);
        source->filled -= source->begin;
        source->begin = 0;
    } else if (source->filled == source->size) {
        char *buffer = realloc(source->buffer, 2 * source->size + 1);
        if (buffer == NULL) {
            return false;
        }
        source->buffer = buffer;
        source->size *= 2;
    }
    return true;
}

static enum status_code block_read(struct line_source *source, struct status *error)
{
    ssize_t count;
    if (!room_make(source)) {
        return memory_error(source, error);
    }
    do {
        count = read(source->file, source->buffer + source->filled, source->size - source->filled);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        return status_set(error, STATUS_IO, "%s: cannot be read: %s", source->path, strerror(errno));
    }
    if (!bytes_keep(source, source->buffer + source->filled, (size_t)count)) {
        return status_set(error, STATUS_IO,
                          "%s: cannot be kept in a temporary file: %s; set TMPDIR to a folder with room", source->path,
                          strerror(errno));
    }
    source->filled += (size_t)count;
    source->ended = count == 0;
    return STATUS_OK;
}

enum status_code line_source_next(struct line_source *source, struct source_line *line, bool *more,
                                  struct status *error)
{
    size_t looked_at = 0; /* behind begin: no newline there */
    const char *newline = NULL;
    if (source->hidden != '\0') {
        source->buffer[source->begin] = source->hidden;
        source->hidden = '\0';
    }
    for (;;) {
        const char *from = source->buffer + source->begin + looked_at;
        newline = memchr(from, '\n', source->filled - source->begin - looked_at);
        looked_at = source->filled - source->begin;
        if (newline != NULL || source->ended || looked_at > LINE_BYTES_MAXIMUM) {
            break;
        }
        enum status_code code = block_read(source, error);
        if (code != STATUS_OK) {
            return code;
        }
    }
    *more = newline != NULL || looked_at > 0;
    char *bytes = source->buffer + source->begin;
    size_t length = newline != NULL ? (size_t)(newline - bytes) : looked_at;
    *line = (struct source_line){
        .bytes = bytes, .length = length, .offset = source->offset, .too_long = length >= LINE_BYTES_MAXIMUM};
    size_t passed = length + (newline != NULL ? 1 : 0);
    source->has_newline = newline != NULL;
    bytes[length] = '\0';
    source->begin += passed;
    source->offset += (int64_t)passed;
    return STATUS_OK;
}

enum status_code line_source_begin(struct line_source *source, const char **bytes, size_t *length, struct status *error)
{
    enum status_code code = STATUS_OK;
    while (code == STATUS_OK && !source->ended && source->filled < source->size) {
        code = block_read(source, error);
    }
    *bytes = source->buffer;
    *length = source->filled;
    return code;
}

void line_source_split(struct line_source *source, struct source_line *line, size_t count)
{
    size_t rest = line->length - count;
    if (source->has_newline) {
        line->bytes[line->length] = '\n';
    }
    source->begin -= rest + (source->has_newline ? 1 : 0);
    source->offset = line->offset + (int64_t)count;
    source->hidden = line->bytes[count];
    line->bytes[count] = '\0';
    line->length = count;
}

enum status_code line_source_again(struct line_source *source, int64_t offset, size_t length, char **bytes,
                                   struct status *error)
{
    if (length >= source->again_size) {
        char *again = realloc(source->again, length + 1);
        if (again == NULL) {
            return memory_error(source, error);
        }
        source->again = again;
        source->again_size = length + 1;
    }
    int file = source->kept >= 0 ? source->kept : source->file;
    for (size_t have = 0; have < length;) {
        ssize_t count = pread(file, source->again + have, length - have, (off_t)(offset + (int64_t)have));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return status_set(error, STATUS_IO, "%s: cannot be read again: %s; was it changed meanwhile?", source->path,
                              count < 0 ? strerror(errno) : "it has become shorter");
        }
        have += (size_t)count;
    }
    source->again[length] = '\0';
    *bytes = source->again;
    return STATUS_OK;
}
