/* Name table: each different text once, with a number. Numbers count from 0 in the order in which texts are first seen.
 * Finding one takes the same time however many there are. */
#ifndef ASSAY_BASE_NAME_TABLE_H
#define ASSAY_BASE_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/arena.h"

struct name_entry {
    const char *text;
    uint64_t hash;
};

/* All zero is an empty, usable table. */
struct name_table {
    struct name_entry *entries; /* by number */
    size_t count, capacity;
    uint32_t *slots; /* number + 1, at a place that the hash says; 0: free */
    size_t slot_count;
};

/* The number of text, which is copied into arena where it is new; -1: no memory, or 2^31 names. */
int name_table_add(struct name_table *table, struct arena *arena, const char *text);

/* The table's own copy of text, so that equal texts are one pointer; NULL: as above. text NULL gives NULL. */
const char *name_table_keep(struct name_table *table, struct arena *arena, const char *text);

void name_table_release(struct name_table *table); /* not the texts: those are in the arena */

#endif
