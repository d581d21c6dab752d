/* Options that are numbers. *number and *seconds stay as they are if the option was not given. STATUS_INVALID names the
 * command, the option and what would be right. */
#ifndef ASSAY_CLI_NUMBER_OPTION_H
#define ASSAY_CLI_NUMBER_OPTION_H

#include <stdint.h>

#include "harness/cli/command.h"

/* The value of an option as a whole number. */
enum status_code number_option_read(const struct arguments *arguments, const char *name, int64_t minimum,
                                    int64_t maximum, int *number, struct status *error);

/* The value of an option as seconds: "300", "90s", "5m", "2h". */
enum status_code seconds_option_read(const struct arguments *arguments, const char *name, int64_t maximum, int *seconds,
                                     struct status *error);

#endif
