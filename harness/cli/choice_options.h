/* Choice options: those by which a command takes a part of a suite. What they choose is harness/run/case_choice.h's
 * matter. */
#ifndef ASSAY_CLI_CHOICE_OPTIONS_H
#define ASSAY_CLI_CHOICE_OPTIONS_H

#include "harness/cli/command.h"
#include "harness/run/case_choice.h"

#define CHOICE_OPTION_ROWS                                                                                             \
    {"filter", OPTION_REPEATED, "GLOB", "only cases whose id or one of whose tags matches; may be given again"},       \
    {                                                                                                                  \
        "not", OPTION_REPEATED, "GLOB", "leave out cases whose id or tag matches; may be given again"                  \
    }

/* The choice that --filter, --not and, if the command has it, --repeat make. Errors are those of case_choice_make, and
 * STATUS_INVALID of a value that is wrong. The caller releases *choice. */
enum status_code choice_options_read(const struct arguments *arguments, const struct suite *suite,
                                     struct case_choice *choice, struct status *error);

#endif
