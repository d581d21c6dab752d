/* Gate: may this run pass? It is held against a baseline, case by case and level by level, by the rules of a policy,
 * and comes to GO, NO-GO or INCONCLUSIVE, with the reason.
 *
 * The answer is a function of the records and the policy: of no clock and no machine. What is not known never passes as
 * good: a run that was cut short, a case that is missing or a figure that could not be taken is INCONCLUSIVE, and so is
 * a baseline of another device, driver or suite, because its figures say nothing. An improvement alone never fails. */
#ifndef ASSAY_GATE_GATE_H
#define ASSAY_GATE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/gate/gate_policy.h"
#include "harness/record/outcome.h"
#include "harness/report/run_figures.h"

/* X(NAME, word): of a figure and of a case, the gravest last. That of a case is the gravest of its figures and of the
 * case as a whole.
 *
 *   PASS          within its bounds; a case without a baseline: as the run itself says
 *   NEW           the baseline has no such case, or no such figure
 *   WARN          beyond what is to be told, or an improvement beyond the bound
 *   KNOWN         a known failure, which has not expired
 *   INSUFFICIENT  nobody can say: an error, a timeout, a disturbed reading, a figure or an attempt that is not there,
 *                 a case before which the baseline was cut short
 *   MISSING       the baseline has the case, or the run selected it, and it is not there
 *   BREACH        beyond the bound; a verdict of the record failed; out of memory where the baseline was not */
#define GATE_VERDICT_TABLE(X)                                                                                          \
    X(PASS, "PASS")                                                                                                    \
    X(NEW, "NEW")                                                                                                      \
    X(WARN, "WARN")                                                                                                    \
    X(KNOWN, "KNOWN")                                                                                                  \
    X(INSUFFICIENT, "INSUFFICIENT")                                                                                    \
    X(MISSING, "MISSING")                                                                                              \
    X(BREACH, "BREACH")

enum gate_verdict {
    GATE_NONE = -1, /* of a figure that neither side knows */
#define GATE_VERDICT_ENUM(name, word) GATE_##name,
    GATE_VERDICT_TABLE(GATE_VERDICT_ENUM)
#undef GATE_VERDICT_ENUM
        GATE_VERDICT_COUNT
};

const char *gate_verdict_word(enum gate_verdict verdict); /* "PASS", ..., "-" for GATE_NONE */

/* X(NAME, word of --allow, its property, and another one or the same): what may not differ between the two sides,
 * unless it is allowed. Whoever loosens how a run is measured or judged gets no GO by it. Tolerances of another suite
 * are a part of its difference. */
#define GATE_REFUSAL_TABLE(X)                                                                                          \
    X(DEVICE, "device", ENVIRONMENT_DEVICE, ENVIRONMENT_TARGET)                                                        \
    X(DRIVER, "driver", ENVIRONMENT_DRIVER, ENVIRONMENT_DRIVER)                                                        \
    X(SUITE, "suite", ENVIRONMENT_PLAN_HASH, ENVIRONMENT_PLAN_HASH)                                                    \
    X(THREADS, "threads", ENVIRONMENT_THREADS, ENVIRONMENT_THREADS)                                                    \
    X(TOLERANCES, "tolerances", ENVIRONMENT_TOLERANCES, ENVIRONMENT_TOLERANCES)                                        \
    X(ATTEMPTS, "repeat", ENVIRONMENT_ATTEMPTS, ENVIRONMENT_ATTEMPTS)                                                  \
    X(CONSTANTS, "constants", ENVIRONMENT_CONSTANTS, ENVIRONMENT_CONSTANTS)                                            \
    X(NOTE_CALIBRATED, "note-calibrated", ENVIRONMENT_NOTE_CALIBRATED, ENVIRONMENT_NOTE_CALIBRATED)                    \
    X(FITTING, "fitting", ENVIRONMENT_FITTING, ENVIRONMENT_FITTING)                                                    \
    X(PROOF, "prove", ENVIRONMENT_PROOF, ENVIRONMENT_PROOF)                                                            \
    X(JOBS, "jobs", ENVIRONMENT_JOBS, ENVIRONMENT_JOBS)

enum gate_refusal {
#define GATE_REFUSAL_ENUM(name, word, first, second) GATE_REFUSAL_##name,
    GATE_REFUSAL_TABLE(GATE_REFUSAL_ENUM)
#undef GATE_REFUSAL_ENUM
        GATE_REFUSAL_COUNT
};

/* Reads "device,suite" into bits 1 << enum gate_refusal. STATUS_INVALID with the words that there are. */
enum status_code gate_allow_parse(const char *text, unsigned *allowed, struct status *error);

