/* Case suite: a suite made of a model and the options of a case, in which lists multiply. */
#ifndef ASSAY_CLI_CASE_SUITE_H
#define ASSAY_CLI_CASE_SUITE_H

#include "harness/cli/command.h"
#include "harness/suite/suite.h"

/* Operand 0 is a model; "--batch 8,16" is `batch: [8, 16]`. Errors are those of a suite with these keys, without a
 * place. */
enum status_code case_suite_read(const struct arguments *arguments, const char *catalogue_dir, struct suite *suite,
                                 struct status *error);

/* Appends to the error of a suite that cannot be opened what the user probably meant: a suite that comes with the
 * program or, if the command takes a model too, the options that make cases of it. */
void suite_hint(const struct arguments *arguments, struct status *error);

#endif
