/* Limit range: the largest size that surely fits, and the largest that may, as fit says it (fit.h): of the first it
 * says yes, above the second no, or the model has no such size. Between them only a measurement tells.
 *
 * Each is found by limit_find in the segments that fit replays its yes and its no with, so that what limit.h says of
 * sizes that fit although smaller ones do not holds here too. */
#ifndef ASSAY_QUESTION_LIMIT_RANGE_H
#define ASSAY_QUESTION_LIMIT_RANGE_H

#include "harness/question/fit.h"
#include "harness/question/limit.h"

struct limit_range {
    struct doubt doubt;
    int64_t sure, possible;             /* 0: not even the smallest */
    int64_t sure_bytes, possible_bytes; /* of segments, as predicted */
};

/* likely: what limit_find found of this input and field in likely_bytes; not searched for again if they are the same.
 * Errors of limit_find. */
enum status_code limit_range_find(const struct estimate_input *input, const struct fit_device *device,
                                  const struct limit *likely, int64_t likely_bytes,
                                  const struct look_observer *observer, struct limit_range *range,
                                  struct status *error);

/* "batch 26 surely fits, up to 31 may"; "no batch surely fits, and none may". key: of the field, "batch". */
void limit_range_words(const struct limit_range *range, const char *key, struct text *text);

/* Sets "sure" and "possible", {"limit", "segment_bytes"} each, and "doubt". False if memory ran out. */
bool limit_range_set(const struct limit_range *range, struct json *object);

#endif
