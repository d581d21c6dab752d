/* League view: the league as plain C, for its page, its plot and its documents (league_*.c). Not for anybody outside
 * this folder. */
#ifndef ASSAY_REPORT_LEAGUE_VIEW_H
#define ASSAY_REPORT_LEAGUE_VIEW_H

#include "harness/report/baseline.h"
#include "harness/report/league.h"
#include "harness/report/wording.h"

/* Over some cases; errors are fractions of what was measured. If case_count is 0 nothing else holds. */
struct league_figures {
    int case_count;
    double bias, median, p90;
    double worst;                 /* of the largest magnitude, with its sign */
    const char *worst_case;       /* label; the first of equals; NULL: all are exact */
    int under_count;              /* predicted less than measured */
    int within_count;             /* at most 5 % off */
    int proved_count, safe_count; /* whose figure was tried as a limit; of these ran (proof_rates.h) */
};

struct league_row {
    int estimator;  /* index into the league's */
    int rank;       /* from 1; 0: not ranked, because few or partial */
    bool few;       /* answers fewer than LEAGUE_FEW cases */
    bool partial;   /* answers fewer than half of the cases */
    bool is_shared; /* its rank is that of another row, too */
    struct league_figures all;
    struct league_figures common; /* of the cases that all ranked rows answer; of ranked rows alone */
};

enum league_scope_kind { SCOPE_ALL, SCOPE_MODE, SCOPE_FAMILY };

struct league_scope {
    enum league_scope_kind kind;
    const char *name; /* of the mode or family; "all" */
    int case_count, common_count;
    struct league_row
        *rows; /* those that answer a case: the ranked first, in order; then the others in the same order */
    int row_count;
};

struct league_estimator {
    const char *name;
    const struct baseline *baseline; /* NULL: an estimator */
    double *errors;                  /* one for each counted case; NaN: no figure */
};

struct league {
    struct arena arena;
    struct counted_cases counted;
    const char *provenance, *title; /* of captions and pages (provenance.h) */
    const char *device;             /* what the cases were measured on, in words */
    struct league_estimator *estimators;
    int estimator_count;
    struct league_scope *scopes; /* all cases, then the modes, then the families by name */
    int scope_count;
    bool has_proofs; /* a counted case was proved: tables have a column more */
};

const char *league_scope_kind_name(enum league_scope_kind kind); /* "all", "mode", "family" */

/* "infer"; "unknown" if the record has none. */
const char *league_case_mode(const struct counted_case *one);

/* Whether a case belongs to a scope. */
bool league_scope_has(const struct league_scope *scope, const struct counted_case *one);

/* The rank, or why there is none: "3", "few", "part". Returns text. */
const char *rank_word(const struct league_row *row, char text[WORDING_BYTES]);

/* What programs read, as its page calls them (page_format.h). */
void league_csv_write(const void *league, const struct report_style *style, struct text *text);
struct json *league_json(const void *league);

/* Ranks rows and fills what depends on it: common figures. From the arena of the league. False: no memory. */
bool league_scope_make(struct league *league, struct league_scope *scope);

#endif
