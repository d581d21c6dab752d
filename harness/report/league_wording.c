/* League wording: its figures and rules in words, the same in every format for people. */
#include <math.h>
#include <stdio.h>

#include "harness/report/league_view.h"

const char league_rule_words[] =
    "Error = (predicted - measured) / measured: the total_bytes of an estimator (where it has none, its "
    "allocated_bytes_peak) against the highest allocated peak that was measured, which is the rule of the verdicts. "
    "Bias: "
    "mean of the signed errors. Median, p90: of their magnitudes. Under: cases for which too little was predicted. "
    "±5 %: cases at most so far off. * needs measurements of other cases.";

const char league_rank_words[] =
    "Ranked by the median, ties by p90, then by the worst case; 5= is shared by equals. No rank for who answers fewer "
    "than 5 cases (few) or "
    "fewer "
    "than half of them (part): easy cases alone do not win. Common: median over the cases that all ranked ones answer.";

const char league_replay_words[] =
    "replay walks the very operations that are then measured: its row says that the replay is exact, not that the "
    "operations are the right ones. What tests those is in README.md.";

const char league_safe_words[] =
    "Safe: of the cases that were proved, the share that ran with exactly the predicted bytes available for segments "
    "(assay run --prove-estimators); of replay, its reserved bytes.";

static const char *percent_word(bool known, double fraction, const char *sign, char text[WORDING_BYTES])
{
    double percent = fabs(fraction) * 100.0;
    if (!known) {
        snprintf(text, WORDING_BYTES, "-");
    } else if (percent >= 1e5) {
        snprintf(text, WORDING_BYTES, "%s%.0e %%", sign, percent);
    } else {
        snprintf(text, WORDING_BYTES, "%s%.*f %%", sign, percent < 9.995 ? 2 : percent < 99.95 ? 1 : 0, percent);
    }
    return text;
}

const char *magnitude_word(bool known, double magnitude, char text[WORDING_BYTES])
{
    return percent_word(known, magnitude, "", text);
}

const char *signed_word(bool known, double error, char text[WORDING_BYTES])
{
    return percent_word(known, error, error < 0.0 ? "-" : "+", text);
}

const char *rank_word(const struct league_row *row, char text[WORDING_BYTES])
{
    if (row->rank > 0) {
        snprintf(text, WORDING_BYTES, "%d%s", row->rank, row->is_shared ? "=" : "");
    } else {
        snprintf(text, WORDING_BYTES, "%s", row->few ? "few" : "part");
    }
    return text;
}

const char *coverage_word(const struct league_scope *scope, const struct league_row *row, char text[WORDING_BYTES])
{
    snprintf(text, WORDING_BYTES, "%d/%d", row->all.case_count, scope->case_count);
    return text;
}

const char *share_word(int part_count, int count, char text[WORDING_BYTES])
{
    if (count <= 0) {
        snprintf(text, WORDING_BYTES, "-");
    } else {
        snprintf(text, WORDING_BYTES, "%.0f %%", 100.0 * (double)part_count / (double)count);
    }
    return text;
}
