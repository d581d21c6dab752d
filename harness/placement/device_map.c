/* Device map: names of devices, cleaning and checking. Not the planner: the maps may be a user's own. */
#include "harness/placement/device_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"

static const char *const names[] = {[PLACEMENT_MPS] = "mps", [PLACEMENT_CPU] = "cpu", [PLACEMENT_DISK] = "disk"};

const char *placement_device_name(struct placement_device device, char text[DEVICE_TEXT_BYTES])
{
    if (device.kind == PLACEMENT_GPU) {
        snprintf(text, DEVICE_TEXT_BYTES, "%d", device.index);
    } else {
        snprintf(text, DEVICE_TEXT_BYTES, "%s", names[device.kind]);
    }
    return text;
}

bool placement_device_from_name(const char *name, struct placement_device *device)
{
    int64_t index = 0;
    for (int kind = PLACEMENT_MPS; kind <= PLACEMENT_DISK; kind++) {
        if (strcmp(name, names[kind]) == 0) {
            *device = (struct placement_device){.kind = (enum placement_device_kind)kind};
            return true;
        }
    }
    if (integer_parse(name, 0, INT32_MAX, &index, NULL) != STATUS_OK) {
        return false;
    }
    *device = (struct placement_device){.kind = PLACEMENT_GPU, .index = (int)index};
    return true;
}

bool placement_device_equal(struct placement_device a, struct placement_device b)
{
    return a.kind == b.kind && a.index == b.index;
}

int placement_device_order(struct placement_device a, struct placement_device b)
{
    return a.kind != b.kind ? (a.kind < b.kind ? -1 : 1) : (a.index > b.index) - (a.index < b.index);
}

/* An entry while the map is cleaned. */
struct ranked_entry {
    const char *path;
    size_t length; /* of what is left of the path after cleaning */
    struct placement_device device;
    int rank; /* the place in the map */
};

/* By the parts of the path, so that all that lies below a prefix stands together. */
static int path_compare(const void *a, const void *b)
{
    const unsigned char *x = (const unsigned char *)((const struct ranked_entry *)a)->path;
    const unsigned char *y = (const unsigned char *)((const struct ranked_entry *)b)->path;
    while (*x != '\0' && *x == *y) {
        x++;
        y++;
    }
    int left = *x == '\0' ? -2 : *x == '.' ? -1 : *x, right = *y == '\0' ? -2 : *y == '.' ? -1 : *y;
    return (left > right) - (left < right);
}

static int rank_compare(const void *a, const void *b)
{
    int x = ((const struct ranked_entry *)a)->rank, y = ((const struct ranked_entry *)b)->rank;
    return (x > y) - (x < y);
}

static bool is_uniform(const struct ranked_entry *entries, int count)
{
    for (int i = 1; i < count; i++) {
        if (!placement_device_equal(entries[i].device, entries[0].device)) {
            return false;
        }
    }
    return count > 1;
}

/* The entries share the first `prefix` bytes of their paths, which end with a point or are none. Returns how many are
 * left, at the front. */
static int range_clean(struct ranked_entry *entries, int count, size_t prefix)
{
    if (is_uniform(entries, count)) {
        for (int i = 1; i < count; i++) {
            entries[0].rank = entries[i].rank < entries[0].rank ? entries[i].rank : entries[0].rank;
        }
        entries[0].length = prefix > 0 ? prefix - 1 : 0;
        return 1;
    }
    int kept = 0;
    for (int first = 0; first < count;) {
        size_t part = strcspn(entries[first].path + prefix, ".");
        int last = first + 1;
        while (last < count && strncmp(entries[last].path, entries[first].path, prefix + part) == 0 &&
               (entries[last].path[prefix + part] == '\0' || entries[last].path[prefix + part] == '.')) {
            last++;
        }
        /* The key of the child itself is not below it. */
        int own = entries[first].path[prefix + part] == '\0' ? 1 : 0;
        memmove(entries + kept, entries + first, (size_t)own * sizeof *entries);
        kept += own;
        if (last > first + own) {
            int left = range_clean(entries + first + own, last - first - own, prefix + part + 1);
            memmove(entries + kept, entries + first + own, (size_t)left * sizeof *entries);
            kept += left;
        }
        first = last;
    }
    return kept;
}

