/* Device map: paths of modules or parameters, each with a device, as accelerate and transformers hand it around.
 *
 * A key covers everything below it; "" covers the whole model. */
#ifndef ASSAY_PLACEMENT_DEVICE_MAP_H
#define ASSAY_PLACEMENT_DEVICE_MAP_H

#include <stdbool.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "models/skeleton/skeleton.h"

enum placement_device_kind {
    PLACEMENT_GPU, /* an integer in Python */
    PLACEMENT_MPS,
    PLACEMENT_CPU,
    PLACEMENT_DISK
};

struct placement_device {
    enum placement_device_kind kind;
    int index; /* of a GPU; else 0 */
};

enum { DEVICE_TEXT_BYTES = 16 };

/* "0", "mps", "cpu", "disk". Returns text. */
const char *placement_device_name(struct placement_device device, char text[DEVICE_TEXT_BYTES]);
/* False, and *device untouched, for a name that accelerate does not know. */
bool placement_device_from_name(const char *name, struct placement_device *device);
bool placement_device_equal(struct placement_device a, struct placement_device b);
/* GPUs by number, then mps, cpu, disk: negative, 0 or positive, as qsort wants it. */
int placement_device_order(struct placement_device a, struct placement_device b);

struct device_map_entry {
    const char *path;
    struct placement_device device;
};

struct device_map {
    struct device_map_entry *entries; /* each path once */
    int count;
};

/* clean_device_map: where at least two keys share a prefix and all of them a device, the prefix takes their place, that
 * of the first of them. New paths are the arena's. STATUS_OUT_OF_MEMORY, and the map is as it was. */
enum status_code device_map_clean(struct device_map *map, struct arena *arena, struct status *error);

/* check_device_map. unknown: keys that are no module of the model (those of parameters among them), of which accelerate
 * warns; uncovered: tensors of the state dict that no key covers, for which it raises ValueError. The lists are the
 * arena's, the texts are borrowed from map and skeleton. */
struct device_map_check {
    const char **unknown;
    int unknown_count;
    const char **uncovered;
    int uncovered_count;
};
enum status_code device_map_check(const struct device_map *map, const struct skeleton *skeleton, struct arena *arena,
                                  struct device_map_check *check, struct status *error);

#endif
