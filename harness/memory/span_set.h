/* Span set: ranges of addresses that do not overlap, found by an address in logarithmic time, whatever a file from
 * outside puts into it. */
#ifndef ASSAY_MEMORY_SPAN_SET_H
#define ASSAY_MEMORY_SPAN_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"

/* From address up to, not including, address + bytes, which must fit 63 bits. bytes > 0, address >= 0. */
struct span {
    int64_t address, bytes;
    size_t number; /* the owner's */
};

/* All zero is an empty set. */
struct span_set {
    void *root;
};

/* Adds a span that overlaps none of the set. STATUS_INVALID, without a text, where it does;
 * STATUS_OUT_OF_MEMORY, with one. */
enum status_code span_set_add(struct span_set *set, struct span span, struct status *error);

/* A span that has at least one address in common with this range, or NULL. Valid until it is removed. */
const struct span *span_set_find(const struct span_set *set, int64_t address, int64_t bytes);

/* Removes the span that has this address in it, if there is one. */
void span_set_remove(struct span_set *set, int64_t address);

void span_set_release(struct span_set *set);

#endif
