/* Case options: the fields of a case as options of a command, in the words of harness/case/workload.h. */
#ifndef ASSAY_CLI_CASE_OPTIONS_H
#define ASSAY_CLI_CASE_OPTIONS_H

#include "harness/case/workload.h"
#include "harness/cli/case_precision.h"
#include "harness/cli/command.h"
#include "harness/suite/identity.h"

/* The rows, for the table of a command that takes a case. */
#define CASE_OPTION_ROWS            CASE_FIELD_TABLE(CASE_OPTION_ROW)
#define CASE_OPTION_KIND_NAME       OPTION_VALUE
#define CASE_OPTION_KIND_COUNT      OPTION_VALUE
#define CASE_OPTION_KIND_SWITCH     OPTION_BOOLEAN
#define CASE_OPTION_KIND_SHARE      OPTION_VALUE
#define CASE_OPTION_KIND_TEXT       OPTION_VALUE
#define CASE_OPTION_HELP(help, ...) help
#define CASE_OPTION_ROW(name, member, kind, record, usual, modes, condition, spelling, has, option, value, ...)        \
    CASE_##has(CASE_OPTION_KIND_##kind, option, value, CASE_OPTION_HELP(__VA_ARGS__, 0))
#define CASE_FIRST_OPTION(kind, option, value, help)                                                                   \
    {                                                                                                                  \
        option, kind, value, help                                                                                      \
    }
#define CASE_HAS_OPTION(kind, option, value, help)                                                                     \
    ,                                                                                                                  \
    {                                                                                                                  \
        option, kind, value, help                                                                                      \
    }
#define CASE_NO_OPTION(kind, option, value, help)

/* Whether any of these options was given. */
bool case_options_given(const struct arguments *arguments);

/* The workload that they describe, checked. Without --program it is of the program that people write
 * (program_of_questions), and without --use-cache a pass returns keys and values only if the class does. choice: the
 * precision to take if --precision is not among them, and how weights of that precision are packed if no option says
 * it. --mode must have been given. */
enum status_code case_options_read(const struct arguments *arguments, const struct config *config,
                                   const struct precision_choice *choice, struct workload *workload,
                                   struct status *error);

/* The fields that options name. */
uint64_t case_options_named(const struct arguments *arguments);

/* Whether every option that was given says something about the case, as suites have it (identity.h). An option that
 * says no (a switch that is false, a rank of 0, one beam, one micro-batch, cache_dtype auto) is true of every case.
 * STATUS_INVALID with a remedy. */
enum status_code case_options_check(const struct arguments *arguments, const struct identity *identity,
                                    struct status *error);

#endif
