/* Gate judge: the verdicts of one case, by level and as a whole. What all cases come to is in gate.c. */
#include "harness/gate/gate_judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is needed to judge one case. */
struct judging {
    struct gate *gate;
    struct gate_case *one;
    struct gate_rules rules;
    struct text why; /* of the case as a whole */
};

static bool is_measured(const struct case_figures *one)
{
    return one != NULL && case_figures_measured(one);
}

static bool is_refusal_allowed(const struct gate *gate, enum gate_refusal refusal)
{
    return (gate->allowed & (1U << refusal)) != 0;
}

/* ---- figures ---- */

/* "host|a CPU|host|2": its kind, name and class, and its threads where those may not differ. */
static size_t machine_length(const struct gate *gate, const char *machine)
{
    const char *last = is_refusal_allowed(gate, GATE_REFUSAL_THREADS) ? strrchr(machine, '|') : NULL;
    return last != NULL ? (size_t)(last - machine) : strlen(machine);
}

static bool machines_differ(const struct gate *gate, const struct case_figures *a, const struct case_figures *b)
{
    const size_t length = machine_length(gate, a->machine);
    return a->machine[0] != '\0' && b->machine[0] != '\0' &&
           (length != machine_length(gate, b->machine) || strncmp(a->machine, b->machine, length) != 0);
}

/* Whether readings of the two say nothing about each other. */
static bool readings_blocked(const struct judging *judging, const struct case_figures *base)
{
    const struct case_figures *now = judging->one->now;
    return base->invalid || now->invalid ||
           (machines_differ(judging->gate, base, now) && !is_refusal_allowed(judging->gate, GATE_REFUSAL_DEVICE));
}

/* What repeated attempts at the baseline differ by is known noise, of readings alone. */
static int64_t noise_bytes(const struct case_figures *base, int level)
{
    const int64_t bytes = base->spread.of[level];
    return level_is_reading((enum level)level) && bytes > 0 ? bytes : 0;
}

static enum gate_verdict figure_judge(struct judging *judging, int level, int64_t base_bytes, int64_t now_bytes)
{
    const struct gate_rule *rule = &judging->rules.of[level];
    const int64_t change_bytes = now_bytes - base_bytes;
    const bool is_noise = llabs(change_bytes) <= noise_bytes(judging->one->base, level);
    const bool fails = !is_noise && !gate_bound_holds(&rule->fail, change_bytes, base_bytes);
    const bool warns = !is_noise && !gate_bound_holds(&rule->warn, change_bytes, base_bytes);
    if (!fails && !warns) {
        return GATE_PASS;
    }
    if (level_is_reading((enum level)level) && readings_blocked(judging, judging->one->base)) {
        return GATE_INSUFFICIENT;
    }
    const bool worse = rule->direction == GATE_DIRECTION_BOTH ||
                       (rule->direction == GATE_DIRECTION_HIGHER ? change_bytes > 0 : change_bytes < 0);
    judging->one->better |= worse ? 0 : 1U << level;
    return worse && fails ? GATE_BREACH : GATE_WARN;
}

/* Held against the night that was accepted: many small steps are one large one. Only what is worse counts, since the
 * baseline says what is better. */
static enum gate_verdict reference_judge(struct judging *judging, int level, int64_t now_bytes)
{
    struct gate_case *one = judging->one;
    const struct gate_rule *rule = &judging->rules.of[level];
    const int64_t base_bytes = is_measured(one->reference) ? one->reference->measured.of[level] : FIGURE_BYTES_UNKNOWN;
    const int64_t change_bytes = now_bytes - base_bytes;
    const bool worse = rule->direction == GATE_DIRECTION_LOWER  ? change_bytes < 0
                       : rule->direction == GATE_DIRECTION_BOTH ? change_bytes != 0
                                                                : change_bytes > 0;
    if (base_bytes == FIGURE_BYTES_UNKNOWN || !worse || llabs(change_bytes) <= noise_bytes(one->reference, level) ||
        gate_bound_holds(&rule->reference, change_bytes, base_bytes)) {
        return GATE_PASS;
    }
    one->by_reference |= 1U << level;
    return level_is_reading((enum level)level) && readings_blocked(judging, one->reference) ? GATE_INSUFFICIENT
                                                                                            : GATE_BREACH;
}

