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

/* Whether the night passes; without one that did before it, by its own verdicts. */
static enum status_code night_judge(const struct gate_chain *chain, const struct run_figures *night, bool *passes,
                                    bool *is_known, struct status *error)
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
        const struct gate_options options = {
            .policy = chain->policy, .allowed = chain->allowed, .baseline = chain->kept_count > 1 ? &merged : runs[0]};
        code = gate_make(night, &options, &gate, error);
        *passes = code == STATUS_OK && gate.outcome == GATE_GO;
        *is_known = *passes && rests_on_known(&gate);
    }
    gate_release(&gate);
    run_figures_release(&merged);
    return code;
}

static void night_keep(struct gate_chain *chain, struct run_figures *night)
{
    if (chain->kept_count == chain->most) {
        run_figures_release(&chain->kept[0]);
        chain->kept_count--;
        memmove(chain->kept, chain->kept + 1, (size_t)chain->kept_count * sizeof chain->kept[0]);
    }
    chain->kept[chain->kept_count++] = *night;
    *night = (struct run_figures){0};
    chain->failed_count = chain->known_count = 0;
}

enum status_code gate_chain_add(struct gate_chain *chain, struct run_figures *night, struct status *error)
{
    bool passes = false, is_known = false;
    enum status_code code = night_judge(chain, night, &passes, &is_known, error);
    chain->night_count++;
    if (code == STATUS_OK && is_known) {
        chain->known_count++;
    } else if (code == STATUS_OK && passes) {
        night_keep(chain, night);
    } else if (chain->failed_count++ == 0) {
        snprintf(chain->failed_since, sizeof chain->failed_since, "%.20s", night->started);
    }
    run_figures_release(night);
    return code;
}

void gate_chain_release(struct gate_chain *chain)
{
    for (int at = 0; at < chain->kept_count; at++) {
        run_figures_release(&chain->kept[at]);
    }
    chain->kept_count = 0;
}
