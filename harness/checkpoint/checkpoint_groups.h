/* Checkpoint groups: what is stored, summed by storage type or by module. */
#ifndef ASSAY_CHECKPOINT_CHECKPOINT_GROUPS_H
#define ASSAY_CHECKPOINT_CHECKPOINT_GROUPS_H

#include "harness/checkpoint/checkpoint.h"

struct checkpoint_group {
    const char *name; /* "BF16"; "model.layers.*.mlp.up_proj" */
    int tensor_count;
    int64_t element_count, bytes;
};

struct checkpoint_groups {
    struct arena arena; /* owns the groups and their names */
    struct checkpoint_group *groups;
    int count; /* largest first, then by name */
};

enum checkpoint_grouping {
    CHECKPOINT_BY_TYPE,
    CHECKPOINT_BY_MODULE /* names without their last part, numbers as '*': the same module of all layers is one */
};

/* STATUS_OUT_OF_MEMORY alone. The caller releases the groups. */
enum status_code checkpoint_group(const struct checkpoint *checkpoint, enum checkpoint_grouping grouping,
                                  struct checkpoint_groups *groups, struct status *error);
void checkpoint_groups_release(struct checkpoint_groups *groups);

#endif
