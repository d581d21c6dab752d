/* Check of an offload folder: each entry by itself and, where a model is named, against its tensors. */
#ifndef ASSAY_CLI_OFFLOAD_CHECK_H
#define ASSAY_CLI_OFFLOAD_CHECK_H

#include "harness/cli/command.h"

/* Prints what is found: exit code 1 where something is wrong, 3 where --values has nothing to hold the bytes against.
 * An index that cannot be read is an error. */
enum status_code offload_check_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error);

#endif
