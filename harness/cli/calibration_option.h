/* The option --calibration: a fitted law, and what it says of a case. */
#ifndef ASSAY_CLI_CALIBRATION_OPTION_H
#define ASSAY_CLI_CALIBRATION_OPTION_H

#include "harness/cli/question_case.h"
#include "harness/law/law_file.h"

#define CALIBRATION_OPTION_ROW                                                                                         \
    {                                                                                                                  \
        "calibration", OPTION_VALUE, "FILE", "also by a law that assay calibrate --law has fitted"                     \
    }

/* Adds lines for people to text and, to *document (a null or an object, the caller's to release), what the law says of
 * the case; what it was not fitted to is also a warning. weights_bytes: parameters and buffers after loading; negative:
 * not known. STATUS_INVALID: the law has no terms for such a model or such work, or no coefficients for its kind. */
enum status_code calibration_answer(const struct question_case *question, const struct law_file *law,
                                    int64_t weights_bytes, struct text *text, struct json **document,
                                    struct status *error);

#endif
