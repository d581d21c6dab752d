/* Byte source: some bytes that can be read at any offset, wherever they are. A file is one (file_source.c), ranges of a
 * resource on a server another. What reads the header of a model file asks for the bytes that it needs and no others,
 * so that a header costs kilobytes where the tensors behind it are gigabytes. */
#ifndef ASSAY_BASE_BYTE_SOURCE_H
#define ASSAY_BASE_BYTE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"

struct byte_source;

struct byte_source_table {
    /* Reads exactly count bytes from offset on, all of them inside the source: byte_source_read has looked. STATUS_IO
     * where they do not arrive, with text "NAME: ..."; what stands in bytes is then undefined. */
    enum status_code (*read)(struct byte_source *source, int64_t offset, void *bytes, size_t count,
                             struct status *error);
    void (*release)(struct byte_source *source);
    bool is_parallel; /* several threads may read at once (wide_read.h) */
};

/* The first member of what an implementation allocates. */
struct byte_source {
    const struct byte_source_table *table;
    const char *name;   /* for messages: the path, or the address; lives as long as the source */
    int64_t size_bytes; /* of all there is; does not change */
};

/* Reads exactly count bytes from offset on. STATUS_INVALID if they are not all inside the source: "NAME: COUNT bytes
 * at byte OFFSET are wanted, but it ends at byte SIZE; ...". Else the errors of the implementation. */
enum status_code byte_source_read(struct byte_source *source, int64_t offset, void *bytes, size_t count,
                                  struct status *error);

void byte_source_release(struct byte_source *source); /* NULL is accepted */

/* A regular file, opened for reading; released by the caller. STATUS_IO if it cannot be opened or is something else
 * (a folder, a pipe). A file that grows or shrinks afterwards keeps the size that it had: what is gone is STATUS_IO. */
enum status_code file_source_open(const char *path, struct byte_source **source, struct status *error);

#endif