/* What of these two runs both say, and say differently: bits 1 << enum gate_refusal. */
unsigned gate_refusals_of(const struct run_figures *base, const struct run_figures *now);

struct gate_options {
    const struct gate_policy *policy;    /* all zero: the built-in one */
    unsigned allowed;                    /* bit 1 << enum gate_refusal */
    const struct run_figures *baseline;  /* NULL: none; the run is judged by itself */
    const char *baseline_words;          /* "results/monday", "the median of 3 runs"; NULL: baseline->source */
    const char *baseline_note;           /* what else is to be told of it; NULL: nothing */
    const struct run_figures *reference; /* the night that stays where it is while the baseline moves; NULL: none */
    const char *reference_words;         /* "run 1f2e3d4c of 2026-11-01" */
    const char *first;    /* why this is the first night, so that the run is held against what replay predicts; NULL: it
                          is not, or no baseline was asked for, which is the same */
    const char *stranger; /* what the records are of instead of the run that is asked for: nothing of them is judged,
                             which is INCONCLUSIVE; NULL: they are of that run */
    const char
        *lacking; /* why there is no baseline although one was asked for, which is INCONCLUSIVE; NULL: it is not */
};

/* One case of either side. */
struct gate_case {
    const struct case_figures *base, *now; /* NULL: that side has it not */
    const struct case_figures *reference;  /* the same of the night that was accepted */
    unsigned by_prediction, by_reference;  /* bit 1 << level: held against that, and not against base */
    const char *id;
    const char *why;           /* of the case as a whole; "": nothing to say. In the arena of the gate */
    enum gate_verdict verdict; /* the gravest of `whole` and `levels` */
    enum gate_verdict whole;   /* of the case apart from its figures */
    signed char levels[LEVEL_COUNT];
    unsigned better; /* bit 1 << level: it moved, beyond its bound, to where it is better */
    bool decides;    /* the outcome, alone; else it is told */
    int known;       /* the entry of the policy that knows it, expired or not; -1: none */
    bool is_expired; /* and it has expired, so that it counts */
    int worst_level; /* the level that is shown first; LEVEL_COUNT: the case as a whole */
    double change;   /* of that level, |now - base| / base; infinite where the base is 0, or for the case as a whole */
    int64_t change_bytes; /* of that level, |now - base| */
};

/* What became of an entry of known_failures. */
struct gate_known_count {
    int match_count;   /* cases that it matches */
    int failing_count; /* that would fail, or could not be judged, without any entry */
    int taken_count;   /* of these that are known by this entry, or count because it has expired; not by another one */
    bool is_expired;
};

/* What a level of a case was held against; FIGURE_BYTES_UNKNOWN: nothing. */
int64_t gate_base_bytes(const struct gate_case *one, int level);

struct gate {
    struct arena arena;
    const struct run_figures *run, *baseline; /* baseline: as given, also if it was refused */
    const char *baseline_words;               /* NULL: there is none */
    const char *baseline_note, *lacking, *stranger, *first, *reference_words; /* as in the options */
    const struct run_figures *reference;                                      /* the same */
    const struct gate_policy *policy;
    bool differs[ENVIRONMENT_COUNT]; /* both sides know it, and say something else */
    unsigned refused;                /* bit 1 << enum gate_refusal; if any, nothing was held against the baseline */
    unsigned allowed;                /* the same, of what differs and was allowed */
    struct gate_case *cases;         /* of both sides, by id */
    int case_count;
    int *order; /* places in cases: the gravest first, of these the largest change, then by id */
    int counts[GATE_VERDICT_COUNT];
    int breach_count;                /* cases that decide for NO-GO */
    int unknown_count;               /* cases that decide for INCONCLUSIVE */
    int better_count;                /* cases of which a figure is better, beyond its bound */
    int held_count;                  /* cases of which a figure was held against that of the baseline */
    int judged_count;                /* cases that came to PASS, WARN or BREACH, and those KNOWN that were measured */
    struct gate_known_count *knowns; /* [policy->known_count] */
    int figure_count;                /* that were judged: held against something, or by a verdict of the run */
    int *rule_uses;                  /* [policy->rule_count]: figures that a rule was taken for */
    enum run_outcome outcome;
    bool is_unjudged; /* there is no baseline, and nothing else that a figure could be held against */
    const char *why;  /* one sentence */
};

/* Judges; run, baseline and policy are borrowed and must outlive *gate, which the caller releases, also after an error.
 * Time is that of reading both lists once, and of matching the globs of the policy. */
enum status_code gate_make(const struct run_figures *run, const struct gate_options *options, struct gate *gate,
                           struct status *error);

void gate_release(struct gate *gate);

#endif