/* Without a baseline: by what replay predicts, unless the suite has a tolerance of its own, by which the run judged. */
static enum gate_verdict prediction_judge(struct judging *judging, int level, int64_t now_bytes)
{
    struct gate_case *one = judging->one;
    const int64_t predicted_bytes = one->now->predicted.of[level];
    const struct gate_bound bound = gate_policy_first(judging->gate->policy, level);
    if ((one->now->judged & (1U << level)) != 0) {
        return GATE_PASS;
    }
    if (level_is_reading((enum level)level) || predicted_bytes == FIGURE_BYTES_UNKNOWN || bound.is_open) {
        return GATE_NONE;
    }
    one->by_prediction |= 1U << level;
    return gate_bound_holds(&bound, now_bytes - predicted_bytes, predicted_bytes) ? GATE_PASS : GATE_BREACH;
}

static enum gate_verdict level_judge(struct judging *judging, int level)
{
    const struct gate_case *one = judging->one;
    const int64_t base_bytes = is_measured(one->base) ? one->base->measured.of[level] : FIGURE_BYTES_UNKNOWN;
    const int64_t now_bytes = is_measured(one->now) ? one->now->measured.of[level] : FIGURE_BYTES_UNKNOWN;
    if (base_bytes != FIGURE_BYTES_UNKNOWN && now_bytes != FIGURE_BYTES_UNKNOWN) {
        const enum gate_verdict moving = figure_judge(judging, level, base_bytes, now_bytes);
        const bool is_worst = moving == GATE_BREACH || moving == GATE_INSUFFICIENT;
        const enum gate_verdict fixed = is_worst ? GATE_PASS : reference_judge(judging, level, now_bytes);
        return fixed != GATE_PASS ? fixed : moving;
    }
    if (now_bytes != FIGURE_BYTES_UNKNOWN && judging->gate->baseline_words == NULL) {
        return prediction_judge(judging, level, now_bytes);
    }
    if (now_bytes != FIGURE_BYTES_UNKNOWN) {
        return judging->gate->refused == 0 ? GATE_NEW : GATE_NONE;
    }
    /* Of a case that was not measured the case as a whole says so. */
    return base_bytes != FIGURE_BYTES_UNKNOWN && is_measured(one->now) ? GATE_INSUFFICIENT : GATE_NONE;
}

/* ---- the case as a whole ---- */

static void why_set(struct judging *judging, const char *first, const char *second)
{
    text_format(&judging->why, "%s%s%s", first, second[0] != '\0' ? ": " : "", second);
}

static enum gate_verdict broken_judge(struct judging *judging)
{
    const struct case_figures *base = judging->one->base, *now = judging->one->now;
    if (now->made_count < now->wanted_count && is_measured(now)) {
        why_set(judging, now->reason, "");
        return GATE_INSUFFICIENT;
    }
    if (is_measured(base)) {
        text_format(&judging->why, "ok in the baseline, now ");
    }
    why_set(judging, now->status, now->reason);
    return is_measured(base) && strcmp(now->status, "oom") == 0 ? GATE_BREACH : GATE_INSUFFICIENT;
}

static int absent_order(const void *left, const void *right)
{
    return strcmp(((const struct absent_case *)left)->id, ((const struct absent_case *)right)->id);
}

/* Whether the baseline was to have this case and was cut short before it: it is then no new one. Records that do not
 * say what was selected may have been to have any. */
static bool baseline_came_short(const struct judging *judging)
{
    const struct run_figures *base = judging->gate->baseline;
    const struct absent_case wanted = {.id = judging->one->id};
    if (base->absent_count == 0) {
        return !base->ended || base->unnamed_absent_count > 0;
    }
    return bsearch(&wanted, base->absent, (size_t)base->absent_count, sizeof wanted, absent_order) != NULL;
}

/* A case that is well in itself, and that the baseline has not. */
static enum gate_verdict new_judge(struct judging *judging)
{
    if (judging->gate->baseline != NULL && baseline_came_short(judging)) {
        why_set(judging, "the baseline was cut short before this case, so that nothing can be held against it", "");
        return GATE_INSUFFICIENT;
    }
    return GATE_NEW;
}

