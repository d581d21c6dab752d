/* Era buffers: what the class of a model registered besides parameters in the release of transformers that a case
 * follows, on a tape (the eras of struct family). They are taken where the real module is moved, and not read: what a
 * layer looks up in them is computed (models/forward/rotary.h). */
#ifndef ASSAY_WORKLOAD_ERA_BUFFERS_H
#define ASSAY_WORKLOAD_ERA_BUFFERS_H

#include "models/workload/workload_build.h"

struct era_buffers {
    const struct family_era *era; /* NULL: those of the skeleton are right */
    int blocks;                   /* whose buffers have been taken */
};

/* Of a case whose config, workload and skeleton are set. */
struct era_buffers era_buffers_of(const struct build *build);

/* Whether the release does not register this buffer of the skeleton. */
bool era_lacks(const struct era_buffers *buffers, const struct skeleton_tensor *tensor);

/* Takes the buffers of a block if the tensor at this position of the load order is the last of its attention. */
void era_load_behind(struct era_buffers *buffers, struct build *build, int position);
/* Takes those beside the blocks. */
void era_load_last(struct era_buffers *buffers, struct build *build);

#endif
