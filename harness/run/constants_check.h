/* Constants check: whether the constants of a run are of the devices that it stands on, before anything is measured.
 * Internal to harness/run. */
#ifndef ASSAY_RUN_CONSTANTS_CHECK_H
#define ASSAY_RUN_CONSTANTS_CHECK_H

#include "harness/run/run.h"

/* devices: as in the run line; one whose name is not told is passed over, and left to the child that opens it. Warns,
 * once for each device, when constants that were asked for, or that a case would be judged by, were measured under
 * something else (constants_mismatch).
 * STATUS_INVALID: those that were asked for are of another device, with the remedy. Errors of constants_find. */
enum status_code constants_check(const struct run_options *options, const struct json *devices, struct status *error);

#endif
