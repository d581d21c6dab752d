/* The overhead law: a law that cases follow exactly is found again, what cannot be known is told, and the same points
 * and seed give the same answer. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/law/law_file.h"
#include "harness/law/overhead_law.h"
#include "harness/law/overhead_rule.h"
#include "harness/law/overhead_text.h"
#include "tests/law/synthetic_points.h"

/* As classes of transformers have them. */
static const struct synthetic_kind gated = {
    .kind = "gated",
    .model_count = 6,
    .coefficients = {[TERM_LOGIT_VOCAB] = 1,
                     [TERM_LOGIT_HIDDEN] = 1,
                     [TERM_FEED_HIDDEN] = 4,
                     [TERM_FEED_WIDTH] = 3,
                     [TERM_FEED_SCORES] = 1,
                     [TERM_ATTENTION_WIDTH] = 3.5,
                     [TERM_ATTENTION_SCORES] = 2,
                     [TERM_ATTENTION_FLOAT] = 1.5,
                     [TERM_CACHE] = 1,
                     [TERM_DECODE_LAYER] = 0.5,
                     [TERM_DECODE_REPEAT] = 2,
                     [TERM_DECODE_VOCAB] = 2},
    .allocator_bytes = 700000,
};

static const struct synthetic_kind plain = {
    .kind = "plain",
    .model_count = 5,
    .coefficients = {[TERM_LOGIT_VOCAB] = 1,
                     [TERM_LOGIT_HIDDEN] = 2,
                     [TERM_FEED_HIDDEN] = 3,
                     [TERM_FEED_WIDTH] = 2,
                     [TERM_FEED_SCORES] = 1,
                     [TERM_ATTENTION_WIDTH] = 2.5,
                     [TERM_ATTENTION_SCORES] = 2,
                     [TERM_ATTENTION_FLOAT] = 1,
                     [TERM_CACHE] = 1,
                     [TERM_DECODE_LAYER] = 0.5,
                     [TERM_DECODE_REPEAT] = 1,
                     [TERM_DECODE_VOCAB] = 3},
    .allocator_bytes = 300000,
};

