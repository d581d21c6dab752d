/* Gate: which cases belong together, what may not be held against each other, and what all of it comes to. Not the
 * judgement of one case (gate_judge.c), and not a writer. */
#include "harness/gate/gate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/gate/gate_judge.h"
#include "harness/gate/gate_words.h"

static enum status_code no_memory(const struct gate *gate, struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory to judge %d cases", gate->run->case_count);
}

/* ---- what is held against what ---- */

static bool property_differs(const struct run_figures *base, const struct run_figures *now, enum environment property)
{
    const char *before = base->environment[property], *after = now->environment[property];
    return before != NULL && after != NULL && strcmp(before, after) != 0;
}

unsigned gate_refusals_of(const struct run_figures *base, const struct run_figures *now)
{
#define REFUSAL_PROPERTIES(name, word, first, second) {first, second},
    static const enum environment properties[GATE_REFUSAL_COUNT][2] = {GATE_REFUSAL_TABLE(REFUSAL_PROPERTIES)};
#undef REFUSAL_PROPERTIES
    unsigned refusals = 0;
    for (int i = 0; i < GATE_REFUSAL_COUNT; i++) {
        const bool differs =
            property_differs(base, now, properties[i][0]) || property_differs(base, now, properties[i][1]);
        refusals |= differs ? 1U << i : 0;
    }
    return (refusals & (1U << GATE_REFUSAL_SUITE)) != 0 ? refusals & ~(1U << GATE_REFUSAL_TOLERANCES) : refusals;
}

static void refusals_find(struct gate *gate, unsigned allowed)
{
    const unsigned refusals = gate_refusals_of(gate->baseline, gate->run);
    for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
        gate->differs[i] = property_differs(gate->baseline, gate->run, (enum environment)i);
    }
    gate->allowed = refusals & allowed;
    gate->refused = refusals & ~allowed;
}

/* The cases of both sides by id; those of a refused baseline are not among them. */
static bool cases_join(struct gate *gate)
{
    const struct run_figures *run = gate->run, *base = gate->refused == 0 ? gate->baseline : NULL;
    const int base_count = base != NULL ? base->case_count : 0;
    int at = 0, base_at = 0;
    gate->cases = arena_alloc(&gate->arena, ((size_t)run->case_count + (size_t)base_count) * sizeof *gate->cases);
    gate->order = arena_alloc(&gate->arena, ((size_t)run->case_count + (size_t)base_count) * sizeof *gate->order);
    if (gate->cases == NULL || gate->order == NULL) {
        return false;
    }
    while (at < run->case_count || base_at < base_count) {
        const struct case_figures *now = at < run->case_count ? &run->cases[at] : NULL;
        const struct case_figures *before = base_at < base_count ? &base->cases[base_at] : NULL;
        const int order = now == NULL ? 1 : before == NULL ? -1 : strcmp(now->id, before->id);
        struct gate_case *one = &gate->cases[gate->case_count++];
        *one = (struct gate_case){.now = order <= 0 ? now : NULL, .base = order >= 0 ? before : NULL};
        one->id = one->now != NULL ? one->now->id : one->base->id;
        one->reference = gate->reference != NULL && base != NULL ? run_figures_find(gate->reference, one->id) : NULL;
        at += one->now != NULL ? 1 : 0;
        base_at += one->base != NULL ? 1 : 0;
    }
    return true;
}

/* ---- order ---- */

static int rank_of(const struct gate_case *one)
{
    return (one->decides ? GATE_VERDICT_COUNT : 0) + (int)one->verdict;
}

static int case_order(const void *left, const void *right, void *context)
{
    const struct gate_case *cases = context, *a = &cases[*(const int *)left], *b = &cases[*(const int *)right];
    if (rank_of(a) != rank_of(b)) {
        return rank_of(b) - rank_of(a);
    }
    if (a->change != b->change) {
        return a->change > b->change ? -1 : 1;
    }
    if (a->change_bytes != b->change_bytes) {
        return a->change_bytes > b->change_bytes ? -1 : 1;
    }
    return strcmp(a->id, b->id);
}

/* ---- the outcome ---- */

