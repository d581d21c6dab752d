/* Gate chain: nights, one after the other, through the gate. Where they come from is their reader's affair. */
#include "harness/gate/gate_chain.h"

#include <stdio.h>
#include <string.h>

/* Whether the policy knows a failure that only the baseline shows. A verdict of the night itself, which fails without
 * one as well, is none. */
static bool rests_on_known(const struct gate *gate)
{
    bool found = false;
    for (int at = 0; at < gate->case_count && !found; at++) {
        const struct gate_case *one = &gate->cases[at];
        const bool was_measured = one->base != NULL && case_figures_measured(one->base);
        found = one->whole == GATE_KNOWN && was_measured && (one->now == NULL || !case_figures_measured(one->now));
        for (int level = 0; level < LEVEL_COUNT && !found; level++) {
            found = one->levels[level] == GATE_KNOWN;
        }
    }
    return found;
}

const struct run_figures *gate_chain_reference(const struct gate_chain *chain)
{
    return chain->kept_count == 0       ? NULL
           : chain->held.source != NULL ? &chain->held
                                        : &chain->kept[chain->reference_at];
}

/* What becomes of a night. */
enum night_fate { NIGHT_FAILED, NIGHT_KEPT, NIGHT_KNOWN, NIGHT_BETTER };

/* Without a night that passed before it, by its own verdicts and predictions; where there are none of these either, it
 * is what the next ones are held against. */
static enum status_code night_judge(const struct gate_chain *chain, const struct run_figures *night,
                                    enum night_fate *fate, struct status *error)
{
    const struct run_figures *runs[GATE_BASELINES_MAXIMUM] = {NULL};
    struct run_figures merged = {0};
    struct gate gate = {0};
    enum status_code code = STATUS_OK;
    for (int at = 0; at < chain->kept_count; at++) {
        runs[at] = &chain->kept[at];
    }
    if (chain->kept_count > 1) {
        code = gate_baseline_make(runs, chain->kept_count, &merged, error);
    }
    if (code == STATUS_OK) {
        const struct gate_options options = {.policy = chain->policy,
                                             .allowed = chain->allowed,
                                             .baseline = chain->kept_count > 1 ? &merged : runs[0],
                                             .reference = gate_chain_reference(chain)};
        code = gate_make(night, &options, &gate, error);
        const bool passes = code == STATUS_OK && (gate.outcome == RUN_PASS || gate.is_unjudged);
        *fate = !passes                 ? NIGHT_FAILED
                : rests_on_known(&gate) ? NIGHT_KNOWN
                : gate.better_count > 0 ? NIGHT_BETTER
                                        : NIGHT_KEPT;
    }
    gate_release(&gate);
    run_figures_release(&merged);
    return code;
}

/* The oldest goes, and is held elsewhere if it is the reference. */
static void oldest_drop(struct gate_chain *chain)
{
    if (chain->held.source == NULL && chain->reference_at == 0) {
        chain->held = chain->kept[0];
    } else {
        run_figures_release(&chain->kept[0]);
        chain->reference_at--;
    }
    chain->kept_count--;
    memmove(chain->kept, chain->kept + 1, (size_t)chain->kept_count * sizeof chain->kept[0]);
}

static void night_keep(struct gate_chain *chain, struct run_figures *night)
{
    if (chain->kept_count == chain->most) {
        oldest_drop(chain);
    }
    chain->kept[chain->kept_count++] = *night;
    *night = (struct run_figures){0};
    chain->failed_count = chain->known_count = chain->better_count = 0;
}

enum status_code gate_chain_add(struct gate_chain *chain, struct run_figures *night, struct status *error)
{
    enum night_fate fate = NIGHT_FAILED;
    enum status_code code = night_judge(chain, night, &fate, error);
    chain->night_count++;
    chain->known_count += fate == NIGHT_KNOWN ? 1 : 0;
    chain->better_count += fate == NIGHT_BETTER ? 1 : 0;
    if (fate == NIGHT_KEPT) {
        night_keep(chain, night);
    } else if (fate == NIGHT_FAILED && chain->failed_count++ == 0) {
        snprintf(chain->failed_since, sizeof chain->failed_since, "%.20s", night->started);
    }
    run_figures_release(night);
    return code;
}

void gate_chain_accept(struct gate_chain *chain, struct run_figures *night)
{
    gate_chain_release(chain);
    chain->night_count++;
    night_keep(chain, night);
}

void gate_chain_release(struct gate_chain *chain)
{
    for (int at = 0; at < chain->kept_count; at++) {
        run_figures_release(&chain->kept[at]);
    }
    run_figures_release(&chain->held);
    chain->kept_count = chain->reference_at = 0;
}
