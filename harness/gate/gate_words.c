/* Gate words: sentences. Decides nothing. */
#include "harness/gate/gate_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"

const char *gate_verdict_word(enum gate_verdict verdict)
{
#define VERDICT_WORD(name, word) word,
    static const char *const words[] = {GATE_VERDICT_TABLE(VERDICT_WORD)};
#undef VERDICT_WORD
    return verdict == GATE_NONE ? "-" : words[verdict];
}

static const char *refusal_word(int refusal)
{
#define REFUSAL_WORD(name, word, first, second) word,
    static const char *const words[] = {GATE_REFUSAL_TABLE(REFUSAL_WORD)};
#undef REFUSAL_WORD
    return words[refusal];
}

void gate_refusals_append(struct text *text, unsigned refusals)
{
    const char *separator = "";
    for (int i = 0; i < GATE_REFUSAL_COUNT; i++) {
        if ((refusals & (1U << i)) != 0) {
            text_format(text, "%s%s", separator, refusal_word(i));
            separator = ",";
        }
    }
}

enum status_code gate_allow_parse(const char *text, unsigned *allowed, struct status *error)
{
    unsigned read = 0;
    const char *at = text;
    do {
        const size_t length = strcspn(at, ",");
        int found = -1;
        for (int i = 0; i < GATE_REFUSAL_COUNT && found < 0; i++) {
            found = strlen(refusal_word(i)) == length && strncmp(refusal_word(i), at, length) == 0 ? i : -1;
        }
        if (found < 0) {
            struct text words = {0};
            gate_refusals_append(&words, (1U << GATE_REFUSAL_COUNT) - 1);
            enum status_code code =
                status_set(error, STATUS_INVALID, "'%.*s' is nothing that could be allowed; write one or several of %s",
                           length > 40 ? 40 : (int)length, at, text_string(&words));
            text_release(&words);
            return code;
        }
        read |= 1U << found;
        at += length + (at[length] == ',' ? 1 : 0);
        if (*at == '\0' && at[-1] == ',') {
            return status_set(error, STATUS_INVALID, "'%s' ends with a comma; remove it", text);
        }
    } while (*at != '\0');
    *allowed = read;
    return STATUS_OK;
}

/* ---- a case ---- */

int64_t gate_base_bytes(const struct gate_case *one, int level)
{
    const unsigned bit = 1U << level;
    return (one->by_prediction & bit) != 0  ? one->now->predicted.of[level]
           : (one->by_reference & bit) != 0 ? one->reference->measured.of[level]
           : one->base != NULL              ? one->base->measured.of[level]
                                            : FIGURE_BYTES_UNKNOWN;
}

/* "at most 8.00 MiB more", "the same": what the rule of a level allows into the direction in which it was left. */
static void bound_words(struct text *text, const struct gate_rule *rule, bool fails)
{
    const struct gate_bound *bound = fails ? &rule->fail : &rule->warn;
    const bool exact = !bound->is_open && bound->bytes == 0 && bound->fraction <= 0.0;
    if (exact) {
        text_append(text, rule->direction == GATE_DIRECTION_HIGHER  ? "no more is allowed"
                          : rule->direction == GATE_DIRECTION_LOWER ? "no less is allowed"
                                                                    : "no other figure is allowed");
        return;
    }
    text_append(text, fails ? "allowed are " : "told from ");
    gate_bound_append(text, bound);
    text_append(text, rule->direction == GATE_DIRECTION_HIGHER  ? " more"
                      : rule->direction == GATE_DIRECTION_LOWER ? " less"
                                                                : " of change");
}

