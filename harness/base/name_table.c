/* Name table: open addressing, twice as many slots as names. Nothing is ever taken out. */
#include "harness/base/name_table.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_AT_FIRST = 64 };

static uint64_t text_hash(const char *text, size_t length)
{
    const uint64_t factor = 0x9E3779B97F4A7C15u;
    uint64_t hash = length * factor, word;
    for (; length >= sizeof word; text += sizeof word, length -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, text, length);
    hash = (hash ^ word) * factor;
    return hash ^ hash >> 29;
}

/* The slot of text, or the free one where it would stand. */
static uint32_t *slot_find(const struct name_table *table, const char *text, uint64_t hash)
{
    size_t at = (size_t)hash & (table->slot_count - 1);
    while (table->slots[at] != 0) {
        const struct name_entry *entry = &table->entries[table->slots[at] - 1];
        if (entry->hash == hash && strcmp(entry->text, text) == 0) {
            break;
        }
        at = (at + 1) & (table->slot_count - 1);
    }
    return &table->slots[at];
}

static bool table_grow(struct name_table *table)
{
    size_t capacity = table->capacity > 0 ? table->capacity * 2 : ENTRIES_AT_FIRST;
    struct name_entry *entries = capacity < INT_MAX ? realloc(table->entries, capacity * sizeof *entries) : NULL;
    uint32_t *slots = entries != NULL ? calloc(capacity * 2, sizeof *slots) : NULL;
    table->entries = entries != NULL ? entries : table->entries;
    if (slots == NULL) {
        return false;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = capacity * 2;
    table->capacity = capacity;
    for (size_t number = 0; number < table->count; number++) {
        *slot_find(table, entries[number].text, entries[number].hash) = (uint32_t)number + 1;
    }
    return true;
}

int name_table_add(struct name_table *table, struct arena *arena, const char *text)
{
    uint64_t hash = text_hash(text, strlen(text));
    if (table->count == table->capacity && !table_grow(table)) {
        return -1;
    }
    uint32_t *slot = slot_find(table, text, hash);
    if (*slot == 0) {
        const char *copy = arena_copy(arena, text);
        if (copy == NULL) {
            return -1;
        }
        table->entries[table->count++] = (struct name_entry){.text = copy, .hash = hash};
        *slot = (uint32_t)table->count;
    }
    return (int)*slot - 1;
}

const char *name_table_keep(struct name_table *table, struct arena *arena, const char *text)
{
    int number = text != NULL ? name_table_add(table, arena, text) : -1;
    return number >= 0 ? table->entries[number].text : NULL;
}

void name_table_release(struct name_table *table)
{
    free(table->entries);
    free(table->slots);
    *table = (struct name_table){0};
}
