/* Resources: the folders that come with the program (models/catalogue, suites, plots, results/reference). */
#ifndef ASSAY_CLI_RESOURCE_PATH_H
#define ASSAY_CLI_RESOURCE_PATH_H

#include "harness/base/arena.h"

/* The first of ./NAME, NAME in the folder above the executable's (a build folder in the repository) or two above (a
 * variant's), ../share/assay/NAME beside it, and NAME in the folder it was configured to be installed to. Where none is
 * there: NAME, so that a message about it says what was looked for. NULL where the host has no memory. */
const char *resource_path(struct arena *arena, const char *name);

/* The file of a suite that was named on the command line: "suites/quick.yaml" is a resource where the current folder does
 * not have it, any other name is taken as it is. NULL where the host has no memory. */
const char *suite_path(struct arena *arena, const char *name);

#endif
