/* Synthetic points: cases whose peaks follow a law that the test chooses, so that a fit can be held against it. */
#ifndef ASSAY_TESTS_LAW_SYNTHETIC_POINTS_H
#define ASSAY_TESTS_LAW_SYNTHETIC_POINTS_H

#include "harness/law/law_points.h"
#include "harness/law/overhead_terms.h"

struct synthetic_kind {
    const char *kind;
    int model_count;
    double coefficients[TERM_COUNT];
    double allocator_bytes;
    const char *target;     /* NULL: "host" */
    const char *source;     /* NULL: "points.tsv" */
    double workspace_bytes; /* that its device takes beside */
    bool has_fixed_ratio;   /* the feed-forward is 4 times as wide as the hidden size in every model */
};

/* Adds models of the kind, 40 cases each: infer and generate, sdpa and eager, all logits and the last, two
 * precisions. */
void synthetic_points_add(struct law_points *points, const struct synthetic_kind *kind);

#endif
