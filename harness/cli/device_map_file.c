/* Device map file: JSON as people and accelerate write device maps. What a map means is
 * harness/placement/device_map. */
#include "harness/cli/device_map_file.h"

#include <string.h>

#include "harness/base/json_place.h"
#include "harness/base/json_pointer.h"

enum { MAP_BYTES_MAXIMUM = 16 << 20 };

/* 0, "0", "cpu", "cuda:1", "cuda". */
static bool device_of(const struct json *value, struct placement_device *device)
{
    const char *name = json_string_or(value, NULL);
    int64_t index = json_integer_or(value, -1);
    if (name == NULL) {
        *device = (struct placement_device){PLACEMENT_GPU, (int)index};
        return json_kind(value) == JSON_KIND_INTEGER && index >= 0 && index <= INT32_MAX;
    }
    if (strcmp(name, "cuda") == 0) {
        *device = (struct placement_device){PLACEMENT_GPU, 0};
        return true;
    }
    return placement_device_from_name(strncmp(name, "cuda:", 5) == 0 ? name + 5 : name, device);
}

/* A value that names no device, with its place in the file. */
static enum status_code device_refuse(const char *path, bool is_member, const char *key, struct status *error)
{
    struct text pointer = {0};
    enum status_code code =
        status_set(error, STATUS_INVALID,
                   "%s has no device of accelerate; write a number for a GPU, \"cpu\", \"mps\" or \"disk\"", key);
    text_append(&pointer, is_member ? "/device_map" : "");
    json_pointer_append(key, &pointer);
    json_place_add(path, text_string(&pointer), error);
    text_release(&pointer);
    return code;
}

static enum status_code map_fill(const char *path, const struct json *document, struct arena *arena,
                                 struct device_map *map, struct status *error)
{
    const struct json *object = json_get(document, "device_map");
    object = json_kind(object) == JSON_KIND_OBJECT ? object : document;
    if (json_kind(object) != JSON_KIND_OBJECT) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){path, 1, 1},
                             "a device map is an object; write {\"\": 0}");
    }
    map->entries = arena_alloc(arena, json_count(object) * sizeof *map->entries);
    if (map->entries == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for %s", path);
    }
    for (const char *key = json_key_after(object, NULL); key != NULL; key = json_key_after(object, key)) {
        struct device_map_entry *entry = &map->entries[map->count++];
        entry->path = key;
        if (!device_of(json_get(object, key), &entry->device)) {
            return device_refuse(path, object != document, key, error);
        }
    }
    return STATUS_OK;
}

enum status_code device_map_file_read(const char *path, struct arena *arena, struct json **document,
                                      struct device_map *map, struct status *error)
{
    struct json *read = NULL;
    struct device_map filled = {0};
    enum status_code code = json_parse_file(path, MAP_BYTES_MAXIMUM, &read, error);
    if (code == STATUS_OK) {
        code = map_fill(path, read, arena, &filled, error);
    }
    if (code != STATUS_OK) {
        json_release(read);
        return code;
    }
    *document = read;
    *map = filled;
    return STATUS_OK;
}
