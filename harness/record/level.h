/* Levels: the five counts of bytes of docs/NUMBERS.md, by the names that reports and options have for them. */
#ifndef ASSAY_RECORD_LEVEL_H
#define ASSAY_RECORD_LEVEL_H

#include <stdbool.h>

/* Device: what the driver counts on the whole device; process: what it counts for the process, or its resident
 * bytes. */
enum level { LEVEL_REQUESTED, LEVEL_ALLOCATED, LEVEL_RESERVED, LEVEL_DEVICE, LEVEL_PROCESS, LEVEL_COUNT };

const char *level_name(enum level level); /* "requested", ... */

/* All names, ended by NULL. */
const char *const *level_names(void);

/* False, and *level untouched, for a name that is none of them. */
bool level_from_name(const char *name, enum level *level);

/* Whether it is a reading of the driver or the kernel. The other levels are decided by the tape and the allocator: the
 * same case has the same bytes each time. */
bool level_is_reading(enum level level);

#endif
