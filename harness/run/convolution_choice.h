/* Convolution choice: which library computed the convolutions of a case, and with which engines. Internal to
 * harness/run. */
#ifndef ASSAY_RUN_CONVOLUTION_CHOICE_H
#define ASSAY_RUN_CONVOLUTION_CHOICE_H

#include "harness/base/json.h"
#include "harness/device/device.h"

/* Sets "convolutions" of a case line, as docs/FORMAT.md has it: null where none was computed so far. Nothing where the
 * device knows no such library. False if memory ran out. */
bool convolution_choice_set(struct json *object, const struct device *device);

#endif
