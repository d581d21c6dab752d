/* The option --constants: which file a name stands for. */
#ifndef ASSAY_CLI_CONSTANTS_OPTION_H
#define ASSAY_CLI_CONSTANTS_OPTION_H

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/record/constants.h"

/* Reads a file, a folder that holds constants.json, or a folder of results/reference ("nvidia-h200"). Errors of
 * constants_read, with the remedy if there is no such file. What is read lives as constants_read says. */
enum status_code constants_option_read(const char *name, struct arena *arena, struct constants *constants,
                                       struct status *error);

/* Says on standard error if another version of the program measured them, whose kernels may take other bytes. */
void constants_option_warn(const char *command, const struct constants *constants);

/* STATUS_INVALID if constants are not of the GPU of this name, with what they are of and the remedy. */
enum status_code constants_option_check(const struct constants *constants, const char *gpu_name, struct status *error);

#endif
