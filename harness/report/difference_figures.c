/* Figures of two cases of one id: which there are, how far apart they may be, and how they are called. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/report/difference_view.h"
#include "harness/report/placed_view.h"
#include "harness/report/proof_rates.h"
#include "harness/report/spread.h"

/* What the figures of a pair have in common. */
struct maker {
    const struct difference_rule *rules;
    const struct case_pair *pair;
    struct figures *figures;
    bool blocked; /* readings say nothing about each other */
};

static bool text_equal(const char *left, const char *right)
{
    return strcmp(left != NULL ? left : "", right != NULL ? right : "") == 0;
}

/* A case without a device has no readings that could be of another one. */
static bool devices_differ(const struct case_view *a, const struct case_view *b)
{
    return a->device_kind != NULL && b->device_kind != NULL &&
           (!text_equal(a->device_kind, b->device_kind) || !text_equal(a->device_name, b->device_name));
}

void pair_obstacle_append(struct text *text, const struct case_pair *pair)
{
    const struct case_view *const sides[] = {pair->base, pair->other};
    static const char *const names[] = {"old", "new"};
    for (int i = 0; i < 2; i++) {
        if (sides[i]->invalid) {
            text_format(text, "%sinvalid in %s: %s", text->length > 0 ? "; " : "", names[i], sides[i]->disturbance);
        }
    }
    if (devices_differ(pair->base, pair->other)) {
        text_append(text, text->length > 0 ? "; different devices" : "different devices");
    }
    const struct missing_case *missing = pair->other->missing;
    if (missing != NULL) {
        text_format(text, "%sthe last run of the new records made %" PRId64 " of %" PRId64 " attempts",
                    text->length > 0 ? "; " : "", missing->made_count, missing->wanted_count);
    }
}

/* allowance_bytes: what the attempts of BASE themselves differ by, 0 if they were not repeated. */
static enum figure_state state_of(const struct maker *maker, const struct figure *figure, int64_t allowance_bytes)
{
    const struct level_rule *rule = &maker->rules[figure->level].rule;
    bool gone = figure->other_bytes == BYTES_UNKNOWN;
    if (figure->base_bytes == figure->other_bytes) {
        return FIGURE_EQUAL;
    }
    if (figure->base_bytes == BYTES_UNKNOWN) {
        return FIGURE_APPEARED;
    }
    if (rule->kind == LEVEL_RULE_NONE) {
        return FIGURE_UNJUDGED;
    }
    int64_t difference = figure->other_bytes - figure->base_bytes;
    if (!gone && (tolerance_holds(&rule->tolerance, difference, figure->base_bytes) ||
                  (difference <= allowance_bytes && difference >= -allowance_bytes))) {
        return FIGURE_WITHIN;
    }
    return level_is_reading(figure->level) && (gone || maker->blocked) ? FIGURE_OPEN : FIGURE_BEYOND;
}

/* A figure that neither side has is none. */
static void figure_add(struct maker *maker, struct figure figure, int64_t allowance_bytes)
{
    bool known = figure.base_bytes != BYTES_UNKNOWN || figure.other_bytes != BYTES_UNKNOWN;
    if (known && maker->figures->count < FIGURES_MAXIMUM) {
        figure.state = state_of(maker, &figure, allowance_bytes);
        maker->figures->rows[maker->figures->count++] = figure;
    }
}

/* What repeated attempts at BASE's case differ by counts as known noise, of readings alone. */
static int64_t allowance_of(const struct maker *maker, enum level level, int stage)
{
    const struct spread *spread = &maker->pair->base->spread;
    if (!level_is_reading(level) || spread->attempt_count < 2) {
        return 0;
    }
    int64_t bytes = stage < 0 ? spread_widest(spread, level) : spread->stage_bytes[stage][level];
    return bytes > 0 ? bytes : 0;
}