/* Of a change that reads as large as what is allowed: by how little it passes it. */
static void excess_words(struct text *text, const struct gate_rule *rule, const struct gate_case *one, int level)
{
    const struct gate_bound *bound = one->levels[level] != GATE_WARN ? &rule->fail : &rule->warn;
    const int64_t change_bytes = llabs(one->now->measured.of[level] - gate_base_bytes(one, level));
    char change[SIZE_TEXT_BYTES], allowed[SIZE_TEXT_BYTES];
    if (!bound->is_open && bound->bytes > 0 && change_bytes > bound->bytes &&
        strcmp(size_format(change_bytes, change), size_format(bound->bytes, allowed)) == 0) {
        text_format(text, ", and it is %" PRId64 " B beyond", change_bytes - bound->bytes);
    }
}

static void rule_words(struct text *text, const struct gate *gate, const struct gate_case *one, int level)
{
    struct gate_rules rules;
    gate_policy_settle(gate->policy, one->now != NULL ? one->now : one->base, &rules);
    struct gate_rule *rule = &rules.of[level];
    if ((one->by_prediction & (1U << level)) != 0) {
        const struct gate_bound bound = gate_policy_first(gate->policy, level);
        text_append(text, ", without a baseline allowed are ");
        gate_bound_append(text, &bound);
        text_append(text, " of what replay predicts");
    } else if ((one->by_reference & (1U << level)) != 0) {
        text_format(text, " since the reference, %s", gate->reference_words != NULL ? gate->reference_words : "?");
        rule->fail = rule->reference;
    }
    if ((one->by_prediction & (1U << level)) == 0) {
        text_append(text, ", ");
    }
    if ((one->better & (1U << level)) != 0 && (one->by_reference & (1U << level)) == 0) {
        text_append(text, "better: it is no baseline until somebody accepts it");
    } else if ((one->by_prediction & (1U << level)) == 0) {
        bound_words(text, rule, one->levels[level] != GATE_WARN);
        excess_words(text, rule, one, level);
    }
    if (rule->line > 0 || rule->tier != GATE_TIER_CRITICAL) {
        text_append(text, " (");
        text_append(text, rule->tier != GATE_TIER_CRITICAL ? gate_tier_word(rule->tier) : "");
        text_append(text, rule->tier != GATE_TIER_CRITICAL && rule->line > 0 ? ", " : "");
        if (rule->line > 0) {
            text_format(text, "rule of line %d", rule->line);
        }
        text_append(text, ")");
    }
}

static void level_words(struct text *text, const struct gate *gate, const struct gate_case *one, int level)
{
    const int64_t base_bytes = gate_base_bytes(one, level);
    const int64_t now_bytes = one->now != NULL ? one->now->measured.of[level] : FIGURE_BYTES_UNKNOWN;
    char before[SIZE_TEXT_BYTES], now[SIZE_TEXT_BYTES], change[SIZE_TEXT_BYTES];
    text_append(text, level_peak_name((enum level)level));
    if (now_bytes == FIGURE_BYTES_UNKNOWN) {
        text_format(text, " %s in the baseline, and not known now", size_format(base_bytes, before));
        return;
    }
    const int64_t change_bytes = now_bytes - base_bytes;
    text_format(text, "%s %s -> %s (%s%s", (one->by_prediction & (1U << level)) != 0 ? " predicted" : "",
                size_format(base_bytes, before), size_format(now_bytes, now), change_bytes > 0 ? "+" : "",
                size_format(change_bytes, change));
    if (base_bytes > 0) {
        text_format(text, ", %s", percentage_format((double)change_bytes / (double)base_bytes, before));
    }
    text_append(text, ")");
    if (one->levels[level] == GATE_INSUFFICIENT) {
        const struct case_figures *base = (one->by_reference & (1U << level)) != 0 ? one->reference : one->base;
        const struct case_figures *odd = one->now->invalid ? one->now : base;
        text_format(text, ", but %s", odd->invalid ? odd->disturbance : "the devices differ");
        text_append(text, odd->invalid && odd == base ? " (in the baseline)" : "");
        return;
    }
    rule_words(text, gate, one, level);
}

