/* Arena: memory that is released all at once. Addresses are stable. Not thread-safe. */
#ifndef ASSAY_BASE_ARENA_H
#define ASSAY_BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;

/* All zero is an empty, usable arena. */
struct arena {
    struct arena_chunk *chunks;
};

/* Zeroed memory, aligned to 16 bytes; NULL when the host has no memory. Size 0 gives a valid address. */
void *arena_alloc(struct arena *arena, size_t size);

/* A copy of text; NULL when the host has no memory. */
char *arena_copy(struct arena *arena, const char *text);

/* printf into the arena; NULL when the host has no memory. */
__attribute__((format(printf, 2, 3))) char *arena_format(struct arena *arena, const char *format, ...);

/* Releases everything; the arena is then empty and usable. */
void arena_release(struct arena *arena);

#endif
