/* Quantities: what can be predicted and measured, and so held against each other in a verdict. */
#ifndef ASSAY_RECORD_QUANTITY_H
#define ASSAY_RECORD_QUANTITY_H

#include <stdbool.h>

#include "harness/base/text.h"
#include "harness/record/level.h"

/* X(NAME, name in records, what of a measurement it is held against, its level or NONE).
 *
 *   HIGHEST    the highest of the level over all stages
 *   GROWTH     the highest reading of the level, less that of the context
 *   MEMBER     the member of the case line that has the quantity's name
 *   FOOTPRINT  the highest reading of the process; without one, of the device, less what others held before
 *
 * docs/FORMAT.md has it in full, section "Quantities". Each level that reports know has a row. */
#define QUANTITY_TABLE(X)                                                                                              \
    X(REQUESTED_BYTES_PEAK, LEVEL_PEAK_KEY(requested), HIGHEST, REQUESTED)                                             \
    X(ALLOCATED_BYTES_PEAK, LEVEL_PEAK_KEY(allocated), HIGHEST, ALLOCATED)                                             \
    X(RESERVED_BYTES_PEAK, LEVEL_PEAK_KEY(reserved), HIGHEST, RESERVED)                                                \
    X(SAVED_FOR_BACKWARD_BYTES, "saved_for_backward_bytes", MEMBER, NONE)                                              \
    X(TOTAL_BYTES, "total_bytes", HIGHEST, ALLOCATED)                                                                  \
    X(PROCESS_BYTES, LEVEL_KEY(process), GROWTH, PROCESS)                                                              \
    X(DEVICE_BYTES, LEVEL_KEY(device), GROWTH, DEVICE)                                                                 \
    X(FOOTPRINT_BYTES, "footprint_bytes", FOOTPRINT, NONE)

enum quantity {
#define QUANTITY_ENUM(name, ...) QUANTITY_##name,
    QUANTITY_TABLE(QUANTITY_ENUM)
#undef QUANTITY_ENUM
        QUANTITY_COUNT
};

enum quantity_measure { QUANTITY_HIGHEST, QUANTITY_GROWTH, QUANTITY_MEMBER, QUANTITY_FOOTPRINT };

const char *quantity_name(enum quantity quantity);

enum quantity_measure quantity_measure(enum quantity quantity);

/* LEVEL_COUNT: it is not of one level. */
enum level quantity_level(enum quantity quantity);

/* Whether it is a reading of the driver or the kernel, which other programs and the machine's state can touch. */
bool quantity_is_reading(enum quantity quantity);

/* False, and *quantity untouched, for a name that is not in the table. */
bool quantity_from_name(const char *name, enum quantity *quantity);

/* Appends the name for people, also one that is not in the table: "allocated_bytes_peak" -> "allocated peak". Raw
 * text. */
void quantity_words_append(struct text *text, const char *name);

/* The quantity that is measured where this one is predicted: a total is held against the allocated peak. NULL:
 * itself. */
const char *quantity_counterpart(const char *name);

/* All names, ended by NULL. */
const char *const *quantity_names(void);

#endif
