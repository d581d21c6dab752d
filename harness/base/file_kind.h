/* File kind: what a file is that was given in place of JSON or YAML, told by its first bytes. For messages alone: a
 * reader asks when it cannot read a file, so that a packed one is told as such and not as a wrong character. */
#ifndef ASSAY_BASE_FILE_KIND_H
#define ASSAY_BASE_FILE_KIND_H

#include <stddef.h>

struct file_kind {
    const char *words;  /* "compressed with gzip", "a PNG picture": what follows "it is" */
    const char *remedy; /* "unpack it first, with gunzip"; NULL: name another file, which the reader can say best */
};

enum { FILE_KIND_BYTES = 512 }; /* that are looked at, at most */

/* The first bytes of a file, as many as there are up to FILE_KIND_BYTES. NULL: they are of no kind that is known here,
 * as JSON and YAML are. */
const struct file_kind *file_kind_of(const char *bytes, size_t length);

#endif
