/* Difference view: what was compared, as plain C, for the writers of differences in this folder. Not for anybody
 * outside it. Strings from records are raw: writers escape them. */
#ifndef ASSAY_REPORT_DIFFERENCE_VIEW_H
#define ASSAY_REPORT_DIFFERENCE_VIEW_H

#include "harness/report/case_view.h"
#include "harness/report/difference.h"
#include "harness/report/environment.h"
#include "harness/report/gap.h"
#include "harness/report/wording.h"

struct environment_row {
    const char *key, *words;
    const char *base, *other; /* several values with ", " between them; NULL: not recorded */
    bool differs;             /* both are known, and not equal */
};

/* Fills a row for each property; strings from arena. False if memory ran out. */
bool environment_compare(const struct report *base, const struct report *other, struct arena *arena,
                         struct environment_row rows[ENVIRONMENT_COUNT]);

int environment_difference_count(const struct environment_row rows[ENVIRONMENT_COUNT]);

/* Which rows are told together: "driver, kernel of the host"; of those that one side alone has recorded, also which
 * side has not: "driver (old)". Nothing is appended if there are none. */
enum environment_kind { ENVIRONMENT_DIFFERING, ENVIRONMENT_EQUAL, ENVIRONMENT_UNRECORDED };
void environment_append(struct text *text, const struct environment_row rows[ENVIRONMENT_COUNT],
                        enum environment_kind kind);

/* ---- rules ---- */

enum rule_source { RULE_SOURCE_EXACT, RULE_SOURCE_DEFAULT, RULE_SOURCE_SUITE, RULE_SOURCE_OPTION };

const char *rule_source_name(enum rule_source source); /* "exact", "default", "suite", "option" */

struct difference_rule {
    struct level_rule rule; /* never LEVEL_RULE_ABSENT */
    enum rule_source source;
};

/* ---- figures ---- */

enum figure_kind {
    FIGURE_PEAK,       /* over all stages */
    FIGURE_SAVED,      /* for the backward pass; counts as a requested figure */
    FIGURE_CONTEXT,    /* the reading of the bare context */
    FIGURE_STAGE_PEAK, /* of one stage */
    FIGURE_STAGE_END,
    FIGURE_SPREAD,    /* of the attempts of one run */
    FIGURE_PREDICTED, /* by replay */
    FIGURE_TOTAL,     /* by another estimator */
    FIGURE_LEAST,     /* the least bytes of a proof, by replay */
    FIGURE_PLACE,     /* the peak on one place of a placed case, but for the main one, which FIGURE_PEAK is of */
    FIGURE_PLACED     /* weights and buffers that the map keeps on a place; counts as a requested figure */
};

enum figure_state {
    FIGURE_EQUAL,
    FIGURE_WITHIN,   /* differs, by no more than it may */
    FIGURE_BEYOND,   /* differs by more, or NEW has no such figure any more */
    FIGURE_OPEN,     /* would be beyond, but a reading is disturbed, of another device, or gone */
    FIGURE_UNJUDGED, /* differs; no tolerance by wish */
    FIGURE_APPEARED  /* NEW alone has it */
};

const char *figure_state_name(enum figure_state state); /* "equal", "within", "beyond", "open", "unjudged", "new" */

struct figure {
    enum figure_kind kind;
    enum figure_state state;
    enum level level;
    int stage;             /* FIGURE_STAGE_*; an enum stage */
    const char *estimator; /* FIGURE_TOTAL, FIGURE_PREDICTED, FIGURE_LEAST */
    const char *place;     /* FIGURE_PLACE, FIGURE_PLACED */
    int64_t base_bytes, other_bytes;
};

enum { PLACES_COMPARED = 16 }; /* of the others nothing is said */
enum {
    FIGURES_MAXIMUM = LEVEL_COUNT * (2 * STAGE_COUNT + 3) + 6 + ESTIMATOR_MAXIMUM + PLACES_COMPARED * (LEVEL_COUNT + 1)
};

struct figures {
    struct figure rows[FIGURES_MAXIMUM];
    int count;
};

enum pair_state { PAIR_SAME, PAIR_CHANGED, PAIR_OPEN };

const char *pair_state_name(enum pair_state state); /* "same", "changed", "unjudged" */

/* The two cases of one id. */
struct case_pair {
    const struct case_view *base, *other;
    enum pair_state state;
};

/* Every figure that one of the two sides has, in the order of enum figure_kind. */
void figures_list(const struct difference_rule rules[LEVEL_COUNT], const struct case_pair *pair,
                  struct figures *figures);

/* "allocated peak", "forward process", "accelerate total". Returns name's text, raw. */
const char *figure_name(const struct figure *figure, struct text *name);

/* For programs, what a figure is of and its quantity: "measured", "allocated_bytes_peak". */
const char *figure_of(const struct figure *figure);
const char *figure_key(const struct figure *figure);

/* Whether people are shown the figure, in a list of all figures of a changed case: peaks always, others if they are
 * beyond or open and say what the figures above them do not. */
bool figure_is_shown(const struct figures *figures, int index);

/* Why the two, or their readings, cannot be held against each other: a disturbance, another device, attempts that NEW
 * lacks. "" if they can. */
void pair_obstacle_append(struct text *text, const struct case_pair *pair);

/* ---- all of it ---- */

struct level_summary {
    struct gap_summary gap;       /* of the peaks that both know; of readings, those that nothing disturbed */
    int beyond_count, open_count; /* of cases */
};

/* A case that NEW lacks. */
struct case_absence {
    const struct case_view *view; /* of BASE; of one that BASE does not have either an id and nothing else */
    const char *reason;           /* raw; NULL: nobody knows */
};

struct difference {
    struct arena arena;
    const struct report *base, *other;
    double within; /* negative: none */
    struct environment_row environment[ENVIRONMENT_COUNT];
    struct difference_rule rules[LEVEL_COUNT];
    struct case_pair *pairs; /* in BASE's order */
    int pair_count;
    struct case_absence *missing;      /* in the order of BASE, then what NEW alone selected and did not make */
    const struct case_view **appeared; /* in the order of their records */
    int missing_count, appeared_count;
    int stranger_count; /* of those that are missing: BASE does not have them either */
    int unnamed_count;  /* attempts that NEW selected, and does not say at which cases */
    int short_count;    /* of pairs: the last run of NEW made fewer attempts than it was to make; never same */
    int same_count, changed_count, open_count;       /* of pairs */
    int status_count, prediction_count, saved_count; /* of pairs in which these changed */
    int gone_count;                                  /* pairs that BASE measured to their end and NEW did not */
    int measured_count;                              /* of pairs with a measured figure that both know */
    struct level_summary levels[LEVEL_COUNT];
    int beyond_within_count, unmeasured_count; /* with `within`: allocated peaks beyond it, and not measured in NEW */
    int held_count;                            /* with `within`: allocated peaks that both measured */
    enum run_outcome outcome;
};

/* "requested, allocated, reserved: exact; device, process: 4.00 MiB (default)". */
void rules_append(struct text *text, const struct difference *difference);

/* Why the outcome is what it is, in one sentence: "changed: process beyond 4.00 MiB in 19 cases". */
void outcome_append(struct text *text, const struct difference *difference);

/* "old: pytorch 2.11.0 on cuda (NVIDIA H200), results/pytorch: 19 cases: 19 ok" without the first word; raw. */
void side_append(struct text *text, const struct report *report);

/* What programs read (difference_document.c); for people there is difference_page.c. */
enum status_code difference_document_write(const struct difference *difference, bool only_changed, struct text *text,
                                           struct status *error);

#endif