void gate_case_append(struct text *text, const struct gate *gate, const struct gate_case *one)
{
    if (one->worst_level < LEVEL_COUNT && one->levels[one->worst_level] > GATE_NEW) {
        level_words(text, gate, one, one->worst_level);
        int others = 0;
        for (int level = 0; level < LEVEL_COUNT; level++) {
            others += level != one->worst_level && one->levels[level] > GATE_NEW ? 1 : 0;
        }
        if (others > 0) {
            text_format(text, "; %d more level%s", others, others == 1 ? "" : "s");
        }
    }
    if (one->whole > GATE_NEW) {
        text_format(text, "%s%s", text->length > 0 && one->worst_level < LEVEL_COUNT ? "; " : "", one->why);
    }
    if (one->known >= 0) {
        const struct gate_known *known = &gate->policy->knowns[one->known];
        text_format(text, "; known%s: %s (%s %s)", one->is_expired ? ", but no longer" : "", known->reason,
                    one->is_expired ? "expired after" : "until", known->expires);
    }
}

/* ---- all of them ---- */

void gate_counts_append(struct text *text, const struct gate *gate)
{
    const char *separator = "";
    for (int verdict = GATE_VERDICT_COUNT - 1; verdict >= 0; verdict--) {
        if (gate->counts[verdict] > 0) {
            text_format(text, "%s%d %s", separator, gate->counts[verdict],
                        gate_verdict_word((enum gate_verdict)verdict));
            separator = ", ";
        }
    }
    text_append(text, separator[0] == '\0' ? "no case" : "");
}

static const char *are(int count)
{
    return count == 1 ? "is" : "are";
}

/* The first case that decides, with its reason. */
static void first_append(struct text *text, const struct gate *gate)
{
    const struct gate_case *one = gate->case_count > 0 ? &gate->cases[gate->order[0]] : NULL;
    if (one != NULL && one->decides) {
        struct text words = {0};
        gate_case_append(&words, gate, one);
        text_format(text, "; first %s: %s", one->id, text_string(&words));
        text->failed = text->failed || words.failed;
        text_release(&words);
    }
}

static const char *separated(const char **separator)
{
    const char *now = *separator;
    *separator = "; ";
    return now;
}

static void refused_append(struct text *text, const struct gate *gate, const char **separator)
{
#define REFUSAL_PROPERTIES(name, word, first, second) {first, second},
    static const enum environment properties[GATE_REFUSAL_COUNT][2] = {GATE_REFUSAL_TABLE(REFUSAL_PROPERTIES)};
#undef REFUSAL_PROPERTIES
    for (int i = 0; i < GATE_REFUSAL_COUNT; i++) {
        const int property =
            gate->baseline != NULL && gate->differs[properties[i][0]] ? (int)properties[i][0] : (int)properties[i][1];
        if ((gate->refused & (1U << i)) != 0) {
            const char *name = environment_words((enum environment)property);
            const bool is_plural = name[strlen(name) - 1] == 's';
            text_format(text, "%sthe %s %s of the baseline (%s -> %s)", separated(separator), name,
                        is_plural ? "differ from those" : "differs from that", gate->baseline->environment[property],
                        gate->run->environment[property]);
        }
    }
    if (gate->refused != 0) {
        text_append(text, ", so that nothing was held against it; measure a new baseline, or allow it with --allow ");
        gate_refusals_append(text, gate->refused);
    }
}

static void cut_append(struct text *text, const struct gate *gate, const char **separator)
{
    const struct run_figures *run = gate->run;
    const int missing = run->absent_count + run->unnamed_absent_count;
    if (missing > 0) {
        text_format(text, "%s%d selected case%s %s not there", separated(separator), missing, missing == 1 ? "" : "s",
                    are(missing));
    }
    if (!run->ended) {
        text_format(text, "%s%s", separated(separator),
                    run->absent_cause != NULL ? run->absent_cause
                                              : "the run has no end: it was killed or still goes on");
    }
}

