/* Device claim: which GPUs the cases of a run stand on, and their locks for as long as it lasts. Internal to
 * harness/run. */
#ifndef ASSAY_RUN_DEVICE_CLAIM_H
#define ASSAY_RUN_DEVICE_CLAIM_H

#include "harness/run/device_lock.h"
#include "harness/run/run.h"
#include "harness/run/run_signals.h"

struct device_claim {
    struct device_lock *locks; /* in the order of their paths */
    int count;
    bool shared;
    struct json *devices;         /* what each spec stands for, as the child told it and with its "spec" */
    char note[STATUS_TEXT_BYTES]; /* why a GPU that is used is not locked; "": none is not */
};

/* What the claim is made for, borrowed. */
struct device_claim_request {
    const struct run_options *options;
    const char *const *specs; /* distinct */
    int spec_count;
    struct json *const *answers;    /* of device_claim_ask, by spec; NULL: they are asked now */
    const struct suite_case *case_; /* any; of a child that asks which GPU a spec stands for */
    const struct run_signals *signals;
    bool looks_only; /* nothing will be measured: nothing is locked, and a GPU that another run has is no matter */
};

/* Asks in a child what one spec stands for; options->runner must be able to say it. *answer: its whole answer, or NULL
 * if it gave none; the caller releases it. spec, and specs of the request, may be any. STATUS_INTERRUPTED,
 * STATUS_IO. */
enum status_code device_claim_ask(const struct device_claim_request *request, const char *spec, struct json **answer,
                                  struct status *error);

/* Asks for each spec which device it stands for, in a child, because asking starts the driver; then takes the locks one
 * after the other in the order of their names, so that no two runs wait for each other, and waits for them up to
 * options->wait_device_seconds. If a GPU cannot be named or there is no folder for locks, the run goes on without,
 * which claim->note and options->progress.warned say; but a folder that was asked for (options->lock_folder) must
 * serve. STATUS_BUSY: taken by another run. STATUS_INTERRUPTED, STATUS_IO, STATUS_OUT_OF_MEMORY. */
enum status_code device_claim_take(const struct device_claim_request *request, struct device_claim *claim,
                                   struct status *error);

/* {"shared": ..., "paths": [...], "note": ...} for the run line; null if no GPU is used; NULL if memory ran
 * out. */
struct json *device_claim_json(const struct device_claim *claim);

void device_claim_release(struct device_claim *claim);

#endif
