/* Device specs: what the cases of a run stand on. */
#ifndef ASSAY_RUN_DEVICE_SPECS_H
#define ASSAY_RUN_DEVICE_SPECS_H

#include "harness/base/arena.h"
#include "harness/run/run.h"

/* Of one case: a device that is asked for by name goes before the suite's own choice, and if a GPU is needed, "auto" is
 * the first one. */
const char *device_spec_of(const struct run_options *options, const struct suite_case *case_);

/* The distinct devices of the selected cases, in the order of their first use; of a model that is placed on GPUs, each
 * GPU that its text names, too. All zero is empty. */
struct device_specs {
    struct arena arena;
    const char **specs; /* texts of cases and options are borrowed */
    int count;
};

/* STATUS_OUT_OF_MEMORY. */
enum status_code device_specs_collect(const struct run_options *options, struct device_specs *specs,
                                      struct status *error);
void device_specs_release(struct device_specs *specs);

#endif
