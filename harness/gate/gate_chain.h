/* Gate chain: which of many nights passed, each held against those before it that did, and against the reference: the
 * night that somebody accepted last, else the first that passed. Many small steps are none against the night before,
 * and one large step against the reference.
 *
 * A baseline that is simply the newest night takes a regression for the new state: red for one night, and green ever
 * after. Here every night is judged again, from the oldest on, by the policy and with what may differ, and one that is
 * not GO is no baseline. The first of them is judged by its own verdicts. Nor is one a baseline that passes because the
 * policy knows that it is worse than those before it: what is known would be the new state after one night, and would
 * never count again. Nor is one of which a figure is better by more than its bound: it may be a slip of one night, by
 * which every later one would fail; somebody has to accept it. No verdict is kept: the same nights and the same
 * policy give the same chain.
 *
 * Worked: nights of 100, 100, 104, 104, 100 MiB requested, by the built-in policy and with one night as a baseline: the
 * third and the fourth are NO-GO against the second, the fifth is GO. kept is the fifth, failed_count 0; after the
 * fourth it was the second and 2. Readings of 24.5 MiB and 3.6 MiB more each night, of which 4 MiB may be more: the
 * second passes against the first, the third does not, because it is 7.2 MiB above the reference. */
#ifndef ASSAY_GATE_GATE_CHAIN_H
#define ASSAY_GATE_GATE_CHAIN_H

#include "harness/gate/gate.h"
#include "harness/gate/gate_baseline.h"

struct gate_chain {
    const struct gate_policy *policy; /* borrowed; all zero: the built-in one */
    unsigned allowed;                 /* as in struct gate_options */
    int most;                         /* nights that a baseline is the median of; 1: the newest that passed */
    struct run_figures kept[GATE_BASELINES_MAXIMUM]; /* the newest `most` that are one, the oldest first */
    int kept_count;
    struct run_figures held; /* the reference, once it is not among these any more */
    int reference_at;        /* its place in kept; -1: it is `held`, or there is none */
    int night_count;         /* that were added */
    int failed_count;        /* behind the newest that is kept */
    int known_count;         /* behind it, too: that passed, and have a failure that the policy knows */
    int better_count;        /* the same: that passed, and are better than the baseline by more than their bounds */
    char failed_since[24];   /* when the first of these began: "2026-11-20T02:00:00Z" */
};

/* The next night, which began no earlier than the last one. *night is taken over, also after an error: it is kept, or
 * released. STATUS_OUT_OF_MEMORY. */
enum status_code gate_chain_add(struct gate_chain *chain, struct run_figures *night, struct status *error);

/* The same of a night that somebody accepted: it begins the chain anew, whatever a gate says of it. */
void gate_chain_accept(struct gate_chain *chain, struct run_figures *night);

/* The reference; NULL: no night passed. Borrowed of the chain. */
const struct run_figures *gate_chain_reference(const struct gate_chain *chain);

void gate_chain_release(struct gate_chain *chain);

#endif
