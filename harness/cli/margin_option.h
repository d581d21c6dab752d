/* Margin option: how much segments may differ from the predicted ones, for the commands that answer with a range. */
#ifndef ASSAY_CLI_MARGIN_OPTION_H
#define ASSAY_CLI_MARGIN_OPTION_H

#include "harness/cli/command.h"
#include "harness/cli/question_case.h"
#include "harness/question/bounds.h"

#define MARGIN_OPTION_ROW                                                                                              \
    {                                                                                                                  \
        "margin", OPTION_VALUE, "PERCENT",                                                                             \
            "how much more segments may be than predicted, as 5% (default: by mode; 0: none)"                          \
    }

/* --margin, else what is not explained of such cases. STATUS_INVALID says what a percentage is. */
enum status_code margin_read(const struct arguments *arguments, const struct question_case *question,
                             struct doubt *doubt, struct status *error);

/* "  segments may be 5.0 % smaller to 12.0 % larger than predicted; ..."; nothing where there is no doubt. */
void doubt_line(struct doubt doubt, struct text *text);

#endif
