/* Calibrate law: assay calibrate --law: records in, a fitted law out. Measures nothing. */
#ifndef ASSAY_CLI_CALIBRATE_LAW_H
#define ASSAY_CLI_CALIBRATE_LAW_H

#include "harness/cli/command.h"

/* The rows of its options. */
#define LAW_OPTION_ROWS                                                                                                \
    {"law", OPTION_VALUE, "LAW", "fit a law: inference-overhead, optimizer or device-constants"},                      \
        {"format", OPTION_VALUE, "FORMAT", "of a law, to --output: table (default), md, html, latex, csv or json"},    \
    {                                                                                                                  \
        "points", OPTION_VALUE, "FILE", "of inference-overhead: keep the cases and their models as a table"            \
    }

/* Whether --law was given. STATUS_INVALID if one of the others was and --law was not. */
enum status_code calibrate_law_asked(const struct arguments *arguments, bool *is_asked, struct status *error);

enum status_code calibrate_law(const struct arguments *arguments, struct status *error);

#endif