static void peaks_add(struct maker *maker)
{
    const struct footprint_view *a = &maker->pair->base->measured, *b = &maker->pair->other->measured;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct figure figure = {.kind = FIGURE_PEAK,
                                .level = (enum level)level,
                                .base_bytes = a->peak_bytes[level],
                                .other_bytes = b->peak_bytes[level]};
        figure_add(maker, figure, allowance_of(maker, (enum level)level, -1));
    }
    figure_add(maker,
               (struct figure){.kind = FIGURE_SAVED,
                               .level = LEVEL_REQUESTED,
                               .base_bytes = a->saved_for_backward_bytes,
                               .other_bytes = b->saved_for_backward_bytes},
               0);
}

static void contexts_add(struct maker *maker)
{
    const struct case_view *a = maker->pair->base, *b = maker->pair->other;
    for (int level = LEVEL_COUNTED_COUNT; level < LEVEL_COUNT; level++) {
        struct figure figure = {.kind = FIGURE_CONTEXT,
                                .level = (enum level)level,
                                .base_bytes = a->context_bytes[level],
                                .other_bytes = b->context_bytes[level]};
        figure_add(maker, figure, allowance_of(maker, (enum level)level, -1));
    }
}

/* Of one stage and level the peak, and the end if it is another figure. */
static void stage_level_add(struct maker *maker, int stage, enum level level)
{
    const struct stage_view *a = maker->pair->base->measured.stages[stage];
    const struct stage_view *b = maker->pair->other->measured.stages[stage];
    struct figure figure = {.kind = FIGURE_STAGE_PEAK,
                            .stage = stage,
                            .level = level,
                            .base_bytes = a->peak_bytes[level],
                            .other_bytes = b->peak_bytes[level]};
    int64_t allowance_bytes = allowance_of(maker, level, stage);
    figure_add(maker, figure, allowance_bytes);
    if (a->end_bytes[level] != figure.base_bytes || b->end_bytes[level] != figure.other_bytes) {
        figure.kind = FIGURE_STAGE_END;
        figure.base_bytes = a->end_bytes[level];
        figure.other_bytes = b->end_bytes[level];
        figure_add(maker, figure, allowance_bytes);
    }
}

/* Attempts that begin to differ among themselves are a change, even if the last of them is what it was. Attempts
 * that differ less than they did are none. */
static void spreads_add(struct maker *maker)
{
    const struct spread *a = &maker->pair->base->spread, *b = &maker->pair->other->spread;
    for (int level = 0; level < LEVEL_COUNT && a->attempt_count > 1 && b->attempt_count > 1; level++) {
        struct figure figure = {.kind = FIGURE_SPREAD,
                                .level = (enum level)level,
                                .base_bytes = spread_widest(a, (enum level)level),
                                .other_bytes = spread_widest(b, (enum level)level)};
        if (figure.base_bytes != BYTES_UNKNOWN && figure.other_bytes >= figure.base_bytes) {
            figure_add(maker, figure, 0);
        }
    }
}

/* PyTorch's records predict nothing, and older ones know fewer quantities: a prediction of one side alone is no
 * figure. */
static void predictions_add(struct maker *maker)
{
    const struct case_view *a = maker->pair->base, *b = maker->pair->other;
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        struct figure figure = {.kind = FIGURE_PREDICTED,
                                .level = (enum level)level,
                                .estimator = "replay",
                                .base_bytes = a->predicted.peak_bytes[level],
                                .other_bytes = b->predicted.peak_bytes[level]};
        if (figure.base_bytes != BYTES_UNKNOWN && figure.other_bytes != BYTES_UNKNOWN) {
            figure_add(maker, figure, 0);
        }
    }
    if (a->proof != NULL && b->proof != NULL && a->proof->least_bytes != BYTES_UNKNOWN &&
        b->proof->least_bytes != BYTES_UNKNOWN) {
        struct figure least = {.kind = FIGURE_LEAST,
                               .level = LEVEL_RESERVED,
                               .estimator = "replay",
                               .base_bytes = a->proof->least_bytes,
                               .other_bytes = b->proof->least_bytes};
        figure_add(maker, least, 0);
    }
    for (int at = 0; at < a->total_count; at++) {
        for (int other = 0; other < b->total_count; other++) {
            if (strcmp(a->totals[at].estimator, b->totals[other].estimator) == 0) {
                struct figure figure = {.kind = FIGURE_TOTAL,
                                        .level = LEVEL_ALLOCATED,
                                        .estimator = a->totals[at].estimator,
                                        .base_bytes = a->totals[at].total_bytes,
                                        .other_bytes = b->totals[other].total_bytes};
                figure_add(maker, figure, 0);
            }
        }
    }
}

