/* Modelled: a model of the catalogue under a workload, as a tape. Linked into every test program. */
#ifndef ASSAY_TESTS_SUPPORT_MODELLED_H
#define ASSAY_TESTS_SUPPORT_MODELLED_H

#include "models/config/config.h"
#include "models/skeleton/skeleton.h"
#include "models/workload/workload_tape.h"

/* Held together because the tape borrows the skeleton's labels. All zero is an empty one, which may be closed. */
struct modelled {
    struct config config;
    struct skeleton skeleton;
    struct tape *tape;
};

/* The errors are those of config_find, target_find, workload_check and workload_tape. The caller closes it, also
 * then. */
enum status_code modelled_open(struct modelled *modelled, const char *model, const struct workload *workload,
                               const char *target, struct status *error);

/* The same; fails the running test where it cannot be. */
void modelled_require(struct modelled *modelled, const char *model, const struct workload *workload,
                      const char *target);

void modelled_close(struct modelled *modelled);

#endif
