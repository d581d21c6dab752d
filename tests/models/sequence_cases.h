/* Sequence cases: every family in every mode, precision and attention, at the size of a toy; and the demand that a
 * device is asked for the very allocations that were predicted. */
#ifndef ASSAY_TESTS_MODELS_SEQUENCE_CASES_H
#define ASSAY_TESTS_MODELS_SEQUENCE_CASES_H

#include "harness/case/workload.h"

enum { SEQUENCE_CASES_MAXIMUM = 2048 };

struct sequence_case {
    const char *model; /* of the catalogue */
    struct workload workload;
};

/* Fills cases and returns how many they are. */
int sequence_cases_make(struct sequence_case cases[SEQUENCE_CASES_MAXIMUM]);

/* Replays a case on meta and on a device, with the tape of a target. Fails the running test where requested, allocated
 * or reserved bytes of a stage differ, or the sequence of allocations and releases. */
void sequence_case_check(const struct sequence_case *one, const char *device, const char *target);

#endif
