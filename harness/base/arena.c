/* Arena: a list of chunks, each at least 64 KiB. Not a general allocator: nothing is freed one by one. */
#include "harness/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t used;
    size_t size;
    size_t padding; /* keeps data aligned to 16 bytes */
};

static struct arena_chunk *chunk_new(struct arena *arena, size_t size)
{
    size_t data_size = size > CHUNK_BYTES ? size : CHUNK_BYTES;
    if (data_size > SIZE_MAX - sizeof(struct arena_chunk)) {
        return NULL;
    }
    struct arena_chunk *chunk = calloc(1, sizeof *chunk + data_size);
    if (chunk != NULL) {
        chunk->size = data_size;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT) {
        return NULL;
    }
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || chunk->size - chunk->used < size) {
        chunk = chunk_new(arena, size);
        if (chunk == NULL) {
            return NULL;
        }
    }
    void *memory = (char *)(chunk + 1) + chunk->used;
    chunk->used += size;
    return memory;
}

char *arena_copy(struct arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_alloc(arena, size);
    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return NULL;
    }
    char *text = arena_alloc(arena, (size_t)length + 1);
    if (text != NULL) {
        va_start(arguments, format);
        vsnprintf(text, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    return text;
}

void arena_release(struct arena *arena)
{
    while (arena->chunks != NULL) {
        struct arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
}
