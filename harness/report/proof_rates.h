/* Proof rates: how often an estimate that was used as a limit let its case run, over the cases of a report. Not for
 * anybody outside this folder. */
#ifndef ASSAY_REPORT_PROOF_RATES_H
#define ASSAY_REPORT_PROOF_RATES_H

#include "harness/report/case_view.h"

struct page;

/* One figure of one case; outcomes are those of the record, unknown if it has null. */
enum proof_outcome { PROOF_UNKNOWN, PROOF_RUNS, PROOF_OUT_OF_MEMORY };

struct proof_limit {
    const char *estimator, *quantity;
    enum proof_outcome outcome, less_outcome; /* with exactly these bytes, and with one granule less */
};

struct proof_view {
    const char *word;    /* "pass", "fail", "open" */
    int64_t least_bytes; /* BYTES_UNKNOWN: not found */
    const struct proof_limit *limits;
    int limit_count;
};

/* Of a case line; *proof is NULL if it has none. False: no memory. */
bool proof_view_read(struct report *report, const struct json *line, const struct proof_view **proof);

/* The limit of an estimator that the league judges: replay's reserved peak, the only one of others; NULL: none was
 * tried. */
const struct proof_limit *proof_limit_of(const struct proof_view *proof, const char *estimator);

struct proof_rate {
    const char *estimator, *quantity;
    int known_count, safe_count;       /* cases that were tried; of these ran */
    int less_known_count, tight_count; /* tried with one granule less; of these did not run */
    int unknown_count;                 /* could not be tried */
};

enum { PROOF_RATES_MAXIMUM = 2 * ESTIMATOR_MAXIMUM };

bool report_has_proofs(const struct report *report);

/* In the order in which the records have them; how many. */
int proof_rates_make(const struct report *report, struct proof_rate rates[PROOF_RATES_MAXIMUM]);

/* Appends "safe in 19 of 19 cases, tight in 18 of 19". */
void proof_rate_append(struct text *text, const struct proof_rate *rate);

/* Each appends nothing if no case was proved. */
void proof_rates_paragraphs(const struct report *report, int width, struct text *text); /* terminal */
void proof_rates_describe(const struct report *report, struct page *page);              /* documents and screens */
struct json *proof_rates_json(const struct report *report);                             /* an array; NULL: no memory */

#endif
