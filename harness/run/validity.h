/* Validity: whether something disturbed the readings of a case. Internal to harness/run.
 *
 * It never changes a figure; it says in a sentence why what the driver or the kernel counted may not be this case's.
 * What could not be looked at is no reason. docs/decisions/0010 says what counts. */
#ifndef ASSAY_RUN_VALIDITY_H
#define ASSAY_RUN_VALIDITY_H

#include "harness/base/json.h"
#include "harness/device/device.h"
#include "harness/tape/tape.h"

enum disturbance {
    DISTURBANCE_FOREIGN,     /* another process on the GPU */
    DISTURBANCE_ECC,         /* its mode changed */
    DISTURBANCE_MIG,         /* its mode changed */
    DISTURBANCE_SWAP,        /* pages of this process were not resident */
    DISTURBANCE_SWAPPED_OUT, /* the machine wrote pages to swap meanwhile */
    DISTURBANCE_DEVICE_READING,
    DISTURBANCE_PROCESS_READING,
    DISTURBANCE_COUNT
};

enum { DISTURBANCE_TEXT_BYTES = 256 };

struct validity {
    bool shared; /* several cases use the device at a time, by wish: then the others are none of its foreigners */
    int reading_count;
    struct device_reading previous;
    /* "": it did not happen; of several times the first is told. */
    char reasons[DISTURBANCE_COUNT][DISTURBANCE_TEXT_BYTES];
};

/* Looks at one more reading, that of the end of stage. All zero (and shared) is the state before the first. */
void validity_add(struct validity *validity, enum stage stage, const struct device_reading *reading);

/* Takes over what disturbed another place of the same case, named in front: "on 1: ...". What is known here stays. */
void validity_join(struct validity *validity, const struct validity *other, const char *name);

/* {"valid": ..., "reasons": [...]}; null before the first reading; NULL if memory ran out. */
struct json *validity_json(const struct validity *validity);

#endif
