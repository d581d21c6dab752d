/* Table of a plan for people: the devices, the modules on each, and the device map to paste. */
#ifndef ASSAY_CLI_PLACE_TABLE_H
#define ASSAY_CLI_PLACE_TABLE_H

#include "harness/base/text.h"
#include "harness/placement/device_plan.h"

/* Lines for output_lines: "0  10.00 GiB  ...  model.embed_tokens, model.layers.0-14"; in few columns the modules stand
 * in a line of their own below the figures. */
void place_table_append(const struct device_plan *plan, int columns, struct text *text);

/* "model.embed_tokens, model.layers.0-14": what a device has, numbers that follow each other as one; "nothing". */
void place_modules_append(const struct device_map *map, struct placement_device device, struct text *text);
/* Between the figures and the modules, in so many columns. */
const char *place_modules_separator(int columns);

/* The map as a Python dictionary, in lines of at most so many columns. */
void place_python_append(const struct device_map *map, int columns, struct text *text);

#endif
