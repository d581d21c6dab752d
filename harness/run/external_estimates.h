/* External estimates: what the external estimators of a suite say about its cases, before any case is measured.
 * Internal to harness/run.
 *
 * An estimate is an object with the quantities of the suite, integer bytes, null if they are unknown; "version"
 * if the suite asks for one; "note" with the reason if something is unknown that should not be. Nothing that a
 * program does is an error of the run. Equal command lines are run once; what came out well is kept in
 * FOLDER/external.jsonl, by command line, version and the content of the config.json that the command leads to, and
 * taken from there by later runs into the folder. */
#ifndef ASSAY_RUN_EXTERNAL_ESTIMATES_H
#define ASSAY_RUN_EXTERNAL_ESTIMATES_H

#include "harness/run/run.h"
#include "harness/run/run_signals.h"

struct external_estimates {
    struct json **cases; /* by index of the suite's cases: name -> estimate; NULL: none applies, or not selected */
    int count;
};

/* Asks every external estimator of the suite about every selected case. The signals end it early: what was not asked is
 * absent then, and *interrupted is true. STATUS_OUT_OF_MEMORY. The caller releases *estimates. */
enum status_code external_estimates_make(const struct run_options *options, const struct run_signals *signals,
                                         struct external_estimates *estimates, bool *interrupted, struct status *error);

void external_estimates_release(struct external_estimates *estimates);

#endif
