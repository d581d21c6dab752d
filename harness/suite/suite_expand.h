/* Expansion: from the keys of a case to its combinations. Internal to harness/suite. */
#ifndef ASSAY_SUITE_SUITE_EXPAND_H
#define ASSAY_SUITE_SUITE_EXPAND_H

#include "harness/suite/suite_layer.h"

enum { FIELD_VALUES_MAXIMUM = 1000, EXCLUDES_MAXIMUM = 256 };

/* What a file says of a field: one value, or a list of them. */
struct field_values {
    const struct case_value *items;
    size_t count; /* 0: nothing */
};

/* One field of a block, whose values multiply with those of the others; without values it has the usual one. */
struct axis {
    struct field_values values;
    const struct node *key; /* where the field is named */
    bool own;               /* named by the case itself, not by defaults */
    bool used;              /* it said something about at least one combination */
};

/* One entry of an `exclude` list: what it asks of each field. */
struct exclude_entry {
    struct field_values values[FIELD_COUNT];
    bool hit; /* it has dropped something */
};

/* An `exclude` list, checked. */
struct exclusion {
    const struct node *list; /* NULL: none */
    struct exclude_entry *entries;
};

/* Everything that multiplies together: a case, or an include entry over its case. */
struct block {
    const struct node *place; /* for messages and for the cases */
    struct axis axes[FIELD_COUNT];
    const struct suite_settings *settings;
    struct exclusion *excludes[2]; /* of the case and of the suite; NULL: none applies */
    int64_t combination_count;     /* before anything is dropped */
};

/* What the family of a model is, and its heads; found once for each name, which values of FIELD_MODEL point to. */
struct model_entry {
    struct model_entry *next;
    const char *name;
    const struct family *family;
    struct config_heads heads;
};

struct expansion {
    const struct yaml_tree *tree;
    const char *catalogue_dir; /* NULL: models are not looked up */
    const char *folder;        /* where paths begin, as in struct suite */
    struct arena *arena;
    struct model_entry *models;
    struct suite_case *cases; /* grown with array_extend; taken over by the suite */
    size_t count, capacity;
    struct status *error;
};

bool case_value_equal(const struct case_value *a, const struct case_value *b);

/* Of how many values a field of a block takes each in its turn: at least 1. */
size_t block_value_count(const struct block *block, enum case_field field);

/* The axes of the layers, every value read, models looked up; combination_count by checked arithmetic. */
enum status_code block_read(struct expansion *expansion, const struct layers *layers, const struct node *place,
                            struct block *block);

/* Checks an `exclude` list. node may be NULL. */
enum status_code exclusion_read(struct expansion *expansion, const struct node *node, struct exclusion *exclusion);

/* An entry that dropped nothing is an error: it is a mistake or a leftover. */
enum status_code exclusion_finish(const struct expansion *expansion, const struct exclusion *exclusion);

/* Appends the combinations of the block to expansion->cases. */
enum status_code block_expand(struct expansion *expansion, struct block *block);

#endif
