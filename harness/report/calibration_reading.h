/* Calibration readings: what one attempt at a case says of the context and of what grew beyond the allocator's
 * segments. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_CALIBRATION_READING_H
#define ASSAY_REPORT_CALIBRATION_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"

struct figure {
    bool known;
    int64_t bytes; /* 0 if it is not known */
};

enum { FIGURE_CONTEXT_PROCESS, FIGURE_CONTEXT_DEVICE, FIGURE_GROWTH_PROCESS, FIGURE_GROWTH_DEVICE, FIGURE_COUNT };

struct reading {
    char mode[16]; /* as in records: "load", "infer", ... */
    struct figure figures[FIGURE_COUNT];
};

/* Of a case line that was measured. */
struct reading reading_of(const struct json *line);

#endif
