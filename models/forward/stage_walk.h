/* Stage walk: stages of a network of images, each a Sequential of blocks, as timm's ResNet and RegNet walk them. */
#ifndef ASSAY_FORWARD_STAGE_WALK_H
#define ASSAY_FORWARD_STAGE_WALK_H

#include "models/forward/forward.h"

enum { STAGE_PATH_BYTES = 48 };

/* What a block is given: its context. */
struct stage_block {
    const struct forward *forward;
    int stage; /* from 0, as config->widths and config->depths count */
    int64_t index;
    char path[STAGE_PATH_BYTES]; /* "layer1.0" */
};

/* "layer1.0": "layer", "" and 0; "s1.b1": "s", "b" and 1. */
struct stage_names {
    const char *stage, *block;
    int first_block;
};

/* The blocks of one stage over input, which keeps its name. */
struct value *stage_run(const struct forward *forward, const struct stage_names *names, int stage, tape_block *block,
                        struct value *input);

#endif
