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

/* path: a regular file, or, where pipes are taken, a FIFO or a pipe, which is copied into a temporary file without a
 * name ($TMPDIR, else /var/tmp) as it is read. STATUS_IO: it is something else, or cannot be opened; hint
 * follows "; " in its text. */
enum status_code line_source_open(const char *path, bool pipes, const char *hint, struct line_source **source,
                                  struct status *error);
void line_source_close(struct line_source *source); /* NULL is accepted */

/* The next line; *more false at the end. STATUS_IO, STATUS_OUT_OF_MEMORY. */
enum status_code line_source_next(struct line_source *source, struct source_line *line, bool *more,
                                  struct status *error);

/* The first bytes of the file, at most a block of them; before the first line is taken. *bytes is valid until then.
 * STATUS_IO, STATUS_OUT_OF_MEMORY. */
enum status_code line_source_begin(struct line_source *source, const char **bytes, size_t *length,
                                   struct status *error);

/* The line that was taken last ends at count bytes, and what stands behind them is the next line. count is at least 1,
 * and less than the length of the line. */
void line_source_split(struct line_source *source, struct source_line *line, size_t count);

/* length bytes at offset once more; *bytes ends with a zero byte, may be changed, and is valid until the next call of
 * this. STATUS_IO: they are not there any more. */
enum status_code line_source_again(struct line_source *source, int64_t offset, size_t length, char **bytes,
                                   struct status *error);

#endif
