/* Resources: the folders that come with the program (models/catalogue, suites, plots, results/reference). */
#ifndef ASSAY_CLI_RESOURCE_PATH_H
#define ASSAY_CLI_RESOURCE_PATH_H

#include "harness/base/arena.h"
#include "harness/base/text.h"

/* NAME in the repository whose build/ or build/VARIANT/ the executable lies in, else in ../share/assay beside the
 * executable, else in the folder that it was configured to be installed to; if ASSAY_DATA_DIR is set, in that folder
 * alone. The current folder is never looked into: a folder that somebody sent may have a plots/ of its own, whose
 * scripts gnuplot would run. If none is there: the first that was looked for. NULL if the host has no memory. */
const char *resource_path(struct arena *arena, const char *name);

/* Appends where it was looked for, up to the place that has it: "build/../share/assay/plots (not there),
 * /usr/share/assay/plots". */
void resource_places_append(const char *name, struct text *text);

/* The file of a suite that was named on the command line: "suites/quick.yaml" is a resource if the current folder
 * does not have it, any other name is the user's own file. NULL if the host has no memory. */
const char *suite_path(struct arena *arena, const char *name);

#endif
