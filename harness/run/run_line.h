/* Run lines: the first and the last line of a run. Internal to harness/run. */
#ifndef ASSAY_RUN_RUN_LINE_H
#define ASSAY_RUN_RUN_LINE_H

#include "harness/run/run.h"

/* The caller releases them; NULL where memory ran out. done: attempts that ended. */
struct json *run_line_make(const struct run_options *options, int total);
struct json *end_line_make(const struct run_result *result, int done);

#endif