/* The paths as they are after cleaning. False if memory ran out. */
static bool paths_shorten(struct ranked_entry *entries, int count, struct arena *arena)
{
    for (int i = 0; i < count; i++) {
        if (entries[i].path[entries[i].length] != '\0') {
            char *path = arena_alloc(arena, entries[i].length + 1);
            if (path == NULL) {
                return false;
            }
            memcpy(path, entries[i].path, entries[i].length);
            entries[i].path = path;
        }
    }
    return true;
}

enum status_code device_map_clean(struct device_map *map, struct arena *arena, struct status *error)
{
    if (map->count == 0) {
        return STATUS_OK;
    }
    struct ranked_entry *entries = calloc((size_t)map->count, sizeof *entries);
    if (entries == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a device map");
    }
    for (int i = 0; i < map->count; i++) {
        const struct device_map_entry *entry = &map->entries[i];
        entries[i] = (struct ranked_entry){entry->path, strlen(entry->path), entry->device, i};
    }
    qsort(entries, (size_t)map->count, sizeof *entries, path_compare);
    int kept = range_clean(entries, map->count, 0);
    qsort(entries, (size_t)kept, sizeof *entries, rank_compare);
    bool made = paths_shorten(entries, kept, arena);
    for (int i = 0; i < kept && made; i++) {
        map->entries[i] = (struct device_map_entry){entries[i].path, entries[i].device};
    }
    map->count = made ? kept : map->count;
    free(entries);
    return made ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a device map");
}

/* A path that need not end where its text does. */
struct path_piece {
    const char *path;
    size_t length;
};

static int piece_compare(const void *a, const void *b)
{
    const struct path_piece *x = a, *y = b;
    int order = memcmp(x->path, y->path, x->length < y->length ? x->length : y->length);
    return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

static bool piece_is_among(const char *path, size_t length, const struct path_piece *pieces, int count)
{
    const struct path_piece piece = {path, length};
    return bsearch(&piece, pieces, (size_t)count, sizeof piece, piece_compare) != NULL;
}

/* Whether a key names the tensor, a module around it, or everything. */
static bool is_covered(const char *path, const struct path_piece *keys, int key_count)
{
    if (piece_is_among(path, 0, keys, key_count)) {
        return true;
    }
    for (const char *point = strchr(path, '.'); point != NULL; point = strchr(point + 1, '.')) {
        if (piece_is_among(path, (size_t)(point - path), keys, key_count)) {
            return true;
        }
    }
    return piece_is_among(path, strlen(path), keys, key_count);
}

enum status_code device_map_check(const struct device_map *map, const struct skeleton *skeleton, struct arena *arena,
                                  struct device_map_check *check, struct status *error)
{
    size_t module_count = (size_t)skeleton->module_count, key_count = (size_t)map->count;
    struct path_piece *modules = calloc(module_count + 1, sizeof *modules);
    struct path_piece *keys = calloc(key_count + 1, sizeof *keys);
    struct device_map_check result = {
        .unknown = arena_alloc(arena, key_count * sizeof *result.unknown),
        .uncovered = arena_alloc(arena, (size_t)skeleton->tensor_count * sizeof *result.uncovered),
    };
    bool made = modules != NULL && keys != NULL && result.unknown != NULL && result.uncovered != NULL;
    for (size_t i = 0; i < module_count && made; i++) {
        modules[i] = (struct path_piece){skeleton->modules[i].path, strlen(skeleton->modules[i].path)};
    }
    for (size_t i = 0; i < key_count && made; i++) {
        keys[i] = (struct path_piece){map->entries[i].path, strlen(map->entries[i].path)};
    }
    if (made) {
        qsort(modules, module_count, sizeof *modules, piece_compare);
        qsort(keys, key_count, sizeof *keys, piece_compare);
    }
    for (int i = 0; i < map->count && made; i++) {
        const char *path = map->entries[i].path;
        if (path[0] != '\0' && !piece_is_among(path, strlen(path), modules, skeleton->module_count)) {
            result.unknown[result.unknown_count++] = path;
        }
    }
    for (int i = 0; i < skeleton->tensor_count && made; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        if (tensor->persistent && !is_covered(tensor->path, keys, map->count)) {
            result.uncovered[result.uncovered_count++] = tensor->path;
        }
    }
    free(modules);
    free(keys);
    if (!made) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the check of a device map");
    }
    *check = result;
    return STATUS_OK;
}