static enum gate_verdict whole_judge(struct judging *judging)
{
    const struct case_figures *base = judging->one->base, *now = judging->one->now;
    if (now == NULL) {
        why_set(judging, "in the baseline, and not in this run", "");
        return GATE_MISSING;
    }
    switch (now->standing) {
    case STANDING_FAIL:
        why_set(judging, "a verdict of the run failed", now->reason);
        return GATE_BREACH;
    case STANDING_BROKEN:
        return broken_judge(judging);
    case STANDING_OPEN:
        why_set(judging, now->reason[0] != '\0' ? now->reason : "a figure that has a tolerance is not known", "");
        return GATE_INSUFFICIENT;
    case STANDING_SKIP:
        why_set(judging, is_measured(base) ? "ok in the baseline, now skip" : "skip", now->reason);
        return GATE_INSUFFICIENT;
    case STANDING_OK:
        break;
    }
    const bool is_new = base == NULL && judging->gate->baseline_words != NULL && judging->gate->refused == 0;
    return is_new ? new_judge(judging) : GATE_PASS;
}

/* ---- what is known ---- */

static bool is_failure(enum gate_verdict verdict)
{
    return verdict == GATE_BREACH || verdict == GATE_MISSING || verdict == GATE_INSUFFICIENT;
}

/* The entry by which a failing level (LEVEL_COUNT: the case as a whole) is known: the first that matches and holds,
 * else the first that matches and has expired; -1: none. */
static int known_find(const struct judging *judging, int level)
{
    const struct gate_policy *policy = judging->gate->policy;
    const struct case_figures *one = judging->one->now != NULL ? judging->one->now : judging->one->base;
    int expired = -1;
    for (int i = 0; i < policy->known_count; i++) {
        const bool matches = gate_known_matches(&policy->knowns[i], one, level);
        if (matches && !judging->gate->knowns[i].is_expired) {
            return i;
        }
        expired = matches && expired < 0 ? i : expired;
    }
    return expired;
}

/* KNOWN in place of a failure that is known and has not expired. */
static enum gate_verdict known_apply(struct judging *judging, enum gate_verdict verdict, int level)
{
    const int found = is_failure(verdict) ? known_find(judging, level) : -1;
    if (found < 0) {
        return verdict;
    }
    struct gate_case *one = judging->one;
    const bool holds = !judging->gate->knowns[found].is_expired;
    one->is_expired = one->is_expired || !holds;
    one->known = one->known < 0 || !holds ? found : one->known;
    return holds ? GATE_KNOWN : verdict;
}

static void knowns_count(struct judging *judging, const enum gate_verdict *before)
{
    const struct gate_policy *policy = judging->gate->policy;
    const struct case_figures *one = judging->one->now != NULL ? judging->one->now : judging->one->base;
    int chosen[LEVEL_COUNT + 1];
    for (int level = 0; level <= LEVEL_COUNT; level++) {
        chosen[level] = is_failure(before[level]) ? known_find(judging, level) : -1;
    }
    for (int i = 0; i < policy->known_count; i++) {
        bool matches = false, fails = false, is_taken = false;
        for (int level = 0; level <= LEVEL_COUNT; level++) {
            const bool here = gate_known_matches(&policy->knowns[i], one, level);
            matches = matches || here;
            fails = fails || (here && is_failure(before[level]));
            is_taken = is_taken || chosen[level] == i;
        }
        judging->gate->knowns[i].match_count += matches ? 1 : 0;
        judging->gate->knowns[i].failing_count += fails ? 1 : 0;
        judging->gate->knowns[i].taken_count += is_taken ? 1 : 0;
    }
}

/* ---- all of it ---- */

static enum gate_tier tier_of_whole(const struct judging *judging)
{
    enum gate_tier gravest = GATE_TIER_ADVISORY;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        const enum gate_tier tier = judging->rules.of[level].tier;
        gravest = tier < gravest ? tier : gravest;
    }
    return gravest;
}

static bool tier_decides(enum gate_tier tier, enum gate_verdict verdict)
{
    return verdict == GATE_BREACH ? tier != GATE_TIER_ADVISORY : is_failure(verdict) && tier == GATE_TIER_CRITICAL;
}

/* Whether attempts at the case were selected and not made: whatever a policy says, the run then came to no end. */
static bool is_short(const struct judging *judging)
{
    const struct case_figures *now = judging->one->now;
    return now != NULL && now->made_count < now->wanted_count;
}

