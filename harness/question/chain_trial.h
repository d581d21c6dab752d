/* Chain trial: how much a device needs for models that run in turn (workload_chain.h), and whether they run
 * within budgets.
 *
 * A chain is a placed tape with two places, a GPU and the cpu, so that it is predicted, run and measured as one
 * (placed_trial.h). Figures of each model's own pass are those of the second turn. */
#ifndef ASSAY_QUESTION_CHAIN_TRIAL_H
#define ASSAY_QUESTION_CHAIN_TRIAL_H

#include "harness/question/placed_trial.h"
#include "models/workload/workload_chain.h"

/* What is asked about; all of it borrowed. */
struct chain_question {
    struct chain_plan plan;
    const struct target *target;
    int gpu; /* its number */
    const struct placement_budget *budgets;
    int budget_count;
};

/* STATUS_INVALID if a model cannot run in a chain, with the reason. Released by placed_tape_release. */
enum status_code chain_tape_build(const struct chain_question *question, struct placed_tape *placed,
                                  struct status *error);

/* The highest of the GPU's figures over the passes of the second turn; false if it did not end. */
bool chain_peak(const struct placed_tape *placed, const struct placed_outcome *outcome, struct replay_stage *peak);

/* Which model ran, or came, when memory was refused, counted from 0; -1: none, it was in the load or in what they are
 * fed. */
int chain_refused_link(const struct placed_tape *placed, const struct placed_outcome *outcome);

#endif
