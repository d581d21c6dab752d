/* Wide read: a long piece of a byte source, read by several threads at once where the source allows it. One thread
 * takes what the kernel hands out; two or more keep the disk and the copying busy at the same time. */
#ifndef ASSAY_BASE_WIDE_READ_H
#define ASSAY_BASE_WIDE_READ_H

#include "harness/base/byte_source.h"

enum { WIDE_READ_RUN_BYTES = 1 << 20 };

/* As byte_source_read, whose errors it passes on: of several the first by offset. A source that is not read by several
 * at once, and less than two runs, is read by the caller alone. */
enum status_code wide_read(struct byte_source *source, int64_t offset, void *bytes, size_t count, struct status *error);

#endif
