/* The key `compare` of a suite: how far its results may differ from earlier ones. */
#ifndef ASSAY_SUITE_SUITE_COMPARE_H
#define ASSAY_SUITE_SUITE_COMPARE_H

#include "harness/record/tolerance.h"
#include "harness/suite/yaml_tree.h"

/* node: a map of levels to tolerances or `none`; NULL gives rules that say nothing. STATUS_INVALID with
 * "FILE:LINE:COLUMN: what is wrong; what would be right". */
enum status_code suite_compare_read(const struct yaml_tree *tree, const struct node *node, struct level_rules *rules,
                                    struct status *error);

#endif
