/* Line source: the lines of a file, in blocks, and any of them once more. Knows nothing of what stands in them. */
#ifndef ASSAY_RECORD_LINE_SOURCE_H
#define ASSAY_RECORD_LINE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"

enum { LINE_BYTES_MAXIMUM = 16 * 1024 * 1024 };

struct line_source; /* opaque */

struct source_line {
    char *bytes; /* ends with a zero byte in place of its newline; may be changed; valid until the next line is taken */
    size_t length;
    int64_t offset;
    bool too_long; /* more than LINE_BYTES_MAXIMUM: bytes and length are its beginning */
};

/* path: a regular file, or, where pipes are taken, a FIFO or a pipe, which is copied into a temporary file without a name
 * ($TMPDIR, else /var/tmp) as it is read. STATUS_IO: it is something else, or cannot be opened; hint
 * follows "; " in its text. */
enum status_code line_source_open(const char *path, bool pipes, const char *hint, struct line_source **source,
                                  struct status *error);
void line_source_close(struct line_source *source); /* NULL is accepted */

/* The next line; *more false at the end. STATUS_IO, STATUS_OUT_OF_MEMORY. */
enum status_code line_source_next(struct line_source *source, struct source_line *line, bool *more,
                                  struct status *error);

/* length bytes at offset once more; *bytes ends with a zero byte, may be changed, and is valid until the next call of this.
 * STATUS_IO: they are not there any more. */
enum status_code line_source_again(struct line_source *source, int64_t offset, size_t length, char **bytes,
                                   struct status *error);

#endif
