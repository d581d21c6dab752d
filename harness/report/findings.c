/* Findings: the sentence of a report that people quote. The figures behind it are those of the tables. */
#include "harness/report/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/case_order.h"
#include "harness/report/percentile.h"

enum { NAMED_MAXIMUM = 3 /* estimators, if nobody chose them */ };

/* The errors of one estimator on the allocated peak. */
struct finding {
    double *errors;
    int count, exact_count, low_count, high_count;
    double worst;
};

static void finding_make(const struct report *report, const char *estimator, struct finding *finding)
{
    *finding = (struct finding){.errors = finding->errors};
    for (int at = 0; at < report->case_count; at++) {
        const struct case_view *view = &report->cases[at];
        const struct comparison *row = comparison_of_peak(view, estimator);
        if (row != NULL && row->error_known && strcmp(view->basis, BASIS_MEASURED) == 0) {
            finding->exact_count += row->error_bytes == 0 ? 1 : 0;
            finding->low_count += row->error_bytes < 0 ? 1 : 0;
            finding->high_count += row->error_bytes > 0 ? 1 : 0;
            finding->worst = fabs(row->error) > fabs(finding->worst) ? row->error : finding->worst;
            finding->errors[finding->count++] = row->error;
        }
    }
}

static void percent_say(struct text *text, double error)
{
    const double percent = fabs(error) * 100.0;
    text_format(text, "%.*f %%", percent < 1.0 ? 2 : percent < 10.0 ? 1 : 0, percent);
}

/* "30 % low", "0.24 % high", "right" */
static void error_say(struct text *text, double error)
{
    if (fabs(error) * 100.0 < 0.005) {
        text_append(text, "right");
    } else {
        percent_say(text, error);
        text_append(text, error < 0.0 ? " low" : " high");
    }
}

/* The median of errors of both signs would say less than what is usual: then it is that of their sizes, as in the
 * league. */
static void median_say(struct text *text, struct finding *finding)
{
    if (finding->low_count > 0 && finding->high_count > 0) {
        for (int at = 0; at < finding->count; at++) {
            finding->errors[at] = fabs(finding->errors[at]);
        }
        text_append(text, "off by ");
        percent_say(text, values_median(finding->errors, finding->count));
    } else {
        error_say(text, values_median(finding->errors, finding->count));
    }
}

static void finding_say(struct text *text, const char *estimator, struct finding *finding)
{
    if (finding->exact_count * 2 > finding->count) {
        text_format(text, "%s met %d of %d cases to the byte", estimator, finding->exact_count, finding->count);
        if (finding->exact_count < finding->count) {
            text_append(text, " and was ");
            error_say(text, finding->worst);
            text_append(text, " at worst");
        }
        return;
    }
    text_format(text, "%s was ", estimator);
    median_say(text, finding);
    if (finding->count > 1) {
        text_append(text, " in the median and ");
        error_say(text, finding->worst);
        text_format(text, " at worst, over %d cases", finding->count);
    } else {
        text_append(text, " in the one case that it has");
    }
}

bool findings_append(struct text *text, const struct report *report)
{
    int ranked[ESTIMATOR_MAXIMUM];
    int count = estimators_rank(report, NULL, false, ranked);
    struct finding finding = {.errors = calloc((size_t)report->case_count + 1, sizeof *finding.errors)};
    bool is_begun = false;
    count = report->is_chosen || count < NAMED_MAXIMUM ? count : NAMED_MAXIMUM;
    for (int at = 0; finding.errors != NULL && at < count; at++) {
        finding_make(report, report->estimators[ranked[at]], &finding);
        if (finding.count > 0) {
            text_append(text, is_begun ? "; " : "Against the measured peaks, ");
            finding_say(text, report->estimators[ranked[at]], &finding);
            is_begun = true;
        }
    }
    text_append(text, is_begun ? "." : "");
    bool made = finding.errors != NULL;
    free(finding.errors);
    return made && !text->failed;
}
