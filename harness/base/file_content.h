/* File content: a whole file from outside, read into memory. */
#ifndef ASSAY_BASE_FILE_CONTENT_H
#define ASSAY_BASE_FILE_CONTENT_H

#include <stddef.h>

#include "harness/base/status.h"
#include "harness/base/text.h"

/* Reads a file of at most maximum_bytes into content, which is empty and is released by the caller, also on failure.
 * kind: what it should be, for the error: "JSON". STATUS_IO if it cannot be read or is not a regular file, for which
 * nothing is waited; STATUS_INVALID if it is larger. */
enum status_code file_content_read(const char *path, const char *kind, size_t maximum_bytes, struct text *content,
                                   struct status *error);

#endif
