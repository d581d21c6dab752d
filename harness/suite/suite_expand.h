/* Expansion: from the keys of a case to its combinations. Internal to harness/suite. */
#ifndef ASSAY_SUITE_SUITE_EXPAND_H
#define ASSAY_SUITE_SUITE_EXPAND_H

#include "harness/suite/suite_layer.h"

enum { AXIS_VALUES_MAXIMUM = 1000, EXCLUDES_MAXIMUM = 256 };

/* The values of one axis of a block. */
struct axis_values {
    const struct node *node; /* a scalar or a list of them; NULL: the default of the mode */
    const struct node *key;  /* where the axis is named */
    size_t count;            /* at least 1 */
    bool own;                /* named by the case itself, not by defaults */
    bool used;               /* it said something about at least one combination */
};

/* One entry of an `exclude` list: what it asks of each axis. */
struct exclude_entry {
    const struct node *values[AXIS_COUNT]; /* a scalar or a list; NULL: nothing */
    bool hit;                              /* it has dropped something */
};

/* An `exclude` list, checked. */
struct exclusion {
    const struct node *list; /* NULL: none */
    struct exclude_entry *entries;
};

/* Everything that multiplies together: a case, or an include entry over its case. */
struct block {
    const struct node *place; /* for messages and for the cases */
    struct axis_values axes[AXIS_COUNT];
    const struct suite_settings *settings;
    struct exclusion *excludes[2]; /* of the case and of the suite; NULL: none applies */
    int64_t combination_count;     /* before anything is dropped */
};

/* What the family of a model is; found once for each name. */
struct model_entry {
    struct model_entry *next;
    const char *name;
    const struct family *family;
};

struct expansion {
    const struct yaml_tree *tree;
    const char *catalogue_dir; /* NULL: models are not looked up */
    struct arena *arena;
    struct model_entry *models;
    struct suite_case *cases; /* grown with array_extend; taken over by the suite */
    size_t count, capacity;
    struct status *error;
};

/* The axes of the layers, every value checked, models looked up; combination_count by checked arithmetic. */
enum status_code block_read(struct expansion *expansion, const struct layers *layers, const struct node *place,
                            struct block *block);

/* Checks an `exclude` list. node may be NULL. */
enum status_code exclusion_read(struct expansion *expansion, const struct node *node, struct exclusion *exclusion);

/* An entry that dropped nothing is an error: it is a mistake or a leftover. */
enum status_code exclusion_finish(const struct expansion *expansion, const struct exclusion *exclusion);

/* Appends the combinations of the block to expansion->cases. */
enum status_code block_expand(struct expansion *expansion, struct block *block);

#endif
