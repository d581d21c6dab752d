/* Device map file: a device map that somebody wrote, as accelerate and transformers take it. */
#ifndef ASSAY_CLI_DEVICE_MAP_FILE_H
#define ASSAY_CLI_DEVICE_MAP_FILE_H

#include "harness/base/json.h"
#include "harness/placement/device_map.h"

/* Reads {"model.layers.0": 0, "lm_head": "cpu"}, or such an object as "device_map" of another one. The entries are the
 * arena's, their paths the document's, which the caller releases. STATUS_INVALID with "FILE:LINE:COLUMN: cause;
 * remedy". */
enum status_code device_map_file_read(const char *path, struct arena *arena, struct json **document,
                                      struct device_map *map, struct status *error);

#endif
