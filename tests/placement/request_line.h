/* Request line: a request for a plan as one line, in golden files and between peers/placement/device_maps.py and
 * answer_plans.c.
 *
 *   STRATEGY WIDTH CLASSES FLAGS BUDGETS
 *
 * STRATEGY balanced, balanced_low_0 or sequential; WIDTH a dtype or '-'; CLASSES own, none or A,B; FLAGS of f (fallback),
 * b (offload_buffers), k (not cleaned), or '-'; BUDGETS 0=BYTES,cpu=BYTES. */
#ifndef ASSAY_TESTS_PLACEMENT_REQUEST_LINE_H
#define ASSAY_TESTS_PLACEMENT_REQUEST_LINE_H

#include "harness/placement/device_plan.h"

enum { REQUEST_BUDGETS_MAXIMUM = 16, REQUEST_CLASSES_MAXIMUM = 8 };

struct request_line {
    char text[1024]; /* the line, cut into words; request points into it */
    struct placement_budget budgets[REQUEST_BUDGETS_MAXIMUM];
    const char *classes[REQUEST_CLASSES_MAXIMUM];
    struct placement_request request;
};

/* False for a line that is no request. The line stays where it is. */
bool request_line_read(const char *text, struct request_line *line);

/* Into word: the name of the Python exception that an error says accelerate raises; "ValueError" where it names none. */
void exception_name(const struct status *error, char word[32]);

/* FNV-1a over "path=device\n" of every entry, sorted by path, then over the balanced budgets, "@0=BITS\n". */
uint64_t device_plan_hash(const struct device_plan *plan);

#endif
