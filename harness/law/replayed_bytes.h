/* Replayed bytes: the segments that replay predicts for a case of records that have no prediction, because another
 * program wrote them: PyTorch's, for instance (peers/pytorch/truth_records.py). */
#ifndef ASSAY_LAW_REPLAYED_BYTES_H
#define ASSAY_LAW_REPLAYED_BYTES_H

#include "harness/law/law_points.h"

/* reserved_bytes_peak of the case that an identity of a record says, for a class of devices ("sm_90").
 * POINT_BYTES_UNKNOWN: its model is not found, or replay has no answer. Takes milliseconds. */
int64_t replayed_bytes(const struct json *identity, const char *target, const struct point_places *places);

#endif
