/* What a law says of itself: the range that it was fitted to, errors relative to what is beside the weights, no p99 of
 * few cases, and where the rule of 20 % is said beyond what was measured. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/law/law_file.h"
#include "harness/law/law_page.h"
#include "harness/law/overhead_law.h"
#include "harness/law/overhead_rule.h"
#include "harness/law/overhead_text.h"
#include "tests/law/synthetic_points.h"

static const struct synthetic_kind plain = {
    .kind = "plain",
    .model_count = 6,
    .coefficients = {[TERM_LOGIT_VOCAB] = 1,
                     [TERM_LOGIT_HIDDEN] = 2,
                     [TERM_FEED_HIDDEN] = 3,
                     [TERM_FEED_WIDTH] = 2,
                     [TERM_ATTENTION_WIDTH] = 2.5,
                     [TERM_ATTENTION_SCORES] = 2,
                     [TERM_CACHE] = 1,
                     [TERM_DECODE_VOCAB] = 3},
    .allocator_bytes = 300000,
};

static struct law_points points;
static struct overhead_law *law;

static int law_make(void **state)
{
    const struct overhead_law_request request = {.seed = 1, .resample_count = 10};
    struct synthetic_kind lone = plain;
    (void)state;
    lone.kind = "lone";
    lone.model_count = 1;
    synthetic_points_add(&points, &plain);
    synthetic_points_add(&points, &lone);
    for (int at = 0; at < points.count; at++) {
        points.all[at].replayed_bytes = points.all[at].footprint_bytes - 15000000 - at % 7 * 10000;
    }
    return overhead_law_make(&points, &request, &law, NULL) != STATUS_OK;
}

static int law_remove(void **state)
{
    (void)state;
    overhead_law_release(law);
    law_points_release(&points);
    return 0;
}

static void page_says(enum report_format format, const char *words)
{
    struct text text = {0};
    assert_int_equal(overhead_law_render(law, "0.1.0", format, NULL, &text, NULL), STATUS_OK);
    if (strstr(text_string(&text), words) == NULL) {
        fail_msg("'%s' is not in\n%.4000s", words, text_string(&text));
    }
    text_release(&text);
}

/* A median of 12 cases is one, a p99 of them is their worst. */
static void few_cases_have_no_p99(void **state)
{
    (void)state;
    double errors[P99_CASES_MINIMUM], room[P99_CASES_MINIMUM];
    for (int at = 0; at < P99_CASES_MINIMUM; at++) {
        errors[at] = at / 1000.0;
    }
    struct error_summary few = error_summary_make(errors, P99_CASES_MINIMUM - 1, room);
    assert_true(isnan(few.p99) && few.worst == 0.098 && few.median == 0.049);
    struct error_summary enough = error_summary_make(errors, P99_CASES_MINIMUM, room);
    assert_true(enough.p99 > 0.09);
    struct text text = {0};
    overhead_errors_append(&text, &few);
    assert_string_equal(text_string(&text), "median 4.90 %, worst 9.80 %");
    text_release(&text);
    /* The goal is held against the worst then. */
    assert_false(overhead_goal_is_met(&few));
    for (int at = 0; at < 50; at++) {
        errors[at] = 0.01;
    }
    few = error_summary_make(errors, 50, room);
    assert_true(overhead_goal_is_met(&few));
}

static void errors_are_told_relative_to_the_overhead_too(void **state)
{
    (void)state;
    const struct error_summary *rule = &law->beside[FORM_RULE], *structural = &law->beside[FORM_STRUCTURAL];
    assert_int_equal(structural->count, law->summary[OVERHEAD_ALLOCATED][FORM_STRUCTURAL].count);
    double worst = 0.0;
    for (int at = 0; at < points.count; at++) {
        const struct law_point *point = &points.all[at];
        double weights = (double)point->weights_bytes, beside = (double)point->allocated_bytes - weights;
        double off = fabs((0.2 * weights - beside) / beside);
        worst = !isnan(law->errors[OVERHEAD_ALLOCATED][FORM_STRUCTURAL][at]) && off > worst ? off : worst;
    }
    assert_true(fabs(rule->worst - worst) < 1e-9);
    page_says(REPORT_TABLE, "  the same errors relative to what is beside the weights (peak - weights)\n  rule ");
    page_says(REPORT_MARKDOWN, "relative to what is beside the weights (peak - weights)\n");
    page_says(REPORT_JSON, "\"errors_beside_weights\"");
}

static void the_range_and_what_has_no_law_are_told(void **state)
{
    (void)state;
    page_says(REPORT_TABLE, "overhead of inference: 240 cases of 6 models of 1 kinds\n"
                            "280 of 280 cases count\n"
                            "40 of them are of kinds with too few models or without terms: they have no law\n"
                            "of their own, and stand in the rule of 20 % and in the contexts\n"
                            "range: tokens 64 to 1120, weights 28.61 MiB to 61.99 MiB,\n"
                            "  layers 2 to 5, hidden size 256 to 800\n");
    page_says(REPORT_MARKDOWN, ". Range: tokens 64 to 1120, weights 28.61 MiB to 61.99 MiB, layers 2 to 5, ");
    page_says(REPORT_TABLE, "lone on host (assay): 1 model, 40 cases\n");
    page_says(REPORT_TABLE, "\nfitted by assay 0.1.0\n");
    page_says(REPORT_MARKDOWN, "Fitted by assay 0.1.0.");
}

/* What is measured has at most 4 x 257 tokens; a factor that the law reaches later is the law's word alone. */
static void tokens_beyond_the_measured_are_marked(void **state)
{
    (void)state;
    const struct overhead_group *kind = &law->kinds[1];
    assert_string_equal(kind->kind, "plain");
    struct token_range near = overhead_tokens_at(law, kind, 1.5, "all"),
                       far = overhead_tokens_at(law, kind, 9.0, "all");
    assert_true(near.low > 64 && near.low <= 1028 && near.low_is_measured);
    assert_true(far.low > 1028 && !far.low_is_measured && !far.high_is_measured);
    assert_int_equal(overhead_tokens_at(law, &law->kinds[0], 1.2, "all").low, 0); /* it has no law */
    page_says(REPORT_TABLE, "+\n");
    page_says(REPORT_TABLE, "is above 1.2 x weights: the least and the most over its models (+: beyond the\n"
                            "tokens that were measured of the kind; -: none, or no law)\n");
}

static void words_of_the_verdict_are_defined(void **state)
{
    (void)state;
    page_says(REPORT_TABLE, "  too little: the peak is above 1.2 x weights, which makes the rule unsafe.\n"
                            "  wasteful: 1.2 x weights is more than 1.1 x the peak. close: neither.\n"
                            "  Shares are of the cases measured here, with a law or without, not of all uses\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_cases_have_no_p99),
        cmocka_unit_test(errors_are_told_relative_to_the_overhead_too),
        cmocka_unit_test(the_range_and_what_has_no_law_are_told),
        cmocka_unit_test(tokens_beyond_the_measured_are_marked),
        cmocka_unit_test(words_of_the_verdict_are_defined),
    };
    return cmocka_run_group_tests(tests, law_make, law_remove);
}
