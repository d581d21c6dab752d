/* The module that takes what is taken: its path, kept once for the whole tape. A name for people; no event depends on it. */
#include <stdlib.h>
#include <string.h>

#include "harness/tape/graph.h"

enum { MODULES_MINIMUM = 256 };

/* FNV-1a */
static uint64_t path_hash(const char *path)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *path != '\0'; path++) {
        hash = (hash ^ (unsigned char)*path) * UINT64_C(1099511628211);
    }
    return hash;
}

/* The slot of a path: where it is, or where it would be. */
static const char **slot_find(const struct module_names *modules, const char *path)
{
    uint64_t mask = (uint64_t)modules->capacity - 1;
    uint64_t at = path_hash(path) & mask;
    while (modules->slots[at] != NULL && strcmp(modules->slots[at], path) != 0) {
        at = (at + 1) & mask;
    }
    return &modules->slots[at];
}

static bool modules_grow(struct tape *tape)
{
    struct module_names *modules = &tape->modules;
    struct module_names grown = {.count = modules->count,
                                 .capacity = modules->capacity > 0 ? modules->capacity * 2 : MODULES_MINIMUM};
    grown.slots = calloc((size_t)grown.capacity, sizeof *grown.slots);
    if (grown.slots == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for the names of modules");
        return false;
    }
    for (int i = 0; i < modules->capacity; i++) {
        if (modules->slots[i] != NULL) {
            *slot_find(&grown, modules->slots[i]) = modules->slots[i];
        }
    }
    free(modules->slots);
    *modules = grown;
    return true;
}

const char *tape_module_open(struct tape *tape, const char *path)
{
    const char *before = tape->module;
    struct module_names *modules = &tape->modules;
    if (tape->form.unplaced || tape_failed(tape) || (modules->count * 2 >= modules->capacity && !modules_grow(tape))) {
        return before;
    }
    const char **slot = slot_find(modules, path);
    if (*slot == NULL) {
        *slot = arena_copy(&tape->arena, path);
        modules->count++;
    }
    if (*slot == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for the name of a module");
        return before;
    }
    tape->module = *slot;
    return before;
}

void tape_module_close(struct tape *tape, const char *before)
{
    tape->module = before;
}
