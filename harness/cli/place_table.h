/* Table of a plan for people: the devices, the modules on each, and the device map to paste. */
#ifndef ASSAY_CLI_PLACE_TABLE_H
#define ASSAY_CLI_PLACE_TABLE_H

#include "harness/base/text.h"
#include "harness/placement/device_plan.h"

/* Lines for output_lines: "0  10.00 GiB  ...  model.embed_tokens, model.layers.0-14"; in few columns the modules stand in a line of their
 * own below the figures. */
void place_table_append(const struct device_plan *plan, int columns, struct text *text);

/* The map as a Python dictionary, in lines of at most so many columns. */
void place_python_append(const struct device_map *map, int columns, struct text *text);

#endif