/* A case that both skipped, or that another suite does not have, is told and decides nothing. */
static bool whole_decides(const struct judging *judging, enum gate_verdict verdict)
{
    const struct gate_case *one = judging->one;
    const bool is_idle_skip = one->now != NULL && one->now->standing == STANDING_SKIP && !is_measured(one->base);
    const bool is_other_suite = one->now == NULL && is_refusal_allowed(judging->gate, GATE_REFUSAL_SUITE);
    return is_short(judging) || (!is_idle_skip && !is_other_suite && tier_decides(tier_of_whole(judging), verdict));
}

/* How grave a verdict is, with those that decide above those that do not. */
static int gravity_of(enum gate_verdict verdict, bool decides)
{
    return (decides ? GATE_VERDICT_COUNT : 0) + (int)verdict;
}

static double change_of(const struct gate_case *one, int level, int64_t *change_bytes)
{
    const int64_t base_bytes = level < LEVEL_COUNT ? gate_base_bytes(one, level) : FIGURE_BYTES_UNKNOWN;
    if (one->now == NULL || base_bytes == FIGURE_BYTES_UNKNOWN ||
        one->now->measured.of[level] == FIGURE_BYTES_UNKNOWN) {
        *change_bytes = INT64_MAX;
        return INFINITY;
    }
    *change_bytes = llabs(one->now->measured.of[level] - base_bytes);
    return *change_bytes == 0 ? 0.0 : base_bytes == 0 ? INFINITY : (double)*change_bytes / (double)base_bytes;
}

/* The gravest of its findings, and of equally grave ones the largest change. */
static void gravest_choose(struct judging *judging)
{
    struct gate_case *one = judging->one;
    int gravity = -1;
    for (int at = 0; at <= LEVEL_COUNT; at++) {
        const int level = at == 0 ? LEVEL_COUNT : at - 1; /* the case as a whole first */
        const enum gate_verdict verdict = level == LEVEL_COUNT ? one->whole : (enum gate_verdict)one->levels[level];
        const bool decides = level == LEVEL_COUNT ? whole_decides(judging, verdict)
                                                  : tier_decides(judging->rules.of[level].tier, verdict);
        int64_t change_bytes = 0;
        const double change = change_of(one, level, &change_bytes);
        const int here = gravity_of(verdict, decides);
        const bool is_larger = here == gravity && one->worst_level != LEVEL_COUNT && change > one->change;
        const bool is_first_figure = here == gravity && verdict == GATE_PASS && one->worst_level == LEVEL_COUNT;
        if (verdict != GATE_NONE && (here > gravity || is_larger || is_first_figure)) {
            gravity = here;
            one->verdict = verdict;
            one->decides = decides;
            one->worst_level = level;
            one->change = change;
            one->change_bytes = change_bytes;
        }
    }
}

bool gate_case_judge(struct gate *gate, struct gate_case *one)
{
    struct judging judging = {.gate = gate, .one = one};
    enum gate_verdict before[LEVEL_COUNT + 1];
    bool held = false;
    one->known = -1;
    gate_policy_settle(gate->policy, one->now != NULL ? one->now : one->base, &judging.rules);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        before[level] = level_judge(&judging, level);
        one->levels[level] = (signed char)known_apply(&judging, before[level], level);
        const bool is_held = before[level] == GATE_PASS || before[level] == GATE_WARN || before[level] == GATE_BREACH;
        held = held || is_held;
        gate->figure_count += is_held ? 1 : 0;
        if (before[level] != GATE_NONE && judging.rules.numbers[level] >= 0) {
            gate->rule_uses[judging.rules.numbers[level]]++;
        }
    }
    before[LEVEL_COUNT] = whole_judge(&judging);
    /* A failure that only advises must not be what a short case decides: that is that nobody knows. */
    if (is_short(&judging) && !tier_decides(tier_of_whole(&judging), before[LEVEL_COUNT])) {
        before[LEVEL_COUNT] = GATE_INSUFFICIENT;
    }
    one->whole = known_apply(&judging, before[LEVEL_COUNT], LEVEL_COUNT);
    knowns_count(&judging, before);
    gravest_choose(&judging);
    gate->held_count += held ? 1 : 0;
    gate->figure_count += one->now != NULL && (one->now->judged & (1U << LEVEL_COUNT)) != 0 ? 1 : 0;
    one->why = judging.why.length > 0 ? arena_copy(&gate->arena, text_string(&judging.why)) : "";
    const bool made = !judging.why.failed && one->why != NULL;
    text_release(&judging.why);
    return made;
}
