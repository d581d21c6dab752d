/* Estimates: one table of predictors, each a pure function of a model and a workload, and of how it is divided.
 *
 * A predictor gives named quantities. One that it has no rule for is unknown (null), never 0, and a note says why. The
 * quantity that a verdict compares is total_bytes; the others say what it is made of. Of a divided model all are those
 * of one device, the one that holds most. */
#ifndef ASSAY_ESTIMATE_ESTIMATE_H
#define ASSAY_ESTIMATE_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/case/workload.h"
#include "harness/estimate/parallel.h"
#include "harness/record/constants.h"
#include "harness/record/estimator_table.h"
#include "models/config/config.h"
#include "models/skeleton/skeleton.h"
#include "models/workload/workload_tape.h"

struct checkpoint;

enum { ESTIMATE_QUANTITIES_MAXIMUM = 96, ESTIMATE_NAME_BYTES = 64 };

struct estimate_input {
    const struct config *config;
    const struct skeleton *skeleton; /* of the workload's head (default: bare for load, lm otherwise) */
    const struct skeleton
        *bare; /* of the configuration, with HEAD_BARE, for those who ask for several cases; NULL: built */
    const struct workload *workload;
    const char *target;                  /* --for: "sm_90", "host"; read only by estimators that model a device */
    const struct constants *constants;   /* of the device that is predicted; NULL: none */
    const struct checkpoint *checkpoint; /* headers of the model files (harness/checkpoint); NULL: none */
    int64_t memory_bytes;                /* what segments may take together; 0: no bound. Read by replay alone */
    const struct parallel *parallel;     /* how the model is divided, checked (parallel.h); NULL: one device */
};

struct estimate_quantity {
    char name[ESTIMATE_NAME_BYTES]; /* "total_bytes"; a dot makes an object in JSON: "stages.load.requested_bytes" */
    const char *text;               /* not NULL: a word instead of a number ("backward"); static */
    bool known;
    int64_t value; /* 0 if unknown */
};

struct estimate {
    const char *estimator;
    int count;
    struct estimate_quantity quantities[ESTIMATE_QUANTITIES_MAXIMUM];
    char note[STATUS_TEXT_BYTES]; /* why something is unknown; "" if nothing is */
};

struct estimator {
    const char *name;
    const char *what;                                    /* one line for people */
    const char *source;                                  /* where the rule is published */
    bool divides;                                        /* it has a rule for a model that is divided among devices */
    bool (*applies)(const struct estimate_input *input); /* asked by estimator_applies alone */
    enum status_code (*compute)(const struct estimate_input *input, struct estimate *estimate, struct status *error);
};

/* Row number index of the table, NULL past the end. */
const struct estimator *estimator_at(int index);

/* NULL if the name is not known. */
const struct estimator *estimator_find(const char *name);

/* Whether it has a rule for the case. A model that is divided among devices is for those that divide; one that is
 * placed part by part (workload place) is for none. */
bool estimator_applies(const struct estimator *estimator, const struct estimate_input *input);

/* Runs one estimator that applies. On success estimate holds its quantities. */
enum status_code estimate_compute(const struct estimator *estimator, const struct estimate_input *input,
                                  struct estimate *estimate, struct status *error);

/* For estimators: one more quantity. More than ESTIMATE_QUANTITIES_MAXIMUM are a fault of the program. */
void estimate_add(struct estimate *estimate, const char *name, int64_t value);
void estimate_add_or_unknown(struct estimate *estimate, const char *name, bool known, int64_t value);
void estimate_add_unknown(struct estimate *estimate, const char *name);
void estimate_add_text(struct estimate *estimate, const char *name, const char *text);
/* Where unknown: says why. The first reason stays. */
void estimate_note(struct estimate *estimate, bool unknown, const char *why);

/* The quantity, or NULL. */
const struct estimate_quantity *estimate_get(const struct estimate *estimate, const char *name);

/* An object with one member for each quantity, unknown ones null, in order, and the note if there is one. NULL if
 * memory ran out. */
struct json *estimate_to_json(const struct estimate *estimate);

/* Each is defined in a file of its own. */
#define ESTIMATOR_DECLARE(id, name, colour, mark) extern const struct estimator estimator_##id;
ESTIMATOR_TABLE(ESTIMATOR_DECLARE)
#undef ESTIMATOR_DECLARE

#endif
