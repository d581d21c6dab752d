/* Workload chain: models that run in turn on one device, each of which sends the one before it back to the host.
 *
 * accelerate's cpu_offload_with_hook, and so diffusers' enable_model_cpu_offload. All models begin in the host's
 * memory. When one is called, the one before it goes to the host, if it is on the device, and the device gives back
 * what it caches; then the model itself comes, if it is not there already, tensor by tensor, buffers too. It stays
 * after its forward pass. So the last one stays until the user calls its hook's offload(), and if nobody does, it is on
 * the device beside the first one in the next turn.
 *
 * Stages. load: every model in the host's memory. forward: first what all models are fed, which lies on the device;
 * then the chain twice, so that the second turn shows the steady state. Each model's pass is a stage of its own. What a
 * model returns keeps its name until the next one has returned, as in a loop over the models. */
#ifndef ASSAY_WORKLOAD_WORKLOAD_CHAIN_H
#define ASSAY_WORKLOAD_WORKLOAD_CHAIN_H

#include "harness/case/workload.h"
#include "harness/tape/tape.h"
#include "harness/tape/target.h"
#include "models/skeleton/skeleton.h"

enum { CHAIN_LINKS_MAXIMUM = 10, CHAIN_TURNS = 2 };

/* Places of the tape. */
enum { CHAIN_DEVICE, CHAIN_HOST, CHAIN_PLACES };

/* A model, and what it is called with. skeleton: by workload_skeleton. */
struct chain_link {
    const struct config *config;
    const struct skeleton *skeleton;
    const struct workload *workload;
};

enum chain_form {
    CHAIN_OFFLOADS,   /* hook.offload() ends each turn */
    CHAIN_KEEPS_LAST, /* nobody calls it */
    CHAIN_RESIDES     /* no hooks: every model is on the device all the time. What the others are held against */
};

struct chain_plan {
    const struct chain_link *links;
    int link_count;
    enum chain_form form;
};

/* The tape borrows labels from the skeletons and must be released before them. STATUS_INVALID for modes other than
 * infer, autocast, adapters and quantised weights, and if a workload does not fit its model: the text begins with
 * the number of the model. */
enum status_code workload_tape_chain(const struct chain_plan *plan, const struct target *target, struct tape **tape,
                                     struct status *error);

#endif
