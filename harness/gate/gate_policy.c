/* Gate policy: which rule holds for a case, and what a bound allows. Not the file (policy_file.c), and not the
 * judgement (gate_judge.c). */
#include "harness/gate/gate_policy.h"

#include <ctype.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/report/difference.h"

const char *gate_tier_word(enum gate_tier tier)
{
#define GATE_TIER_WORD(name, word) word,
    static const char *const words[] = {GATE_TIER_TABLE(GATE_TIER_WORD)};
#undef GATE_TIER_WORD
    return words[tier];
}

const char *gate_direction_word(enum gate_direction direction)
{
#define GATE_DIRECTION_WORD(name, word) word,
    static const char *const words[] = {GATE_DIRECTION_TABLE(GATE_DIRECTION_WORD)};
#undef GATE_DIRECTION_WORD
    return words[direction];
}

/* ---- bounds ---- */

bool gate_bound_holds(const struct gate_bound *bound, int64_t change_bytes, int64_t base_bytes)
{
    const int64_t distance_bytes = change_bytes < 0 ? -change_bytes : change_bytes; /* of figures >= 0, so it fits */
    return bound->is_open || distance_bytes <= bound->bytes ||
           (double)distance_bytes <= bound->fraction * (double)base_bytes;
}

void gate_bound_append(struct text *text, const struct gate_bound *bound)
{
    char size[SIZE_TEXT_BYTES];
    if (bound->is_open) {
        text_append(text, "any change");
        return;
    }
    if (bound->bytes > 0 || bound->fraction <= 0.0) {
        text_append(text, size_format(bound->bytes, size));
    }
    if (bound->fraction > 0.0) {
        text_format(text, "%s%g %%", bound->bytes > 0 ? " or " : "", 100.0 * bound->fraction);
    }
}

/* ---- rules ---- */

static bool patterns_match(const struct gate_patterns *patterns, const struct case_figures *one)
{
    bool matches = patterns->count == 0;
    for (int i = 0; i < patterns->count && !matches; i++) {
        matches = case_figures_match(one, patterns->globs[i]);
    }
    return matches;
}

static struct gate_bound built_in_bound(int level)
{
    return (struct gate_bound){.bytes = level_is_reading((enum level)level) ? DIFFERENCE_READING_BYTES : 0};
}

struct gate_bound gate_policy_first(const struct gate_policy *policy, int level)
{
    static const struct gate_bound built_in[LEVEL_COUNT] = {
        [LEVEL_REQUESTED] = {.bytes = INT64_C(1) << 20, .fraction = 0.05},
        [LEVEL_ALLOCATED] = {.bytes = INT64_C(32) << 20, .fraction = 0.10},
        [LEVEL_RESERVED] = {.bytes = INT64_C(64) << 20, .fraction = 0.15},
    };
    return (policy->first_levels & (1U << level)) != 0 ? policy->first[level] : built_in[level];
}

static struct gate_rule rule_complete(const struct gate_rule *rule, int level)
{
    struct gate_rule whole = *rule;
    if (!rule->has_bounds) {
        whole.fail = whole.warn = built_in_bound(level);
    }
    whole.reference = rule->has_reference ? rule->reference : whole.fail;
    return whole;
}

void gate_policy_settle(const struct gate_policy *policy, const struct case_figures *one, struct gate_rules *rules)
{
    unsigned open = (1U << LEVEL_COUNT) - 1;
    for (int i = 0; i < policy->rule_count && open != 0; i++) {
        const struct gate_rule *rule = &policy->rules[i];
        const unsigned taken = rule->levels & open;
        if (taken == 0 || !patterns_match(&rule->cases, one)) {
            continue;
        }
        for (int level = 0; level < LEVEL_COUNT; level++) {
            if ((taken & (1U << level)) != 0) {
                rules->of[level] = rule_complete(rule, level);
                rules->numbers[level] = i;
            }
        }
        open &= ~taken;
    }
    for (int level = 0; level < LEVEL_COUNT; level++) {
        if ((open & (1U << level)) != 0) {
            rules->of[level] = rule_complete(&(struct gate_rule){.levels = 1U << level}, level);
            rules->numbers[level] = -1;
        }
    }
}

/* ---- known failures ---- */

bool gate_known_matches(const struct gate_known *known, const struct case_figures *one, int level)
{
    const bool covers = known->levels == 0 || (level < LEVEL_COUNT && (known->levels & (1U << level)) != 0);
    return covers && patterns_match(&known->cases, one);
}

/* Days of the calendar in this form are in the order of their texts. */
bool gate_known_holds(const struct gate_known *known, const char *started)
{
    enum { DAY_CHARACTERS = 10 }; /* "2026-12-31" */
    return isdigit((unsigned char)started[0]) && strlen(started) >= DAY_CHARACTERS &&
           strncmp(started, known->expires, DAY_CHARACTERS) <= 0;
}

void gate_policy_release(struct gate_policy *policy)
{
    arena_release(&policy->arena);
    *policy = (struct gate_policy){0};
}
