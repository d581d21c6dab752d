/* External figures: one answer of an external estimator, from what its program printed. Internal to harness/run. */
#ifndef ASSAY_RUN_EXTERNAL_FIGURES_H
#define ASSAY_RUN_EXTERNAL_FIGURES_H

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/suite/suite_external.h"

/* The estimate (external_estimates.h) that the output says, or, with output NULL, all unknown for the reason note.
 * version may be NULL. *is_whole: it has no note. NULL if memory ran out. */
struct json *external_figures(const struct suite_external *external, const struct text *output, const char *version,
                              const char *note, bool *is_whole);

#endif
