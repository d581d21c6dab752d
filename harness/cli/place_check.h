/* Check of a device map that somebody wrote, as check_device_map of accelerate does it. */
#ifndef ASSAY_CLI_PLACE_CHECK_H
#define ASSAY_CLI_PLACE_CHECK_H

#include "harness/cli/place_options.h"

/* Reads the map from a file ({"model.layers.0": 0, "lm_head": "cpu"}, or such an object as "device_map" of another
 * one), warns of keys that are no module, and prints the tensors that no key covers: exit code 1. */
enum status_code place_check(const struct arguments *arguments, struct place_case *place, enum exit_code *exit_code,
                             struct status *error);

#endif
