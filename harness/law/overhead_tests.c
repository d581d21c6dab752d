/* Overhead tests: what a law is worth: its errors on measurements of GPUs, by source and program, and on replay. */
#include <math.h>
#include <string.h>

#include "harness/law/overhead_law.h"
#include "harness/report/percentile.h"

struct error_summary error_summary_make(const double *errors, int count, double *room)
{
    struct error_summary summary = {.median = NAN, .p90 = NAN, .worst = NAN, .under = NAN};
    int under = 0;
    for (int at = 0; at < count; at++) {
        if (!isnan(errors[at])) {
            under += errors[at] < 0.0;
            room[summary.count++] = fabs(errors[at]);
        }
    }
    if (summary.count > 0) {
        summary.median = values_median(room, summary.count); /* they are sorted now */
        summary.p90 = summary.count >= P90_CASES_MINIMUM ? values_percentile(room, summary.count, 0.9) : NAN;
        summary.worst = room[summary.count - 1];
        summary.under = (double)under / summary.count;
    }
    return summary;
}

/* Whether a point is one of a test; of all each measurement once. */
static bool is_of(const struct overhead_test *test, const struct law_point *point)
{
    return test->source == NULL ? !point->is_repeat
                                : point->source == test->source && strcmp(point->program, test->program) == 0;
}

/* Forms are compared over the same points: those that the structural form has an error of. */
static void forms_summarise(const struct overhead_law *law, double *room, const struct overhead_test *test,
                            bool is_test, struct error_summary *errors)
{
    double *found = room + law->points->count;
    for (int form = 0; form < FORM_COUNT; form++) {
        int count = 0;
        for (int at = 0; at < law->points->count; at++) {
            const struct law_point *point = &law->points->all[at];
            if (law_point_is_test(point) == is_test && is_of(test, point) && !isnan(law->errors[FORM_STRUCTURAL][at])) {
                found[count++] = law->errors[form][at];
            }
        }
        errors[form] = error_summary_make(found, count, room);
    }
}

static void test_make(const struct overhead_law *law, double *room, struct overhead_test *test)
{
    for (int at = 0; at < law->points->count; at++) {
        const struct law_point *point = &law->points->all[at];
        if (law_point_is_test(point) && is_of(test, point)) {
            test->case_count++;
            test->untold_count += isnan(law->errors[FORM_STRUCTURAL][at]) ? 1 : 0;
        }
    }
    forms_summarise(law, room, test, true, test->errors);
}

static bool has_test(const struct overhead_law *law, const struct law_point *point)
{
    int at = 0;
    while (at < law->test_count && !is_of(&law->tests[at], point)) {
        at++;
    }
    return at < law->test_count;
}

enum status_code overhead_tests_make(struct overhead_law *law, double *room, struct status *error)
{
    law->tests = arena_alloc(&law->arena, ((size_t)law->points->count + 1) * sizeof *law->tests);
    if (law->tests == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    }
    for (int at = 0; at < law->points->count; at++) {
        const struct law_point *point = &law->points->all[at];
        if (law_point_is_test(point) && !has_test(law, point)) {
            struct overhead_test *test = &law->tests[law->test_count++];
            *test = (struct overhead_test){.source = point->source, .program = point->program};
            test_make(law, room, test);
        }
    }
    test_make(law, room, &law->all);
    forms_summarise(law, room, &law->all, false, law->left_out);
    return STATUS_OK;
}

void overhead_claim_append(struct text *text, const struct overhead_law *law)
{
    const struct error_summary *errors = &law->all.errors[FORM_STRUCTURAL];
    text_format(text, "Fitted to replay (%d cases of %d models of %d kinds), ", law->case_count, law->model_count,
                law->kind_count);
    if (errors->count == 0) {
        text_append(text, "tested on no measurement of a GPU: add records or points of one");
        return;
    }
    text_format(text, "tested on %d real measurements of GPUs: median error %.2f %%, ", errors->count,
                100.0 * errors->median);
    if (!isnan(errors->p90)) {
        text_format(text, "p90 %.1f %%, ", 100.0 * errors->p90);
    }
    text_format(text, "worst %.1f %%", 100.0 * errors->worst);
}
