/* Span set: the search tree of the C library. Spans that overlap compare as equal; among spans that do not, that is an
 * order. */
#include "harness/memory/span_set.h"

#include <search.h>
#include <stdlib.h>

static int span_compare(const void *a, const void *b)
{
    const struct span *x = a;
    const struct span *y = b;
    if (x->address + x->bytes <= y->address) {
        return -1;
    }
    return y->address + y->bytes <= x->address;
}

enum status_code span_set_add(struct span_set *set, struct span span, struct status *error)
{
    struct span *copy = malloc(sizeof *copy);
    if (copy != NULL) {
        *copy = span;
        struct span **found = tsearch(copy, &set->root, span_compare);
        if (found != NULL && *found == copy) {
            return STATUS_OK;
        }
        free(copy);
        if (found != NULL) {
            return STATUS_INVALID;
        }
    }
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to note a segment");
}

const struct span *span_set_find(const struct span_set *set, int64_t address, int64_t bytes)
{
    struct span wanted = {.address = address, .bytes = bytes};
    struct span *const *found = tfind(&wanted, &set->root, span_compare);
    return found != NULL ? *found : NULL;
}

void span_set_remove(struct span_set *set, int64_t address)
{
    const struct span *found = span_set_find(set, address, 1);
    if (found != NULL) {
        tdelete(found, &set->root, span_compare);
        free((void *)(uintptr_t)found);
    }
}

void span_set_release(struct span_set *set)
{
    tdestroy(set->root, free);
    set->root = NULL;
}
