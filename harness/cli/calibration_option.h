/* The option --calibration: a fitted law, and what it says of a case. */
#ifndef ASSAY_CLI_CALIBRATION_OPTION_H
#define ASSAY_CLI_CALIBRATION_OPTION_H

#include "harness/cli/question_case.h"
#include "harness/law/law_file.h"

#define CALIBRATION_OPTION_ROW                                                                                         \
    {                                                                                                                  \
        "calibration", OPTION_VALUE, "FILE", "also by a law that assay calibrate --law has fitted"                     \
    }

/* What replay has of the case; negative: not known. */
struct calibration_replay {
    int64_t weights_bytes;  /* parameters and buffers after loading */
    int64_t segments_bytes; /* reserved_bytes_peak */
};

/* Adds lines for people to text and, to *document (a null or an object, the caller's to release), what the law says of
 * the case; what it was not fitted to is also a warning. A model that the law has no terms for gets its footprint
 * alone, by the segments that replay has, and a warning. STATUS_INVALID: the law says neither of such a model on such
 * a device, or is for no such work. */
enum status_code calibration_answer(const struct question_case *question, const struct law_file *law,
                                    const struct calibration_replay *replay, struct text *text, struct json **document,
                                    struct status *error);

#endif
