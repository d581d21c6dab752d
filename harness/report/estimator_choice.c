/* Estimator choice: which estimators a report shows. What decides about a case is not touched. */
#include "harness/report/estimator_choice.h"

#include <string.h>

/* The estimator of the report that the first bytes of name are; -1: none. */
static int estimator_find(const struct report *report, const char *name, size_t length)
{
    int index = 0;
    while (index < report->estimator_count &&
           (strlen(report->estimators[index]) != length || strncmp(report->estimators[index], name, length) != 0)) {
        index++;
    }
    return index < report->estimator_count ? index : -1;
}

bool report_has_estimator(const struct report *report, const char *name)
{
    return estimator_find(report, name, strlen(name)) >= 0;
}

static enum status_code stranger_refuse(const struct report *report, const char *name, size_t length,
                                        struct status *error)
{
    struct text names = {0};
    for (int index = 0; index < report->estimator_count; index++) {
        text_format(&names, "%s%s", index > 0 ? ", " : "", report->estimators[index]);
    }
    enum status_code code = status_set(error, STATUS_INVALID, "--estimators: the records have no '%.*s'; they have %s",
                                       (int)(length < 64 ? length : 64), name, text_string(&names));
    text_release(&names);
    return code;
}

/* The rows of what is shown, and those that decide that a case did not pass. */
static void rows_keep(const struct report *report, struct case_view *view)
{
    int kept = 0;
    for (int at = 0; at < view->comparison_count; at++) {
        const struct comparison row = view->comparisons[at];
        bool decides =
            row.judgement == JUDGEMENT_FAIL || (view->standing == STANDING_OPEN && row.judgement == JUDGEMENT_NONE);
        if (decides || report_has_estimator(report, row.estimator)) {
            view->comparisons[kept++] = row;
        }
    }
    view->comparison_count = kept;
    case_view_order(report, view);
}

enum status_code report_estimators_keep(struct report *report, const char *names, struct status *error)
{
    const char *chosen[ESTIMATOR_MAXIMUM];
    int count = 0;
    for (const char *name = names;; name++) {
        const size_t length = strcspn(name, ",");
        const int found = estimator_find(report, name, length);
        if (found < 0) {
            return stranger_refuse(report, name, length, error);
        }
        for (int at = 0; at < count; at++) {
            if (chosen[at] == report->estimators[found]) {
                return status_set(error, STATUS_INVALID, "--estimators: '%s' stands there twice", chosen[at]);
            }
        }
        chosen[count++] = report->estimators[found];
        name += length;
        if (*name == '\0') {
            break;
        }
    }
    memcpy(report->estimators, chosen, (size_t)count * sizeof *chosen);
    report->estimator_count = count;
    report->is_chosen = true;
    for (int index = 0; index < report->case_count; index++) {
        rows_keep(report, &report->cases[index]);
    }
    return STATUS_OK;
}
