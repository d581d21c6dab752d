/* Run lines: what a run writes before and behind its cases. */
#ifndef ASSAY_RUN_RUN_LINE_H
#define ASSAY_RUN_RUN_LINE_H

#include "harness/run/device_claim.h"
#include "harness/run/resumption.h"
#include "harness/run/run.h"

enum { TIME_BYTES = 32 };

/* Now, as records write it: "2026-11-20T02:00:00Z"; "" if it is not known. Returns text. */
const char *time_text(char text[TIME_BYTES]);

/* The caller releases them; NULL if memory ran out. done: attempts that ended. resumption: of the run that goes on;
 * NULL: one begins. */
struct json *run_line_make(const struct run_options *options, const struct device_claim *claim, int total,
                           const struct resumption *resumption);
/* The next selected cases from *next on, which then stands behind them; their "ids" may be empty if none is left. */
struct json *selected_line_make(const struct run_options *options, int *next);
struct json *end_line_make(const struct run_result *result, int done);

#endif