/* Of a place that either side may lack. */
static void place_add(struct maker *maker, const char *name, const struct place_view *a, const struct place_view *b)
{
    const struct placed_view *placed = a != NULL ? maker->pair->base->placed : maker->pair->other->placed;
    bool is_main = placed->main >= 0 && (a != NULL ? a : b) == &placed->places[placed->main];
    for (int level = 0; level < LEVEL_COUNT && !is_main; level++) {
        struct figure figure = {.kind = FIGURE_PLACE,
                                .level = (enum level)level,
                                .place = name,
                                .base_bytes = a != NULL ? a->measured.peak_bytes[level] : BYTES_UNKNOWN,
                                .other_bytes = b != NULL ? b->measured.peak_bytes[level] : BYTES_UNKNOWN};
        figure_add(maker, figure, 0);
    }
    figure_add(maker,
               (struct figure){.kind = FIGURE_PLACED,
                               .level = LEVEL_REQUESTED,
                               .place = name,
                               .base_bytes = a != NULL ? a->placed_bytes : BYTES_UNKNOWN,
                               .other_bytes = b != NULL ? b->placed_bytes : BYTES_UNKNOWN},
               0);
}

/* Places are held against those of the same name. */
static void places_add(struct maker *maker)
{
    const struct placed_view *a = maker->pair->base->placed, *b = maker->pair->other->placed;
    int count = 0;
    for (int at = 0; a != NULL && at < a->place_count && count < PLACES_COMPARED; at++, count++) {
        place_add(maker, a->places[at].name, &a->places[at], place_find(b, a->places[at].name));
    }
    for (int at = 0; b != NULL && at < b->place_count && count < PLACES_COMPARED; at++) {
        if (place_find(a, b->places[at].name) == NULL) {
            place_add(maker, b->places[at].name, NULL, &b->places[at]);
            count++;
        }
    }
}

void figures_list(const struct difference_rule rules[LEVEL_COUNT], const struct case_pair *pair,
                  struct figures *figures)
{
    struct maker maker = {.rules = rules, .pair = pair, .figures = figures};
    maker.blocked = pair->base->invalid || pair->other->invalid || devices_differ(pair->base, pair->other);
    figures->count = 0;
    peaks_add(&maker);
    contexts_add(&maker);
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        for (int level = 0; level < LEVEL_COUNT; level++) {
            stage_level_add(&maker, stage, (enum level)level);
        }
    }
    places_add(&maker);
    spreads_add(&maker);
    predictions_add(&maker);
}

enum whose { OF_NOBODY, OF_STAGE, OF_ESTIMATOR, OF_PLACE };
enum level_word { NO_LEVEL, LEVEL_NAME, LEVEL_PEAK /* "allocated peak" */ };

/* How figures of a kind are called: for people "BEFORE" WHOSE "BETWEEN" LEVEL "END", for programs by whom and by which
 * key. */
