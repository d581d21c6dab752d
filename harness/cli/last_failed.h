/* Last failed: a choice narrowed to the cases that did not end well in the results of a folder. */
#ifndef ASSAY_CLI_LAST_FAILED_H
#define ASSAY_CLI_LAST_FAILED_H

#include "harness/run/case_choice.h"

#define LAST_FAILED_WORDS "last failed" /* what it is called in the words of a choice */

/* Leaves out every case that ended ok or was skipped in the folder, and every one that is not in it: what stays failed,
 * could not be measured, was left open or is missing there. choice->case_count may become 0: nothing failed.
 * STATUS_IO, STATUS_INVALID: there are no results, or none that can be read. */
enum status_code last_failed_choose(const char *folder, const struct suite *suite, struct case_choice *choice,
                                    struct status *error);

#endif
