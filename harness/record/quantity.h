/* Quantities: what can be predicted and measured, and so held against each other in a verdict. */
#ifndef ASSAY_RECORD_QUANTITY_H
#define ASSAY_RECORD_QUANTITY_H

#include <stdbool.h>

#include "harness/base/text.h"

/* X(NAME, name in records). How each is measured is said in docs/FORMAT.md, section "Quantities". */
#define QUANTITY_TABLE(X)                                                                                              \
    X(REQUESTED_BYTES_PEAK, "requested_bytes_peak")                                                                    \
    X(ALLOCATED_BYTES_PEAK, "allocated_bytes_peak")                                                                    \
    X(RESERVED_BYTES_PEAK, "reserved_bytes_peak")                                                                      \
    X(SAVED_FOR_BACKWARD_BYTES, "saved_for_backward_bytes")                                                            \
    X(TOTAL_BYTES, "total_bytes")                                                                                      \
    X(PROCESS_BYTES, "process_bytes")                                                                                  \
    X(DEVICE_BYTES, "device_bytes")                                                                                    \
    X(FOOTPRINT_BYTES, "footprint_bytes")

enum quantity {
#define QUANTITY_ENUM(name, text) QUANTITY_##name,
    QUANTITY_TABLE(QUANTITY_ENUM)
#undef QUANTITY_ENUM
        QUANTITY_COUNT
};

const char *quantity_name(enum quantity quantity);

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
