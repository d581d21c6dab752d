/* Array: growth by doubling with checked arithmetic. Not for text (text.h), and not for tables of hashes, which grow by
 * being filled anew. */
#include "harness/base/array.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_AT_FIRST = 16 };

/* Twice as many as there are. False: too many elements or bytes. */
static bool room_measure(size_t count, size_t element_bytes, size_t *wanted, size_t *bytes)
{
    *wanted = count > 0 ? 2 * count : CAPACITY_AT_FIRST;
    return count <= INT_MAX / 2 && !__builtin_mul_overflow(*wanted, element_bytes, bytes);
}

void *array_extend(void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    size_t wanted, bytes;
    if (count < *capacity) {
        return array;
    }
    void *grown = room_measure(count, element_bytes, &wanted, &bytes) ? realloc(array, bytes) : NULL;
    *capacity = grown != NULL ? wanted : *capacity;
    return grown;
}

void *arena_array_extend(struct arena *arena, void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    size_t wanted, bytes;
    if (count < *capacity) {
        return array;
    }
    void *grown = room_measure(count, element_bytes, &wanted, &bytes) ? arena_alloc(arena, bytes) : NULL;
    if (grown != NULL) {
        if (count > 0) {
            memcpy(grown, array, count * element_bytes);
        }
        *capacity = wanted;
    }
    return grown;
}