static void case_count(struct gate *gate, const struct gate_case *one)
{
    gate->counts[one->verdict]++;
    gate->breach_count += one->decides && one->verdict == GATE_BREACH ? 1 : 0;
    gate->unknown_count += one->decides && one->verdict != GATE_BREACH ? 1 : 0;
    gate->better_count += one->better != 0 ? 1 : 0;
    /* that it is known not to be measured does not make it so */
    const bool is_judged = one->verdict == GATE_PASS || one->verdict == GATE_WARN || one->verdict == GATE_BREACH ||
                           (one->verdict == GATE_KNOWN && one->now != NULL && case_figures_measured(one->now));
    gate->judged_count += is_judged ? 1 : 0;
}

/* What is known to be wrong comes before what is not known. */
static enum run_outcome outcome_of(const struct gate *gate)
{
    const struct run_figures *run = gate->run;
    const bool is_cut = !run->ended || run->absent_count > 0 || run->unnamed_absent_count > 0;
    const bool is_idle =
        gate->judged_count == 0 || gate->figure_count == 0 || (gate->baseline != NULL && gate->held_count == 0);
    const bool is_unknown = gate->refused != 0 || gate->lacking != NULL || gate->unknown_count > 0 || is_idle;
    return gate->breach_count > 0   ? RUN_FAIL
           : gate->stranger != NULL ? RUN_INCONCLUSIVE
           : is_cut                 ? RUN_INCOMPLETE
           : is_unknown             ? RUN_INCONCLUSIVE
                                    : RUN_PASS;
}

/* Whether the run is well in itself, and nobody can say more. */
static bool is_unjudged(const struct gate *gate)
{
    return gate->outcome == RUN_INCONCLUSIVE && gate->baseline == NULL && gate->stranger == NULL &&
           gate->lacking == NULL && gate->figure_count == 0 && gate->judged_count > 0 && gate->unknown_count == 0 &&
           gate->run->ended && gate->run->absent_count + gate->run->unnamed_absent_count == 0;
}

static void knowns_begin(struct gate *gate)
{
    for (int i = 0; i < gate->policy->known_count; i++) {
        gate->knowns[i].is_expired = !gate_known_holds(&gate->policy->knowns[i], gate->run->started);
    }
}

static bool cases_judge(struct gate *gate)
{
    bool made = true;
    for (int i = 0; i < gate->case_count && made; i++) {
        made = gate_case_judge(gate, &gate->cases[i]);
        gate->order[i] = i;
        if (made) {
            case_count(gate, &gate->cases[i]);
        }
    }
    if (made) {
        qsort_r(gate->order, (size_t)gate->case_count, sizeof *gate->order, case_order, gate->cases);
    }
    return made;
}

enum status_code gate_make(const struct run_figures *run, const struct gate_options *options, struct gate *gate,
                           struct status *error)
{
    const struct gate_policy *policy = options->policy;
    struct text why = {0};
    *gate = (struct gate){.run = run,
                          .baseline = options->baseline,
                          .policy = policy,
                          .lacking = options->lacking,
                          .stranger = options->stranger,
                          .first = options->first,
                          .reference = options->reference,
                          .reference_words = options->reference_words,
                          .baseline_note = options->baseline_note};
    if (gate->stranger != NULL) {
        gate->baseline = NULL;
    } else if (gate->baseline != NULL) {
        gate->baseline_words = options->baseline_words != NULL ? options->baseline_words : gate->baseline->source;
        refusals_find(gate, options->allowed);
    }
    gate->knowns = arena_alloc(&gate->arena, (size_t)policy->known_count * sizeof *gate->knowns);
    gate->rule_uses = arena_alloc(&gate->arena, (size_t)policy->rule_count * sizeof *gate->rule_uses);
    if (gate->knowns == NULL || gate->rule_uses == NULL) {
        return no_memory(gate, error);
    }
    knowns_begin(gate);
    if (!cases_join(gate) || !cases_judge(gate)) {
        return no_memory(gate, error);
    }
    gate->outcome = outcome_of(gate);
    gate->is_unjudged = is_unjudged(gate);
    gate_why_append(&why, gate);
    gate->why = why.failed ? NULL : arena_copy(&gate->arena, text_string(&why));
    text_release(&why);
    return gate->why != NULL ? STATUS_OK : no_memory(gate, error);
}

void gate_release(struct gate *gate)
{
    arena_release(&gate->arena);
    *gate = (struct gate){0};
}
