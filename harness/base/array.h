/* Array: one that grows, of elements of one size. Whoever has it keeps its address, its count and its capacity. */
#ifndef ASSAY_BASE_ARRAY_H
#define ASSAY_BASE_ARRAY_H

#include <stddef.h>

#include "harness/base/arena.h"

/* An array that has room for at least one element behind the first `count`: the same one while count is below
 * *capacity, else one of twice the capacity, with the elements copied; the old address is then void. A NULL array has
 * the capacity 0; the caller frees what is returned. NULL: the host has no memory for it, it would have more than
 * INT_MAX elements, or its size does not fit; array and *capacity are then as they were. */
void *array_extend(void *array, size_t count, size_t *capacity, size_t element_bytes);

/* The same in an arena, where the old array stays until the arena goes: at most as much again. */
void *arena_array_extend(struct arena *arena, void *array, size_t count, size_t *capacity, size_t element_bytes);

#endif
