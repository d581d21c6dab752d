/* File append: text behind what a file already has, for files that several programs of one job write into, as the step
 * summary of a CI service. */
#ifndef ASSAY_BASE_FILE_APPEND_H
#define ASSAY_BASE_FILE_APPEND_H

#include "harness/base/status.h"
#include "harness/base/text.h"

/* Appends content to the file at path, which is made where it is missing; a link is followed. All of it or nothing: if
 * not all bytes find room, the file is cut back to what it was. Others who append with this wait meanwhile. A pipe or a
 * terminal takes what it takes. STATUS_IO with "PATH: cannot be written: cause"; STATUS_OUT_OF_MEMORY if content has
 * failed. */
enum status_code file_append(const char *path, const struct text *content, struct status *error);

#endif
