/* Trial scene: a case as a question sees it, and whether it runs on a device; asked without the code under test. */
#ifndef ASSAY_TESTS_QUESTION_TRIAL_SCENE_H
#define ASSAY_TESTS_QUESTION_TRIAL_SCENE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/estimate/estimate.h"
#include "models/config/config.h"
#include "models/skeleton/skeleton.h"

/* Stays where it is while it is open: input points into it. */
struct trial_scene {
    struct config config;
    struct skeleton skeleton;
    struct workload workload;
    struct estimate_input input;
};

/* A model of the catalogue, with the workload and the target given. Fails the running test where it cannot be. */
void trial_scene_open(struct trial_scene *scene, const char *model, const struct workload *workload,
                      const char *target);
void trial_scene_close(struct trial_scene *scene);

/* Whether the scene's case, with that value of the field, runs on the device "KIND:mem=BYTES" ("meta", "host"): its
 * tape is replayed there. Fails the running test on any outcome but running through and being out of memory. */
bool trial_scene_runs(const struct trial_scene *scene, enum case_field field, int64_t size, const char *kind,
                      int64_t memory_bytes);

/* Reserved bytes at the peak without a bound. */
int64_t trial_scene_reserved(const struct trial_scene *scene);

#endif
