/* Measurement: what a replay found, as the members of a case line. Internal to harness/run. */
#ifndef ASSAY_RUN_MEASUREMENT_H
#define ASSAY_RUN_MEASUREMENT_H

#include "harness/base/json.h"
#include "harness/record/constants.h"
#include "harness/replay/replay.h"
#include "harness/run/validity.h"

/* Where a measurement was made. */
struct measurement_place {
    const char *spec; /* as it was asked for */
    struct device_properties properties;
    bool shared;  /* figures of the whole device are unknown: others use it too */
    bool is_part; /* the process holds other memory of the case besides, so that what it holds is not told apart */
};

/* {"kind": ..., "name": ..., ...}; NULL if memory ran out. */
struct json *device_json(const struct measurement_place *place);

/* What was wanted, free and held when a replay ran out of memory, by the oom_* fields alone. NULL if memory ran
 * out. */
struct json *oom_json(const struct replay_result *result);

/* [{"operation", "library", "status", "count"}] of a reading of a device of this kind; null for NULL, and of a kind
 * that has no such libraries. NULL if memory ran out. */
struct json *declined_products_json(const char *kind, const struct device_reading *reading);

/* Which constants the predictions of the case of this id used: {"path", "hash", "kind", "name", "driver", "calibrated",
 * "mismatch"}; null for NULL. mismatch: constants_mismatch_append, NULL if there is none. NULL if memory ran
 * out. */
struct json *constants_json(const struct constants *constants, const char *id, const char *mismatch);

/* stages, context, validity, the peaks, categories, causes, saved bytes, loss, hash, declined products, oom;
 * out_of_memory: the replay ended with it, so what comes after the last stage is unknown. NULL if memory ran out. */
struct json *measurement_json(const struct measurement_place *place, const struct replay_result *result,
                              const struct validity *validity, bool out_of_memory);

#endif
