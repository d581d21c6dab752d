/* Page sink: where a result goes: a file, replaced as a whole, or standard output. Opened before the first line is
 * made, so that long results pass through. */
#ifndef ASSAY_CLI_PAGE_SINK_H
#define ASSAY_CLI_PAGE_SINK_H

#include "harness/base/file_replace.h"
#include "harness/base/status.h"
#include "harness/base/text.h"

/* Stays where it is while it is open: text points into it. */
struct page_sink {
    struct text text; /* what is to be written */
    struct text_drain to_stdout;
    struct file_replacement *file;
};

/* path: NULL: standard output. STATUS_IO: the file cannot be written; close it after an error too. */
enum status_code page_sink_open(const char *path, struct page_sink *sink, struct status *error);

/* Ends it if code is STATUS_OK, and drops it otherwise. Returns the first error. All zero is accepted with an error. */
enum status_code page_sink_close(struct page_sink *sink, enum status_code code, struct status *error);

#endif
