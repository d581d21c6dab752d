/* Output place: a file that is written must not be what was read to make it. */
#ifndef ASSAY_CLI_OUTPUT_PLACE_H
#define ASSAY_CLI_OUTPUT_PLACE_H

#include "harness/base/status.h"

/* STATUS_INVALID with "OUTPUT: is what is read here; name another file" if output is the file input, or, input being a
 * folder, its records.jsonl: by any name or link. STATUS_OK if output is NULL, not there yet, or another file. */
enum status_code output_place_check(const char *output, const char *input, struct status *error);

#endif
