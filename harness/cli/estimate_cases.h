/* Estimate cases: what assay estimate prints with --mode: every estimator's prediction of a case, or a row for each
 * case of a list. */
#ifndef ASSAY_CLI_ESTIMATE_CASES_H
#define ASSAY_CLI_ESTIMATE_CASES_H

#include "harness/cli/command.h"

enum status_code estimate_cases_print(const struct arguments *arguments, struct status *error);

#endif