/* The cases that decide and are not among those that the run selected and did not make, which are told before. */
static int unknown_else(const struct gate *gate)
{
    const struct run_figures *run = gate->run;
    int count = gate->unknown_count;
    for (int i = 0, at = 0; i < gate->case_count && at < run->absent_count; i++) {
        const struct gate_case *one = &gate->cases[i];
        while (at < run->absent_count && strcmp(run->absent[at].id, one->id) < 0) {
            at++;
        }
        const bool is_absent = at < run->absent_count && strcmp(run->absent[at].id, one->id) == 0;
        count -= is_absent && one->decides && one->verdict != GATE_BREACH ? 1 : 0;
    }
    return count;
}

static void unknown_append(struct text *text, const struct gate *gate, const char **separator)
{
    const int count = unknown_else(gate);
    if (gate->stranger != NULL) {
        text_append(text, gate->stranger);
        return;
    }
    cut_append(text, gate, separator);
    refused_append(text, gate, separator);
    if (gate->lacking != NULL) {
        text_format(text, "%s%s", separated(separator), gate->lacking);
    }
    if (count > 0) {
        text_format(text, "%s%d %s %d cases %s missing or could not be judged", separated(separator), count,
                    count < gate->unknown_count ? "more of" : "of", gate->case_count, are(count));
        if (count == gate->unknown_count) {
            first_append(text, gate);
        }
    }
    if ((*separator)[0] == '\0' && gate->is_unjudged) {
        text_format(text, "0 figures judged: %s, and no figure has a tolerance or a prediction",
                    gate->first != NULL ? gate->first : "there is no baseline");
    } else if ((*separator)[0] == '\0') {
        text_append(text, gate->judged_count == 0 && gate->counts[GATE_NEW] == 0
                              ? "no case was measured"
                              : "no figure could be held against the baseline");
    }
}

static void go_append(struct text *text, const struct gate *gate)
{
    const int held = gate->baseline != NULL ? gate->held_count : gate->judged_count;
    const int advised = gate->counts[GATE_BREACH];
    text_format(text, "%d case%s %s", held, held == 1 ? "" : "s",
                gate->baseline != NULL ? "held against the baseline, " : "measured, ");
    if (advised > 0) {
        text_format(text, "of which %d %s where %s tier only advises", advised, advised == 1 ? "fails" : "fail",
                    advised == 1 ? "its" : "their");
    } else {
        text_append(text, gate->baseline != NULL ? "none beyond its bounds" : "none failed");
    }
    if (gate->baseline == NULL) {
        text_format(text, "; %s%d figure%s judged by tolerances of the suite and by what replay predicts",
                    gate->first != NULL ? "first night: " : "", gate->figure_count, gate->figure_count == 1 ? "" : "s");
    }
    if (gate->counts[GATE_WARN] > 0) {
        text_format(text, "; %d with a warning", gate->counts[GATE_WARN]);
    }
    if (gate->better_count > 0) {
        text_format(text, ", %d of them better than the baseline", gate->better_count);
    }
    if (gate->counts[GATE_KNOWN] > 0) {
        text_format(text, "; %d known to fail", gate->counts[GATE_KNOWN]);
    }
    if (gate->counts[GATE_NEW] > 0) {
        text_format(text, "; %d new", gate->counts[GATE_NEW]);
    }
}

void gate_why_append(struct text *text, const struct gate *gate)
{
    const char *separator = "";
    text_format(text, "%s: ", run_outcome_verdict(gate->outcome));
    switch (gate->outcome) {
    case RUN_PASS:
        go_append(text, gate);
        break;
    case RUN_FAIL:
        text_format(text, "%d of %d cases %s beyond %s bounds, or failed", gate->breach_count, gate->case_count,
                    are(gate->breach_count), gate->breach_count == 1 ? "its" : "their");
        first_append(text, gate);
        break;
    default:
        unknown_append(text, gate, &separator);
        break;
    }
}

/* ---- what the policy says in vain ---- */

static void note_say(gate_note_visitor *visit, void *context, struct text *words)
{
    visit(context, text_string(words));
    text_release(words);
}

