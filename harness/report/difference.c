/* Difference: which cases belong together, which rules hold, and the outcome. Not the figures of a case
 * (difference_figures.c), not the environment, and not a writer. */
#include "harness/report/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "harness/report/difference_view.h"

const char *rule_source_name(enum rule_source source)
{
    static const char *const names[] = {"exact", "default", "suite", "option"};
    return names[source];
}

/* ---- the cases that belong together ---- */

static int id_order(const void *left, const void *right)
{
    const struct case_view *const *a = left, *const *b = right;
    return strcmp((*a)->id, (*b)->id);
}

static const struct case_view **index_make(struct arena *arena, const struct report *report)
{
    const struct case_view **index = arena_alloc(arena, ((size_t)report->case_count + 1) * sizeof *index);
    for (int at = 0; index != NULL && at < report->case_count; at++) {
        index[at] = &report->cases[at];
    }
    if (index != NULL) {
        qsort(index, (size_t)report->case_count, sizeof *index, id_order);
    }
    return index;
}

static const struct case_view *index_find(const struct case_view **index, int count, const struct case_view *wanted)
{
    const struct case_view **found = bsearch(&wanted, index, (size_t)count, sizeof *index, id_order);
    return found != NULL ? *found : NULL;
}

/* Whether the last run that selected a case did not come to it: its figures, if it has some, are of another night. */
static bool is_unmade(const struct case_view *view)
{
    return view->missing != NULL && view->missing->made_count == 0;
}

static void missing_add(struct difference *difference, const struct case_view *view, const char *reason)
{
    difference->missing[difference->missing_count++] = (struct case_absence){.view = view, .reason = reason};
}

/* The cases that NEW selected and did not make, and that BASE does not have. */
static bool strangers_add(struct difference *difference, const struct case_view **base_index)
{
    const struct report *base = difference->base, *other = difference->other;
    for (int at = 0; at < other->missing_count; at++) {
        const struct missing_case *one = &other->missing[at];
        struct case_view *absent = arena_alloc(&difference->arena, sizeof *absent);
        if (absent == NULL) {
            return false;
        }
        *absent = (struct case_view){.id = one->id,
                                     .label = one->id,
                                     .title = one->id,
                                     .status = "missing",
                                     .measured = footprint_none,
                                     .predicted = footprint_none};
        if (one->made_count == 0 && index_find(base_index, base->case_count, absent) == NULL) {
            missing_add(difference, absent, other->missing_cause);
            difference->stranger_count++;
        }
    }
    difference->unnamed_count = other->unnamed_missing_count;
    return true;
}

/* Pairs and missing cases in BASE's order, those of NEW alone in its own. False if memory ran out. */
static bool pairs_make(struct difference *difference)
{
    struct arena *arena = &difference->arena;
    const struct report *base = difference->base, *other = difference->other;
    const struct case_view **base_index = index_make(arena, base), **other_index = index_make(arena, other);
    size_t missing_room = (size_t)base->case_count + (size_t)other->missing_count + 1;
    difference->pairs = arena_alloc(arena, ((size_t)base->case_count + 1) * sizeof *difference->pairs);
    difference->missing = arena_alloc(arena, missing_room * sizeof *difference->missing);
    difference->appeared = arena_alloc(arena, ((size_t)other->case_count + 1) * sizeof *difference->appeared);
    if (base_index == NULL || other_index == NULL || difference->pairs == NULL || difference->missing == NULL ||
        difference->appeared == NULL) {
        return false;
    }
    for (int at = 0; at < base->case_count; at++) {
        const struct case_view *view = &base->cases[at], *found = index_find(other_index, other->case_count, view);
        if (found != NULL && !is_unmade(found)) {
            difference->pairs[difference->pair_count++] = (struct case_pair){.base = view, .other = found};
        } else {
            missing_add(difference, view, found != NULL ? found->reason : other->missing_cause);
        }
    }
    for (int at = 0; at < other->case_count; at++) {
        const struct case_view *view = &other->cases[at];
        if (!is_unmade(view) && index_find(base_index, base->case_count, view) == NULL) {
            difference->appeared[difference->appeared_count++] = view;
        }
    }
    return strangers_add(difference, base_index);
}

/* ---- the rules ---- */

