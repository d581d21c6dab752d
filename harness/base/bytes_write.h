/* Bytes to a descriptor: the one loop over write(2). */
#ifndef ASSAY_BASE_BYTES_WRITE_H
#define ASSAY_BASE_BYTES_WRITE_H

#include <stddef.h>

/* Writes all of them, however often the system stops in between. 0, or the cause, which errno has
 * too; then some of them may be written. */
int bytes_write(int descriptor, const char *bytes, size_t count);

#endif
