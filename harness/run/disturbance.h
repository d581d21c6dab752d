/* Disturbance: whether somebody else used the GPU of a case, so that nobody knows whose bytes were wanting where memory
 * was refused. Internal to harness/run. */
#ifndef ASSAY_RUN_DISTURBANCE_H
#define ASSAY_RUN_DISTURBANCE_H

#include <stdbool.h>

#include "harness/base/json.h"

/* What a case says whose failure is left open for that reason. */
#define DISTURBANCE_NOTE "somebody else used the GPU, or may have unseen, so that nobody knows whose bytes were wanting"

/* Of a case line: others were seen on its GPU, or may have been there unseen, because NVML does not list even our own
 * process. False for what is no GPU. */
bool line_is_disturbed(const struct json *line);

#endif