static const struct level_rule exact_rule = {.kind = LEVEL_RULE_TOLERATED, .tolerance = {.kind = TOLERANCE_BYTES}};
static const struct level_rule reading_rule = {
    .kind = LEVEL_RULE_TOLERATED, .tolerance = {.kind = TOLERANCE_BYTES, .bytes = DIFFERENCE_READING_BYTES}};
static const struct level_rule no_rule = {.kind = LEVEL_RULE_NONE};

/* What was asked for, else what the suite of the new results says, else the default. Between two programs readings are
 * shown and not judged. */
static void rules_settle(struct difference *difference, const struct difference_options *options)
{
    const struct json *suite = json_get(report_run(difference->other), "suite");
    struct level_rules recorded = level_rules_from_json(json_get(suite, "compare"));
    for (int i = 0; i < LEVEL_COUNT; i++) {
        struct difference_rule *rule = &difference->rules[i];
        bool reading = level_is_reading((enum level)i);
        if (options->within >= 0.0) {
            *rule = (struct difference_rule){reading ? no_rule : exact_rule, RULE_SOURCE_DEFAULT};
        } else if (options->rules.of[i].kind != LEVEL_RULE_ABSENT) {
            *rule = (struct difference_rule){options->rules.of[i], RULE_SOURCE_OPTION};
        } else if (recorded.of[i].kind != LEVEL_RULE_ABSENT) {
            *rule = (struct difference_rule){recorded.of[i], RULE_SOURCE_SUITE};
        } else {
            *rule = reading ? (struct difference_rule){reading_rule, RULE_SOURCE_DEFAULT}
                            : (struct difference_rule){exact_rule, RULE_SOURCE_EXACT};
        }
    }
}

/* ---- what changed ---- */

/* What of a pair stands out, by what it is. */
struct findings {
    bool beyond[LEVEL_COUNT], open[LEVEL_COUNT];
    bool status, prediction, saved, measured;
};

/* The bare context, the saved bytes and the spread say nothing of what a case takes. */
static bool is_measurement(const struct figure *figure)
{
    bool of_stage = figure->kind == FIGURE_STAGE_PEAK || figure->kind == FIGURE_STAGE_END;
    return figure->kind == FIGURE_PEAK || (of_stage && figure->stage != STAGE_CONTEXT);
}

static void figure_look(const struct figure *figure, struct findings *findings)
{
    bool predicted = figure->kind == FIGURE_PREDICTED || figure->kind == FIGURE_TOTAL || figure->kind == FIGURE_LEAST;
    bool both = figure->base_bytes != BYTES_UNKNOWN && figure->other_bytes != BYTES_UNKNOWN;
    findings->measured = findings->measured || (both && is_measurement(figure));
    if (figure->state == FIGURE_OPEN) {
        findings->open[figure->level] = true;
    } else if (figure->state == FIGURE_BEYOND) {
        *(predicted                      ? &findings->prediction
          : figure->kind == FIGURE_SAVED ? &findings->saved
                                         : &findings->beyond[figure->level]) = true;
    }
}

static struct findings pair_look(const struct difference *difference, const struct case_pair *pair)
{
    struct figures figures;
    struct findings findings = {.status = strcmp(pair->base->status, pair->other->status) != 0};
    figures_list(difference->rules, pair, &figures);
    for (int i = 0; i < figures.count; i++) {
        figure_look(&figures.rows[i], &findings);
    }
    findings.measured = findings.measured && case_is_measured(pair->base) && case_is_measured(pair->other);
    return findings;
}

static void pair_judge(struct difference *difference, struct case_pair *pair)
{
    struct findings findings = pair_look(difference, pair);
    bool changed = findings.status || findings.prediction || findings.saved;
    bool is_short = pair->other->missing != NULL, open = is_short; /* the attempts that are not there may differ */
    for (int level = 0; level < LEVEL_COUNT; level++) {
        difference->levels[level].beyond_count += findings.beyond[level];
        difference->levels[level].open_count += findings.open[level];
        changed = changed || findings.beyond[level];
        open = open || findings.open[level];
    }
    difference->status_count += findings.status;
    difference->gone_count += case_is_measured(pair->base) && !case_is_measured(pair->other) ? 1 : 0;
    difference->prediction_count += findings.prediction;
    difference->saved_count += findings.saved;
    difference->measured_count += findings.measured;
    difference->short_count += is_short;
    pair->state = changed ? PAIR_CHANGED : open ? PAIR_OPEN : PAIR_SAME;
    *(changed ? &difference->changed_count : open ? &difference->open_count : &difference->same_count) += 1;
}