static void known_note(const struct gate *gate, int at, gate_note_visitor *visit, void *context)
{
    const struct gate_known *known = &gate->policy->knowns[at];
    const struct gate_known_count *count = &gate->knowns[at];
    struct text words = {0};
    text_format(&words, "known failure of line %d (%s)", known->line, known->reason);
    if (count->match_count == 0) {
        text_append(&words, " matches no case; remove it, or mend its pattern");
    } else if (count->failing_count == 0) {
        text_format(&words, " does not fail any more in %d case%s; remove it", count->match_count,
                    count->match_count == 1 ? "" : "s");
    } else if (count->is_expired && count->taken_count == 0) {
        text_format(&words, " expired after %s, and another entry knows the same; remove it", known->expires);
    } else if (count->is_expired) {
        text_format(&words, " expired after %s and counts; mend it, or give it another date", known->expires);
    } else {
        text_release(&words);
        return;
    }
    note_say(visit, context, &words);
}

static int absent_order(const void *left, const void *right)
{
    return strcmp(((const struct absent_case *)left)->id, ((const struct absent_case *)right)->id);
}

/* Whether a side has a case, or was to have it. */
static bool is_selected(const struct run_figures *side, const char *id)
{
    const struct absent_case wanted = {.id = id};
    return run_figures_find(side, id) != NULL ||
           (side->absent_count > 0 &&
            bsearch(&wanted, side->absent, (size_t)side->absent_count, sizeof wanted, absent_order) != NULL);
}

/* How many cases of one side are none of the other; *first is the first of them. */
static int lacking_count(const struct run_figures *side, const struct run_figures *other, const char **first)
{
    int count = 0;
    for (int i = side->case_count - 1; i >= 0; i--) {
        if (!is_selected(other, side->cases[i].id)) {
            *first = side->cases[i].id;
            count++;
        }
    }
    return count;
}

/* Of another suite nothing is held against the run, but what is another in it can be told. */
static void suites_note(const struct gate *gate, gate_note_visitor *visit, void *context)
{
    const char *gone = NULL, *new = NULL;
    const int gone_count = lacking_count(gate->baseline, gate->run, &gone);
    const int new_count = lacking_count(gate->run, gate->baseline, &new);
    struct text words = {0};
    if (gone_count + new_count == 0) {
        return;
    }
    text_append(&words, "between the two suites ");
    if (gone_count > 0) {
        text_format(&words, "%d case%s gone (first %s)", gone_count, gone_count == 1 ? " is" : "s are", gone);
    }
    if (new_count > 0) {
        text_format(&words, "%s%d %s new (first %s)", gone_count > 0 ? ", and " : "", new_count,
                    gone_count > 0   ? are(new_count)
                    : new_count == 1 ? "case is"
                                     : "cases are",
                    new);
    }
    note_say(visit, context, &words);
}

void gate_notes_visit(const struct gate *gate, gate_note_visitor *visit, void *context)
{
    if ((gate->refused & (1U << GATE_REFUSAL_SUITE)) != 0) {
        suites_note(gate, visit, context);
    }
    for (int i = 0; i < gate->policy->known_count; i++) {
        known_note(gate, i, visit, context);
    }
    for (int i = 0; gate->baseline != NULL && gate->refused == 0 && i < gate->policy->rule_count; i++) {
        if (gate->rule_uses[i] == 0) {
            struct text words = {0};
            text_format(&words, "rule of line %d matches no figure; remove it, or mend its pattern",
                        gate->policy->rules[i].line);
            note_say(visit, context, &words);
        }
    }
    if (gate->baseline_note != NULL) {
        visit(context, gate->baseline_note);
    }
    if (gate->baseline != NULL && !gate->baseline->ended) {
        visit(context, "the baseline was cut short: of the cases that it did not come to nothing is known");
    }
    if (gate->run->damaged_line_count > 0) {
        visit(context, "a line that a killed run left unfinished was left out");
    }
    if (gate->run->notes[0] != '\0') {
        visit(context, gate->run->notes);
    }
}