static struct overhead_law *law_of(const struct law_points *points, uint64_t seed, int resample_count)
{
    struct overhead_law *law = NULL;
    struct status error = {0};
    const struct overhead_law_request request = {.seed = seed, .resample_count = resample_count};
    if (overhead_law_make(points, &request, &law, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return law;
}

static void an_exact_law_is_found_again(void **state)
{
    (void)state;
    struct law_points points = {0};
    synthetic_points_add(&points, &plain);
    synthetic_points_add(&points, &gated);
    struct overhead_law *law = law_of(&points, 1, 20);
    assert_int_equal(law->kind_count, 2);
    assert_int_equal(law->counted_point_count, 11 * 40);
    const struct synthetic_kind *const kinds[] = {&gated, &plain}; /* by name */
    for (int at = 0; at < 2; at++) {
        const struct overhead_group *kind = &law->kinds[at];
        assert_string_equal(kind->kind, kinds[at]->kind);
        assert_true(kind->fit.settled);
        assert_true(fabs(kind->allocator_bytes - kinds[at]->allocator_bytes) < 4.0);
        for (int term = 0; term < TERM_COUNT; term++) {
            double off = kind->fit.coefficients[term] - kinds[at]->coefficients[term];
            if (kind->fit.is_seen[term] && fabs(off) > 1e-3) {
                fail_msg("%s: %s is %.6f, not %.6f", kind->kind, overhead_term_key((enum overhead_term)term),
                         kind->fit.coefficients[term], kinds[at]->coefficients[term]);
            }
        }
    }
    assert_true(law->summary[OVERHEAD_ALLOCATED][FORM_STRUCTURAL].worst < 0.02);
    assert_true(law->summary[OVERHEAD_ALLOCATED][FORM_STRUCTURAL].p90 < 1e-4);
    assert_true(law->summary[OVERHEAD_ALLOCATED][FORM_AFFINE].median > 0.01);
    assert_true(fabs(law->kinds[0].context[0] - 20.0 * 1048576.0) < 200000.0);
    overhead_law_release(law);
    law_points_release(&points);
}

static void terms_that_say_the_same_are_told(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct synthetic_kind fixed = plain;
    fixed.has_fixed_ratio = true;
    synthetic_points_add(&points, &fixed);
    struct overhead_law *law = law_of(&points, 1, 0);
    const struct overhead_fit *fit = &law->kinds[0].fit;
    bool width = fit->is_dependent[TERM_FEED_WIDTH], hidden = fit->is_dependent[TERM_FEED_HIDDEN];
    assert_true(width && hidden);
    if (fit->relation[TERM_FEED_WIDTH][TERM_FEED_HIDDEN] != 0.0) {
        assert_true(fabs(fit->relation[TERM_FEED_WIDTH][TERM_FEED_HIDDEN] - 4.0) < 1e-6);
    } else {
        assert_true(fabs(fit->relation[TERM_FEED_HIDDEN][TERM_FEED_WIDTH] - 0.25) < 1e-6);
    }
    /* The sum is known all the same: 3 H + 2 F = 11 H. */
    assert_true(fabs(fit->coefficients[TERM_FEED_HIDDEN] + 4.0 * fit->coefficients[TERM_FEED_WIDTH] - 11.0) < 1e-3);
    struct text text = {0};
    overhead_text_append(&text, law);
    assert_non_null(strstr(text_string(&text), " is not told apart: what it is multiplied with is "));
    text_release(&text);
    overhead_law_release(law);
    law_points_release(&points);
}

static struct text text_of(const struct law_points *points, uint64_t seed)
{
    struct overhead_law *law = law_of(points, seed, 10);
    struct text text = {0};
    struct json *document = overhead_law_json(law, "0");
    overhead_text_append(&text, law);
    assert_int_equal(json_write(document, 1, &text, NULL), STATUS_OK);
    json_release(document);
    overhead_law_release(law);
    return text;
}

static void the_seed_alone_decides_the_resamples(void **state)
{
    (void)state;
    struct law_points points = {0};
    synthetic_points_add(&points, &plain);
    for (int at = 0; at < points.count; at++) { /* no case follows the law exactly: intervals have a width */
        points.all[at].pass_bytes += (int64_t)(at * 7919 % 1000) * 1000;
    }
    struct text first = text_of(&points, 3), again = text_of(&points, 3), other = text_of(&points, 4);
    assert_string_equal(text_string(&first), text_string(&again));
    assert_string_not_equal(text_string(&first), text_string(&other));
    assert_non_null(strstr(text_string(&first), "10 resamples of the models,\nseed 3.\n"));
    text_release(&first);
    text_release(&again);
    text_release(&other);
    law_points_release(&points);
}

static void too_few_models_are_refused(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct synthetic_kind two = plain;
    two.model_count = 2;
    synthetic_points_add(&points, &two);
    struct overhead_law *law = NULL;
    struct status error = {0};
    const struct overhead_law_request request = {.seed = 1};
    assert_int_equal(overhead_law_make(&points, &request, &law, &error), STATUS_INVALID);
    assert_string_equal(error.text, "no kind of model has 3 models of its own, one of which can be left out; run "
                                    "suites/overhead-law.yaml (80 of 80 cases count)");
    assert_null(law);
    law_points_release(&points);
}

/* Beside a kind that counts, one with two models is shown and not judged. */
static void a_kind_of_two_models_is_not_judged(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct synthetic_kind two = gated;
    two.model_count = 2;
    synthetic_points_add(&points, &plain);
    synthetic_points_add(&points, &two);
    struct overhead_law *law = law_of(&points, 1, 0);
    assert_int_equal(law->counted_kind_count, 1);
    /* Two of the five tell the logits: without either one ratio is left (test_overhead_intervals.c). */
    assert_int_equal(law->untold_count, 2 * 16);
    assert_int_equal(law->summary[OVERHEAD_ALLOCATED][FORM_RULE].count, 5 * 40 - 2 * 16);
    struct text text = {0};
    overhead_text_append(&text, law);
    assert_non_null(strstr(text_string(&text), "gated on host (assay): 2 models, 80 cases\n"
                                               "  too few models to leave one "
                                               "out, so it is not judged\n"));
    text_release(&text);
    overhead_law_release(law);
    law_points_release(&points);
}

/* Two models on a GPU have too little to fit a law to; the law of the host and 40 MiB of workspaces is theirs. */
static void a_kind_of_two_models_borrows_a_law(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct synthetic_kind host = plain, two = plain, other = gated;
    host.model_count = 6; /* of which three tell the logits, so that two do without plain-1 */
    two.model_count = 2;
    two.target = "sm_90";
    two.workspace_bytes = 40.0 * 1048576.0;
    other.kind = "plain"; /* of a program whose classes keep other tensors alive */
    other.model_count = 2;
    other.target = "sm_80";
    other.coefficients[TERM_LOGIT_VOCAB] = 3.0;
    synthetic_points_add(&points, &host);
    synthetic_points_add(&points, &two);
    synthetic_points_add(&points, &other);
    struct overhead_law *law = law_of(&points, 1, 0);
    assert_int_equal(law->kind_count, 3);
    const struct overhead_group *lender = &law->kinds[0], *misfit = &law->kinds[1], *borrower = &law->kinds[2];
    assert_null(lender->donor);
    assert_ptr_equal(borrower->donor, lender);
    assert_true(fabs(borrower->workspace_bytes - two.workspace_bytes) < 100.0);
    assert_int_equal(borrower->borrowed.count, 80);
    assert_true(borrower->borrowed.p90 < 0.01);
    assert_true(overhead_loan_fits(borrower));
    assert_false(overhead_loan_fits(misfit));
    assert_false(overhead_loan_fits(lender));
    struct json *document = overhead_law_json(law, "0");
    const struct json *kinds = json_get(document, "kinds");
    assert_int_equal(json_count(kinds), 2);
    assert_string_equal(json_string_or(json_get(json_at(kinds, 1), "borrowed_from"), ""), "host");
    assert_int_equal(json_kind(json_get(json_at(kinds, 0), "borrowed_from")), JSON_KIND_NULL);
    assert_true(fabs(json_real_or(json_get(json_at(kinds, 1), "allocator_bytes"), 0.0) -
                     (plain.allocator_bytes + two.workspace_bytes)) < 100.0);
    json_release(document);
    struct text text = {0};
    overhead_text_append(&text, law);
    assert_non_null(strstr(text_string(&text), "  they do not fit here\n"));
    assert_non_null(strstr(text_string(&text), "  sm_90 (assay): 80 cases, median 0.00 %"));
    text_release(&text);
    overhead_law_release(law);
    law_points_release(&points);
}

/* A kind that the moments have no terms for: nothing is fitted to it, and its segments are replayed like any other. */
static void a_kind_without_terms_is_replayed(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct synthetic_kind other = gated;
    other.kind = "convolved";
    synthetic_points_add(&points, &plain);
    synthetic_points_add(&points, &other);
    for (int at = 0; at < points.count; at++) {
        struct law_point *point = &points.all[at];
        point->replayed_bytes = point->footprint_bytes - 15000000 - at % 5 * 1000;
        if (point->kind[0] == 'c') {
            point->hidden = point->width = point->cached_width = 0;
            point->heads = point->layers = point->ffn = point->vocab = 0;
        }
    }
    struct overhead_law *law = law_of(&points, 1, 5);
    const struct overhead_group *convolved = &law->kinds[0];
    assert_string_equal(convolved->kind, "convolved");
    assert_false(convolved->has_terms || convolved->counts);
    assert_int_equal(convolved->replayed.count, 6 * 40);
    assert_true(overhead_goal_is_met(&convolved->replayed));
    assert_int_equal(law->counted_point_count, 5 * 40);
    assert_int_equal(law->contexts[0].model_count, 11);
    assert_int_equal(overhead_tokens_at(law, convolved, 1.2, "all").low, 0);
    for (int term = 0; term < TERM_COUNT; term++) {
        assert_false(convolved->fit.is_seen[term]);
    }
    struct text text = {0};
    overhead_text_append(&text, law);
    assert_non_null(strstr(text_string(&text), "    convolved, host               6    240    0.00"));
    assert_non_null(strstr(text_string(&text), "convolved on host (assay): 6 models, 240 cases\n"
                                               "  the moments have no terms for it; its footprint is replayed\n"));
    text_release(&text);
    struct json *document = overhead_law_json(law, "0");
    assert_int_equal(json_count(json_get(document, "kinds")), 1);
    json_release(document);
    overhead_law_release(law);
    law_points_release(&points);
}

static int value_order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The median of footprint less replayed segments over the cases of a mode but those of a model. */
static double context_without(const struct law_points *points, const char *mode, const char *model)
{
    double values[600];
    int count = 0;
    for (int at = 0; at < points->count; at++) {
        const struct law_point *point = &points->all[at];
        if (strcmp(point->mode, mode) == 0 && strcmp(point->model, model) != 0 && point->replayed_bytes > 0) {
            values[count++] = (double)(point->footprint_bytes - point->replayed_bytes);
        }
    }
    qsort(values, (size_t)count, sizeof *values, value_order);
    return (values[(count - 1) / 2] + values[count / 2]) / 2.0;
}

/* Segments that are no sum of tensors: the structural form is off by them, the replayed one by the context alone. */
static void segments_are_replayed_and_the_context_is_the_rest(void **state)
{
    (void)state;
    struct law_points points = {0};
    synthetic_points_add(&points, &plain);
    for (int at = 0; at < points.count; at++) {
        struct law_point *point = &points.all[at];
        int64_t held = (int64_t)(at * 7919 % 21) * 1048576;
        point->replayed_bytes = at % 50 == 3 ? POINT_BYTES_UNKNOWN : point->allocated_bytes + held;
        point->footprint_bytes = point->allocated_bytes + held + 30000000 + at * 104729 % 1000 * 500;
    }
    struct overhead_law *law = law_of(&points, 1, 50);
    assert_int_equal(law->unreplayed_count, 4);
    assert_int_equal(law->context_count, 2);
    assert_string_equal(law->contexts[0].mode, "generate");
    for (int at = 0; at < 2; at++) {
        const struct overhead_context *context = &law->contexts[at];
        assert_int_equal(context->model_count, 5);
        assert_true(context->bytes == context_without(&points, context->mode, "none"));
        assert_true(context->spread.low <= context->bytes && context->bytes <= context->spread.high);
        assert_true(context->spread.low < context->spread.high);
    }
    for (int at = 0; at < points.count; at++) {
        const struct law_point *point = &points.all[at];
        double off = law->replayed[at], measured = (double)point->footprint_bytes;
        double bytes = context_without(&points, point->mode, point->model) + (double)point->replayed_bytes;
        assert_true(point->replayed_bytes > 0 ? fabs(off - (bytes - measured) / measured) < 1e-12 : isnan(off));
    }
    struct overhead_held held[HELD_COUNT];
    assert_int_equal(overhead_held_make(law, held, NULL), STATUS_OK);
    int held_count = 0;
    for (int row = 0; row < HELD_COUNT; row++) {
        held_count += held[row].errors.count;
    }
    assert_int_equal(held_count, law->summary[OVERHEAD_FOOTPRINT][FORM_REPLAYED].count);
    assert_true(overhead_goal_is_met(&law->summary[OVERHEAD_FOOTPRINT][FORM_REPLAYED]));
    assert_false(overhead_goal_is_met(&law->summary[OVERHEAD_FOOTPRINT][FORM_STRUCTURAL]));
    assert_int_equal(law->summary[OVERHEAD_ALLOCATED][FORM_REPLAYED].count, 0);
    overhead_law_release(law);
    law_points_release(&points);
}

/* Of 100 bytes of weights 121 are too little, 120 and 110 close, 109 is wasteful (weights_rule.h). */
static void the_rule_is_counted_as_reports_count_it(void **state)
{
    (void)state;
    static const int64_t peaks[] = {121, 120, 110, 109, 100};
    struct law_points points = {0};
    for (int at = 0; at < 5; at++) {
        const struct law_point point = {.model = "m",
                                        .kind = "k",
                                        .target = "host",
                                        .program = "assay",
                                        .mode = "infer",
                                        .precision = "float32",
                                        .attention = "sdpa",
                                        .logits = "all",
                                        .cache = "none",
                                        .batch = 1,
                                        .seq = 8 + at,
                                        .weights_bytes = 100,
                                        .pass_bytes = POINT_BYTES_UNKNOWN,
                                        .decode_bytes = POINT_BYTES_UNKNOWN,
                                        .allocated_bytes = peaks[at],
                                        .footprint_bytes = POINT_BYTES_UNKNOWN};
        assert_int_equal(law_points_add(&points, &point, NULL), STATUS_OK);
    }
    struct overhead_law law = {.points = &points};
    struct overhead_verdict verdict;
    overhead_verdict_make(&law, &verdict);
    assert_int_equal(verdict.all[OVERHEAD_ALLOCATED].count, 5);
    assert_int_equal(verdict.all[OVERHEAD_ALLOCATED].too_little, 1);
    assert_int_equal(verdict.all[OVERHEAD_ALLOCATED].wasteful, 2);
    assert_int_equal(verdict.all[OVERHEAD_FOOTPRINT].count, 0);
    assert_int_equal(verdict.seq_count, 5);
    assert_int_equal(verdict.grid[0][0].too_little, 1);
    assert_int_equal(verdict.highest.point->seq, 8);
    assert_int_equal(verdict.lowest.point->seq, 12);
    law_points_release(&points);
}

/* docs/NUMBERS-like worked number of overhead_terms.h. */
static void a_moment_is_the_worked_number(void **state)
{
    (void)state;
    struct law_point point = {.mode = "infer",
                              .precision = "float32",
                              .attention = "sdpa",
                              .logits = "last",
                              .cache = "none",
                              .batch = 1,
                              .seq = 256,
                              .hidden = 512,
                              .width = 512,
                              .cached_width = 256,
                              .heads = 8,
                              .layers = 3,
                              .ffn = 1376,
                              .vocab = 16384};
    const double coefficients[TERM_COUNT] = {[TERM_FEED_HIDDEN] = 4.0, [TERM_FEED_WIDTH] = 3.0};
    struct overhead_row row;
    enum overhead_moment moment;
    overhead_row_make(&point, PART_WHOLE, &row);
    assert_false(row.has[MOMENT_LOGITS]);
    assert_true(overhead_row_value(&row, coefficients, &moment) == 6324224.0);
    assert_int_equal(moment, MOMENT_FEED);
    point.logits = "none"; /* without the head */
    overhead_row_make(&point, PART_WHOLE, &row);
    assert_false(row.has[MOMENT_LOGITS]);
    point.logits = "all";
    overhead_row_make(&point, PART_WHOLE, &row);
    assert_true(row.has[MOMENT_LOGITS]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exact_law_is_found_again),
        cmocka_unit_test(terms_that_say_the_same_are_told),
        cmocka_unit_test(the_seed_alone_decides_the_resamples),
        cmocka_unit_test(too_few_models_are_refused),
        cmocka_unit_test(a_kind_of_two_models_is_not_judged),
        cmocka_unit_test(a_kind_of_two_models_borrows_a_law),
        cmocka_unit_test(a_kind_without_terms_is_replayed),
        cmocka_unit_test(segments_are_replayed_and_the_context_is_the_rest),
        cmocka_unit_test(the_rule_is_counted_as_reports_count_it),
        cmocka_unit_test(a_moment_is_the_worked_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
