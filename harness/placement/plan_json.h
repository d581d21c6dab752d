/* Plan as JSON, with accelerate's own keys. */
#ifndef ASSAY_PLACEMENT_PLAN_JSON_H
#define ASSAY_PLACEMENT_PLAN_JSON_H

#include "harness/base/json.h"
#include "harness/placement/device_plan.h"

/* 0 for a GPU, "cpu", "mps", "disk". */
struct json *placement_device_json(struct placement_device device);

/* Sets "device_map": {"model.layers.0": 0, ...}, "max_memory": {"0": BYTES, "cpu": BYTES} after balancing, "devices":
 * [{"device", "budget_bytes", "placed_bytes", "weight_bytes", "buffer_bytes", "reserved_bytes", "minimum_bytes"}], and
 * "uncovered": [PATH]. Bytes are whole if they can be. False if memory ran out. */
bool device_plan_set(const struct device_plan *plan, struct json *document);

#endif
