/* Report: what was read, counted and judged. Not the reading (report_reading.c), and not the writers
 * (report_render.c). */
#include "harness/report/report.h"

#include <string.h>

#include "harness/record/record.h"
#include "harness/report/case_view.h"
#include "harness/report/headline.h"

const struct case_view *report_case(const struct report *report, int place)
{
    return &report->cases[report->order[place]];
}

const struct json *report_run(const struct report *report)
{
    size_t count = json_count(report->runs);
    return count > 0 ? json_at(report->runs, count - 1) : NULL;
}

void report_outcome_make(const struct report *report, struct outcome *outcome)
{
    const struct report_counts found = report_count(report);
    *outcome = (struct outcome){.missing_count = found.missing,
                                .short_count = found.short_cases,
                                .attempts_missing = found.attempts_missing,
                                .attempts_wanted = found.attempts_wanted,
                                .missing_cause = report->missing_cause};
    for (int place = 0; place < report->case_count; place++) {
        const struct case_view *view = report_case(report, place);
        enum case_status status = CASE_STATUS_ERROR;
        if (view->missing != NULL && view->standing != STANDING_FAIL) {
            continue;
        }
        (void)case_status_from_name(view->status, &status);
        if (view->missing != NULL) { /* it failed, and counts as that */
            *(view->missing->made_count == 0 ? &outcome->missing_count : &outcome->short_counted_count) +=
                view->missing->made_count == 0 ? -1 : 1;
        }
        const bool is_first = outcome_count(outcome, status, view->standing);
        if (view->standing == STANDING_OPEN && view->is_retried) {
            outcome_count_retry(outcome);
        }
        if (is_first) {
            text_release(&outcome->first);
            text_format(&outcome->first, "%s: %s", view->id, view->reason[0] != '\0' ? view->reason : view->status);
        }
    }
}

enum run_outcome report_outcome(const struct report *report, struct text *reason)
{
    struct outcome outcome;
    report_outcome_make(report, &outcome);
    enum run_outcome decided = outcome_decide(&outcome);
    outcome_words_append(reason, &outcome);
    if (decided != RUN_PASS && outcome.first.length > 0) {
        text_format(reason, "; first %s", text_string(&outcome.first));
    }
    outcome_release(&outcome);
    return decided;
}

static void missing_count(const struct report *report, struct report_counts *counts)
{
    counts->missing = report->unnamed_missing_count;
    for (int index = 0; index < report->missing_count; index++) {
        const struct missing_case *one = &report->missing[index];
        bool is_short = one->made_count > 0;
        counts->missing += is_short ? 0 : 1;
        counts->short_cases += is_short ? 1 : 0;
        counts->attempts_missing += is_short ? one->wanted_count - one->made_count : 0;
        counts->attempts_wanted += is_short ? one->wanted_count : 0;
    }
}

struct report_counts report_count(const struct report *report)
{
    struct report_counts counts = {
        .cases = report->case_count, .damaged_lines = report->damaged_line_count, .ended = report->ended};
    missing_count(report, &counts);
    for (int index = 0; index < report->case_count; index++) {
        const char *status = case_word(&report->cases[index]);
        int *counter = strcmp(status, "ok") == 0        ? &counts.ok
                       : strcmp(status, "fail") == 0    ? &counts.fail
                       : strcmp(status, "open") == 0    ? &counts.open
                       : strcmp(status, "missing") == 0 ? &counts.earlier
                       : strcmp(status, "oom") == 0     ? &counts.oom
                       : strcmp(status, "timeout") == 0 ? &counts.timeout
                       : strcmp(status, "skip") == 0    ? &counts.skip
                                                        : &counts.error;
        ++*counter;
        counts.invalid += report->cases[index].invalid ? 1 : 0;
    }
    return counts;
}
