/* Layers: the maps in which a key of a case is looked up, innermost first, and the settings found there. Internal to
 * harness/suite. */
#ifndef ASSAY_SUITE_SUITE_LAYER_H
#define ASSAY_SUITE_SUITE_LAYER_H

#include "harness/suite/suite.h"
#include "harness/suite/yaml_value.h"

enum { LAYERS_MAXIMUM = 4 };

struct layers {
    const struct node *maps[LAYERS_MAXIMUM]; /* include entry, case, defaults, top: those that there are */
    int count;
    int own_count; /* the first own_count are the case's own, not shared with others */
    bool has_top;  /* the last one is the top of the file: settings are found there, axes are not */
};

/* The innermost value of a key, or NULL. own: whether it is in the case itself; key_node: where. Both may be NULL. */
const struct node *layers_find(const struct layers *layers, const char *key, const struct node **key_node, bool *own);

/* The settings of the layers, in arena. */
enum status_code settings_read(const struct yaml_tree *tree, const struct layers *layers, struct arena *arena,
                               const struct suite_settings **settings, struct status *error);

#endif
