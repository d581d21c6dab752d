/* Check of an offload folder: each entry by itself and, if a model is named, against its tensors. */
#ifndef ASSAY_CLI_OFFLOAD_CHECK_H
#define ASSAY_CLI_OFFLOAD_CHECK_H

#include "harness/cli/command.h"

/* Prints what is found: exit code 1 if something is wrong, 3 if --values has nothing to compare the bytes with. An
 * index that cannot be read is an error. */
enum status_code offload_check_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error);

#endif