static const struct {
    const char *before;
    enum whose whose;
    const char *between;
    enum level_word level;
    const char *end;
    const char *of;  /* NULL: the estimator */
    const char *key; /* NULL: that of the level, of its peak if has_peak_key */
    bool has_peak_key;
} words[] = {
    [FIGURE_PEAK] = {"", OF_NOBODY, "", LEVEL_PEAK, "", "measured", NULL, true},
    [FIGURE_SAVED] = {"saved for backward", OF_NOBODY, "", NO_LEVEL, "", "measured", "saved_for_backward_bytes", false},
    [FIGURE_CONTEXT] = {"context ", OF_NOBODY, "", LEVEL_NAME, "", "context", NULL, false},
    [FIGURE_STAGE_PEAK] = {"", OF_STAGE, " ", LEVEL_NAME, "", "measured", NULL, true},
    [FIGURE_STAGE_END] = {"end of ", OF_STAGE, " ", LEVEL_NAME, "", "measured", NULL, false},
    [FIGURE_SPREAD] = {"", OF_NOBODY, "", LEVEL_NAME, " spread", "spread", NULL, false},
    [FIGURE_PREDICTED] = {"", OF_ESTIMATOR, " ", LEVEL_NAME, "", NULL, NULL, true},
    [FIGURE_TOTAL] = {"", OF_ESTIMATOR, " total", NO_LEVEL, "", NULL, "total_bytes", false},
    [FIGURE_LEAST] = {"", OF_ESTIMATOR, " least", NO_LEVEL, "", NULL, "least_bytes", false},
    [FIGURE_PLACE] = {"", OF_PLACE, ": ", LEVEL_PEAK, "", "measured", NULL, true},
    [FIGURE_PLACED] = {"", OF_PLACE, ": placed", NO_LEVEL, "", "placement", "placed_bytes", false},
};

const char *figure_name(const struct figure *figure, struct text *name)
{
    const char *const levels[] = {"", level_name(figure->level), level_peak_name(figure->level)};
    const char *const whose[] = {"", report_stage_name(figure->stage), figure->estimator, figure->place};
    text_format(name, "%s%s%s%s%s", words[figure->kind].before, whose[words[figure->kind].whose],
                words[figure->kind].between, levels[words[figure->kind].level], words[figure->kind].end);
    return text_string(name);
}

const char *figure_of(const struct figure *figure)
{
    return words[figure->kind].of != NULL ? words[figure->kind].of : figure->estimator;
}

const char *figure_key(const struct figure *figure)
{
    return words[figure->kind].key != NULL    ? words[figure->kind].key
           : words[figure->kind].has_peak_key ? level_peak_key(figure->level)
                                              : level_key(figure->level);
}

static bool stands_out(const struct figure *figure)
{
    return figure->state == FIGURE_BEYOND || figure->state == FIGURE_OPEN;
}

/* Whether a figure before this one tells the same: the peak of the level where the driver or the kernel counts more in
 * every reading, the peak of the stage where its end moved along. */
static bool is_told_already(const struct figures *figures, int index)
{
    const struct figure *figure = &figures->rows[index];
    for (int i = 0; i < index; i++) {
        const struct figure *other = &figures->rows[i];
        bool of_level = other->kind == FIGURE_PEAK && level_is_reading(figure->level);
        bool of_stage = other->kind == FIGURE_STAGE_PEAK && other->stage == figure->stage;
        if (other->level == figure->level && stands_out(other) && (of_level || of_stage)) {
            return true;
        }
    }
    return false;
}

bool figure_is_shown(const struct figures *figures, int index)
{
    const struct figure *figure = &figures->rows[index];
    if (figure->base_bytes == BYTES_UNKNOWN || figure->other_bytes == BYTES_UNKNOWN) {
        return false;
    }
    if (figure->kind == FIGURE_PEAK || !stands_out(figure)) {
        return figure->kind == FIGURE_PEAK;
    }
    bool of_stage = figure->kind == FIGURE_STAGE_PEAK || figure->kind == FIGURE_STAGE_END;
    return !of_stage || !is_told_already(figures, index);
}

const char *figure_state_name(enum figure_state state)
{
    static const char *const names[] = {"equal", "within", "beyond", "open", "unjudged", "new"};
    return names[state];
}

const char *pair_state_name(enum pair_state state)
{
    static const char *const names[] = {"same", "changed", "unjudged"};
    return names[state];
}