/* How far apart the peaks of a level are over all cases. */
static enum status_code level_summarise(struct difference *difference, enum level level, struct gap *gaps,
                                        struct status *error)
{
    for (int at = 0; at < difference->pair_count; at++) {
        const struct case_view *a = difference->pairs[at].base, *b = difference->pairs[at].other;
        bool disturbed = level_is_reading(level) && (a->invalid || b->invalid);
        gaps[at] = (struct gap){a->label, disturbed ? BYTES_UNKNOWN : a->measured.peak_bytes[level],
                                disturbed ? BYTES_UNKNOWN : b->measured.peak_bytes[level]};
    }
    return gap_summarise(gaps, difference->pair_count, &difference->levels[level].gap, error);
}

/* ---- two programs ---- */

/* NEW lacks what it selected itself. */
static bool is_incomplete(const struct difference *difference)
{
    return difference->other->missing_count + difference->other->unnamed_missing_count > 0;
}

/* What decides when there is a limit: what is known to be wrong before what is not known. If BASE measured nothing,
 * nothing agrees. */
static enum run_outcome within_judge(struct difference *difference)
{
    for (int at = 0; at < difference->missing_count; at++) {
        difference->unmeasured_count +=
            difference->missing[at].view->measured.peak_bytes[LEVEL_ALLOCATED] != BYTES_UNKNOWN;
    }
    for (int at = 0; at < difference->pair_count; at++) {
        const struct case_pair *pair = &difference->pairs[at];
        struct gap gap = {pair->base->label, pair->base->measured.peak_bytes[LEVEL_ALLOCATED],
                          pair->other->measured.peak_bytes[LEVEL_ALLOCATED]};
        double relative = INFINITY; /* any bytes are beyond a limit of none */
        bool both = gap.base_bytes != BYTES_UNKNOWN && gap.new_bytes != BYTES_UNKNOWN;
        gap_relative(&gap, &relative);
        difference->held_count += both;
        difference->unmeasured_count += gap.base_bytes != BYTES_UNKNOWN && !both;
        difference->beyond_within_count += both && fabs(relative) > difference->within;
    }
    bool unknown = difference->unmeasured_count > 0 || difference->held_count == 0;
    return difference->beyond_within_count > 0 ? RUN_FAIL
           : difference->short_count > 0       ? RUN_INCOMPLETE
           : unknown                           ? RUN_INCONCLUSIVE
                                               : RUN_PASS;
}

static enum run_outcome outcome_of(struct difference *difference)
{
    if (difference->within >= 0.0) {
        return within_judge(difference);
    }
    bool unknown = difference->open_count > 0 || difference->missing_count > 0 || difference->measured_count == 0;
    return difference->changed_count > 0 ? RUN_FAIL
           : is_incomplete(difference)   ? RUN_INCOMPLETE
           : unknown                     ? RUN_INCONCLUSIVE
                                         : RUN_PASS;
}

enum status_code difference_make(const struct report *base, const struct report *new_report,
                                 const struct difference_options *options, struct difference **difference,
                                 struct status *error)
{
    struct difference *made = calloc(1, sizeof *made);
    struct gap *gaps = calloc((size_t)base->case_count + 1, sizeof *gaps);
    bool whole = made != NULL && gaps != NULL;
    enum status_code code = STATUS_OK;
    if (whole) {
        made->base = base;
        made->other = new_report;
        made->within = options->within;
        rules_settle(made, options);
        whole = pairs_make(made) && environment_compare(base, new_report, &made->arena, made->environment);
    }
    if (!whole) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory to compare %d cases", base->case_count);
    }
    for (int at = 0; code == STATUS_OK && at < made->pair_count; at++) {
        pair_judge(made, &made->pairs[at]);
    }
    for (int level = 0; code == STATUS_OK && level < LEVEL_COUNT; level++) {
        code = level_summarise(made, (enum level)level, gaps, error);
    }
    free(gaps);
    if (code != STATUS_OK) {
        difference_release(made);
        return code;
    }
    made->outcome = outcome_of(made);
    *difference = made;
    return STATUS_OK;
}

void difference_release(struct difference *difference)
{
    if (difference != NULL) {
        arena_release(&difference->arena);
        free(difference);
    }
}

enum run_outcome difference_outcome(const struct difference *difference)
{
    return difference->outcome;
}
