/* Run variables: what the environment says to the driver, its libraries and the host's allocator that may change a
 * figure. */
#ifndef ASSAY_RUN_RUN_VARIABLES_H
#define ASSAY_RUN_RUN_VARIABLES_H

#include "harness/base/json.h"

/* {"OMP_NUM_THREADS": "4"}: those that are set, of a list of ours and no others, as anything may be in an environment.
 * CUDA_MODULE_LOADING is not among them: each case sets it for itself. The caller releases it; NULL if memory ran
 * out. */
struct json *run_variables_json(void);

/* Name number index of that list, NULL past the end. */
const char *run_variable_at(int index);

#endif
