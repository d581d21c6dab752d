/* Exact units: a model cut into the pieces that a plan may give to different devices. Internal to harness/question.
 *
 * A piece is a module that is never split or has no children, or a tensor that belongs to a module between; in the
 * order in which the model registers them. A module or tensor that shares a tensor with an earlier piece belongs to
 * that piece. */
#ifndef ASSAY_QUESTION_EXACT_UNITS_H
#define ASSAY_QUESTION_EXACT_UNITS_H

#include "harness/placement/device_plan.h"

struct exact_units {
    const char **paths; /* of modules and tensors, in order */
    int *unit_of;       /* by path: its piece, which may be an earlier one than that of the path before */
    int path_count;
    int unit_count;
};

/* Memory is the arena's; paths are borrowed from skeleton. request: which classes stay whole, and nothing else. */
enum status_code exact_units_make(const struct skeleton *skeleton, const struct placement_request *request,
                                  struct arena *arena, struct exact_units *units, struct status *error);

#endif
