/* Gate policy: how far the figures of a run may be from those of its baseline, which of them decide, and which
 * failures are known. The format is described in docs/GATE.md; ci/policy.yaml is an example of it.
 *
 * Rules are looked up from the top of the file: for each case and each level the first rule that matches both holds,
 * and no other. What no rule matches has the built-in rule of its level. */
#ifndef ASSAY_GATE_GATE_POLICY_H
#define ASSAY_GATE_GATE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/record/level.h"
#include "harness/report/run_figures.h"

/* X(NAME, word): what a finding of a case or a figure decides, the gravest first.
 *
 *   critical    what is beyond its bound is NO-GO; what could not be judged, or is missing, INCONCLUSIVE
 *   supporting  what is beyond its bound is NO-GO; what could not be judged is told
 *   advisory    all of it is told, and decides nothing */
#define GATE_TIER_TABLE(X) X(CRITICAL, "critical") X(SUPPORTING, "supporting") X(ADVISORY, "advisory")

/* X(NAME, word): where a figure gets worse. What moves into the other direction is an improvement: beyond its bound it
 * is a warning, because the baseline no longer says how it is, and never a failure. */
#define GATE_DIRECTION_TABLE(X)                                                                                        \
    X(HIGHER, "higher") /* more bytes are worse */                                                                     \
    X(LOWER, "lower")   /* fewer are */                                                                                \
    X(BOTH, "both")     /* any other figure is: there is no improvement */

enum gate_tier {
#define GATE_TIER_ENUM(name, word) GATE_TIER_##name,
    GATE_TIER_TABLE(GATE_TIER_ENUM)
#undef GATE_TIER_ENUM
        GATE_TIER_COUNT
};

enum gate_direction {
#define GATE_DIRECTION_ENUM(name, word) GATE_DIRECTION_##name,
    GATE_DIRECTION_TABLE(GATE_DIRECTION_ENUM)
#undef GATE_DIRECTION_ENUM
        GATE_DIRECTION_COUNT
};

const char *gate_tier_word(enum gate_tier tier);
const char *gate_direction_word(enum gate_direction direction);

/* How far a figure may be from that of the baseline: by `bytes`, or by `fraction` of the baseline's, whichever is more.
 * All zero: not at all. */
struct gate_bound {
    bool is_open; /* by any number of bytes */
    int64_t bytes;
    double fraction; /* 0.02 for 2 % */
};

/* Whether a change of so many bytes, of either sign, stays within the bound. Worked: {8 MiB, 2 %} allows 20 MB of
 * 1 GB, and 8 MiB of 100 MB. */
bool gate_bound_holds(const struct gate_bound *bound, int64_t change_bytes, int64_t base_bytes);

/* Appends "0 B", "8.00 MiB", "2 %", "8.00 MiB or 2 %", "any change". */
void gate_bound_append(struct text *text, const struct gate_bound *bound);

struct gate_patterns {
    const char **globs;
    int count;
};

struct gate_rule {
    struct gate_patterns cases; /* count 0: all */
    unsigned levels;            /* bit 1 << level */
    enum gate_tier tier;
    enum gate_direction direction;
    bool has_bounds;                         /* else those of the built-in rule of the level */
    bool has_reference;                      /* else `reference` is `fail` */
    struct gate_bound fail, warn, reference; /* reference: against the night that was accepted */
    int line;                                /* in the policy; 0: built in */
};

struct gate_known {
    struct gate_patterns cases;
    unsigned levels; /* bit 1 << level; 0: all of them, and the case as a whole */
    const char *reason;
    const char *expires; /* "2026-12-31": the last day on which it is known */
    int line;
};

enum { GATE_RULES_MAXIMUM = 256, GATE_GLOBS_MAXIMUM = 1024 };

/* All zero is the built-in policy: of every level the built-in rule. */
struct gate_policy {
    struct arena arena;
    const char *path; /* NULL: built in */
    struct gate_rule *rules;
    int rule_count;
    struct gate_known *knowns;
    int known_count;
    unsigned first_levels;                /* bit 1 << level: first[level] is the policy's */
    struct gate_bound first[LEVEL_COUNT]; /* how far a first night may be from what replay predicts, either way */
};

/* How far a figure of a first night may be from its prediction: as the policy says, else requested 1 MiB or 5 %,
 * allocated 32 MiB or 10 %, reserved 64 MiB or 15 %. Readings have no prediction of their own. */
struct gate_bound gate_policy_first(const struct gate_policy *policy, int level);

/* Reads a policy. STATUS_INVALID with "FILE:LINE:COLUMN: what is wrong; what would be right", also for a rule that can
 * never hold, because one before it matches all that it matches. *policy is released by the caller, also after an
 * error. */
enum status_code gate_policy_read(const char *path, struct gate_policy *policy, struct status *error);

void gate_policy_release(struct gate_policy *policy);

/* The rule of each level for one case, with its bounds; built-in ones of levels that no rule of the policy matches:
 * counted levels exactly, readings within DIFFERENCE_READING_BYTES (harness/report/difference.h), higher is worse,
 * critical. numbers[level]: the place of the rule in policy->rules, -1: built in. */
struct gate_rules {
    struct gate_rule of[LEVEL_COUNT];
    int numbers[LEVEL_COUNT];
};
void gate_policy_settle(const struct gate_policy *policy, const struct case_figures *one, struct gate_rules *rules);

/* Whether a known failure is one of this level of the case, LEVEL_COUNT: of the case as a whole. */
bool gate_known_matches(const struct gate_known *known, const struct case_figures *one, int level);

/* Whether it still holds for a run that began then ("2026-11-20T02:00:00Z"). One that does not say when it began has
 * no known failures. */
bool gate_known_holds(const struct gate_known *known, const char *started);

#endif
