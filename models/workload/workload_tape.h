/* Workload tape: a model and what is done with it, as a tape.
 *
 * Stages. load: every parameter and buffer, in the order of module.to(device), filled. infer: the forward pass twice,
 * so that the second shows the steady state. generate: the prompt once (stage forward), then every new token (stage
 * generate); see generate.h. train: its steps (three), each with its micro-batches (forward, backward), then the
 * optimizer; gradients are set to none after it. Where a stage occurs several times the last counts. */
#ifndef ASSAY_WORKLOAD_WORKLOAD_TAPE_H
#define ASSAY_WORKLOAD_WORKLOAD_TAPE_H

#include "harness/case/workload.h"
#include "harness/tape/build.h"
#include "harness/tape/tape.h"
#include "harness/tape/target.h"
#include "models/skeleton/placement.h"
#include "models/skeleton/skeleton.h"

/* In what weights are kept and the model runs (under amp: what is not autocast). */
enum dtype precision_dtype(enum precision precision);
/* The same of a case: packed weights are multiplied in float16. */
enum dtype workload_dtype(const struct workload *workload);

/* The skeleton of the model with that head and, if the workload trains them, adapters. */
enum status_code workload_skeleton(const struct config *config, const struct workload *workload,
                                   struct skeleton *skeleton, struct status *error);

/* skeleton must have been built by workload_skeleton. The tape borrows labels from skeleton and must be released before
 * it. STATUS_INVALID if the workload does not fit the model (a sequence longer than its positions). Everything is
 * recorded but micro-batches beyond 16, which are told once: their operations are run again as they stand, so that
 * dropout draws the same numbers in each. */
enum status_code workload_tape(const struct config *config, const struct skeleton *skeleton,
                               const struct workload *workload, const struct target *target, struct tape **tape,
                               struct status *error);

/* The same tape for questions about memory: what repeats is told once, so that its size and the time to build it hardly
 * depend on new_tokens and accumulate. It says the same sequence of storages (tests/models/test_repetition.c holds the
 * two against each other). with_operations false: storages and lifetimes alone. It does not run on devices that
 * compute: of repeated steps it has the operands of the first. */
enum status_code workload_tape_brief(const struct config *config, const struct skeleton *skeleton,
                                     const struct workload *workload, const struct target *target, bool with_operations,
                                     struct tape **tape, struct status *error);

/* The same if the model lies in several places (placement.h), for loading, inference and greedy generation
 * over a dynamic cache, in one precision. What is kept on the disk is made in the host's memory and written; the result
 * of each pass is brought to where the input lies. In a generation each layer's keys and values lie where the layer
 * runs, the ids and what is chosen of the logits where the inputs lie. STATUS_INVALID, with the reason, for training,
 * other caches, beams, generation beside an encoder, autocast, adapters and quantised weights. */
enum status_code workload_tape_placed(const struct config *config, const struct skeleton *skeleton,
                                      const struct workload *workload, const struct target *target,
                                      const struct placement *placement, struct tape **tape, struct status *error);

/* How training goes; the default, the steps of the workload, is what workload_tape takes. Tests of the mathematics take
 * more. */
struct training_plan {
    int step_count;
    double learning_rate;
    struct tape_form form; /* what the tape leaves out */
};

struct training_plan training_plan_default(const struct workload *workload);
enum status_code workload_tape_planned(const struct config *config, const struct skeleton *skeleton,
                                       const struct workload *workload, const struct target *target,
                                       const struct training_plan *plan, struct tape **tape, struct status *error);

#endif
