/* Request line: a request for a plan as one line, in golden files and between peers/placement/device_maps.py and
 * answer_plans.c.
 *
 *   STRATEGY WIDTH CLASSES FLAGS BUDGETS
 *
 * STRATEGY balanced, balanced_low_0 or sequential; WIDTH a dtype or '-'; CLASSES own, none or A,B; FLAGS of f
 * (fallback), b (offload_buffers), k (not cleaned), or '-'; BUDGETS 0=BYTES,cpu=BYTES, and behind them, where tensors
 * have a type of their own, ";PATH=DTYPE,PATH=DTYPE". */
#ifndef ASSAY_TESTS_PLACEMENT_REQUEST_LINE_H
#define ASSAY_TESTS_PLACEMENT_REQUEST_LINE_H

#include "harness/placement/device_plan.h"
#include "models/skeleton/skeleton_builder.h"

enum { REQUEST_BUDGETS_MAXIMUM = 16, REQUEST_CLASSES_MAXIMUM = 8, REQUEST_SPECIALS_MAXIMUM = 8 };

struct request_line {
    char text[1024]; /* the line, cut into words; request points into it */
    struct placement_budget budgets[REQUEST_BUDGETS_MAXIMUM];
    const char *classes[REQUEST_CLASSES_MAXIMUM];
    struct special_width specials[REQUEST_SPECIALS_MAXIMUM];
    struct placement_request request;
};

/* False for a line that is no request. The line stays where it is. */
bool request_line_read(const char *text, struct request_line *line);

/* Adds what a line of a toy model says; other lines add nothing.
 *   module PARENT NAME CLASS             PARENT: index of a module, -1 and the name "." for the root
 *   tensor p|b|t NAME DTYPE COUNT TIED   parameter, buffer or transient buffer of the newest module; TIED: index of the
 *                                        tensor whose storage it has, or -1 */
void request_toy_line(const char *line, struct skeleton_builder *builder);

/* Into word: the name of the Python exception that an error says accelerate raises; "ValueError" where it names
 * none. */
void exception_name(const struct status *error, char word[32]);

/* FNV-1a over "path=device\n" of every entry, sorted by path, then over the balanced budgets, "@0=BITS\n". */
uint64_t device_plan_hash(const struct device_plan *plan);

#endif
