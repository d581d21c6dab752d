/* What cases do not tell: coefficients that few models or resamples tell have no interval, terms that say the same are
 * marked, all of them, and a case whose model alone tells a coefficient has no error. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/law/law_file.h"
#include "harness/law/overhead_law.h"
#include "harness/law/overhead_text.h"
#include "tests/law/synthetic_points.h"

static const struct synthetic_kind plain = {
    .kind = "plain",
    .model_count = 6,
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

static struct overhead_law *law_of(const struct law_points *points, int resample_count)
{
    struct overhead_law *law = NULL;
    struct status error = {0};
    const struct overhead_law_request request = {.seed = 1, .resample_count = resample_count};
    if (overhead_law_make(points, &request, &law, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return law;
}

static void text_says(const struct overhead_law *law, const char *words)
{
    struct text text = {0};
    overhead_text_append(&text, law);
    if (strstr(text_string(&text), words) == NULL) {
        fail_msg("'%s' is not in\n%s", words, text_string(&text));
    }
    text_release(&text);
}

/* No case follows the law exactly. */
static void noise_add(struct law_points *points)
{
    for (int at = 0; at < points->count; at++) {
        struct law_point *point = &points->all[at];
        int64_t noise = (int64_t)(at * 7919 % 1000) * 50;
        point->pass_bytes += point->pass_bytes > 0 ? noise : 0;
        point->allocated_bytes += noise;
        point->footprint_bytes += noise;
    }
}

/* Points of the kind, of which only the first `generating` models generate. */
static struct law_points points_of(const struct synthetic_kind *kind, int generating)
{
    struct law_points all = {0}, points = {0};
    synthetic_points_add(&all, kind);
    for (int at = 0; at < all.count; at++) {
        if (at / 40 < generating || all.all[at].mode[0] == 'i') {
            assert_int_equal(law_points_add(&points, &all.all[at], NULL), STATUS_OK);
        }
    }
    law_points_release(&all);
    return points;
}

/* A resample without the one model that generates keeps what the fit of all began with: it tells nothing of a cache. */
static void one_model_gives_no_interval(void **state)
{
    (void)state;
    struct law_points points = points_of(&plain, 1);
    noise_add(&points);
    struct overhead_law *law = law_of(&points, 200);
    const struct overhead_group *kind = &law->kinds[0];
    assert_true(kind->fit.is_seen[TERM_CACHE]);
    assert_int_equal(kind->fit.model_counts[TERM_CACHE], 1);
    assert_false(kind->spread[TERM_CACHE].is_known);
    /* 1 - (5 / 6)^6 of the draws have it: 133 of 200. */
    assert_in_range(kind->told_resamples[TERM_CACHE], 110, 155);
    assert_true(kind->spread[TERM_ATTENTION_WIDTH].is_known);
    text_says(law, ": told by 1 of 6 models and ");
    text_says(law, " of 200 resamples: no interval\n");
    struct json *document = overhead_law_json(law, "0");
    const struct json *cache =
        json_get(json_get(json_at(json_get(document, "kinds"), 0), "coefficients"), overhead_term_key(TERM_CACHE));
    assert_int_equal(json_kind(json_get(cache, "interval")), JSON_KIND_NULL);
    assert_int_equal(json_integer_or(json_get(cache, "models"), 0), 1);
    assert_int_equal(json_integer_or(json_get(cache, "resamples"), 0), kind->told_resamples[TERM_CACHE]);
    json_release(document);
    overhead_law_release(law);
    law_points_release(&points);
}

/* Three of six models are wide enough in words for their logits to be highest. Draws with one of them alone have one
 * ratio of a to b: they neither count nor pull rows of the other models to the logits. */
static void draws_that_tell_nothing_do_not_widen_an_interval(void **state)
{
    (void)state;
    struct law_points points = {0};
    synthetic_points_add(&points, &plain);
    noise_add(&points);
    struct overhead_law *law = law_of(&points, 400);
    const struct overhead_group *kind = &law->kinds[0];
    const struct interval *vocab = &kind->spread[TERM_LOGIT_VOCAB], *hidden = &kind->spread[TERM_LOGIT_HIDDEN];
    assert_int_equal(kind->fit.model_counts[TERM_LOGIT_VOCAB], 3);
    assert_true(vocab->is_known && hidden->is_known);
    assert_true(kind->told_resamples[TERM_LOGIT_VOCAB] < 400);
    assert_int_equal(kind->told_resamples[TERM_LOGIT_VOCAB], kind->told_resamples[TERM_LOGIT_HIDDEN]);
    if (vocab->low < 0.98 || vocab->high > 1.02 || hidden->high > 5.0) {
        fail_msg("a is %.3f to %.3f, b %.3f to %.3f", vocab->low, vocab->high, hidden->low, hidden->high);
    }
    overhead_law_release(law);
    law_points_release(&points);
}

/* Cases of generation of the one model that generates: the others say nothing of its steps. */
static void what_only_its_own_model_tells_has_no_error(void **state)
{
    (void)state;
    struct law_points points = points_of(&plain, 1);
    struct overhead_law *law = law_of(&points, 0);
    int untold = 0;
    for (int at = 0; at < points.count; at++) {
        bool is_untold = isnan(law->errors[OVERHEAD_ALLOCATED][FORM_STRUCTURAL][at]);
        untold += is_untold;
        assert_true(!is_untold || points.all[at].mode[0] == 'g');
        assert_true(is_untold == isnan(law->errors[OVERHEAD_ALLOCATED][FORM_RULE][at]));
        assert_true(is_untold == isnan(law->errors[OVERHEAD_FOOTPRINT][FORM_STRUCTURAL][at]));
    }
    assert_true(untold > 0);
    assert_int_equal(law->untold_count, untold);
    for (int form = FORM_RULE; form <= FORM_STRUCTURAL; form++) {
        assert_int_equal(law->summary[OVERHEAD_ALLOCATED][form].count, points.count - untold);
    }
    text_says(law, " cases have no error: without their own model nothing tells a coefficient\nthat they need\n");
    overhead_law_release(law);
    law_points_release(&points);
    /* With a second one that generates each is told by the other. */
    points = points_of(&plain, 6);
    law = law_of(&points, 0);
    assert_int_equal(law->untold_count, 0);
    overhead_law_release(law);
    law_points_release(&points);
}

/* d of a feed-forward of 4 times the width is no better known than c: neither has an interval, both have the star. */
static void all_members_of_a_relation_are_marked(void **state)
{
    (void)state;
    static const enum overhead_term members[] = {TERM_FEED_HIDDEN, TERM_FEED_WIDTH};
    struct law_points points = {0};
    struct synthetic_kind fixed = plain;
    fixed.has_fixed_ratio = true;
    synthetic_points_add(&points, &fixed);
    noise_add(&points);
    struct overhead_law *law = law_of(&points, 40);
    struct json *document = overhead_law_json(law, "0");
    const struct json *coefficients = json_get(json_at(json_get(document, "kinds"), 0), "coefficients");
    for (int at = 0; at < 2; at++) {
        const struct json *one = json_get(coefficients, overhead_term_key(members[at]));
        assert_true(law->kinds[0].fit.is_dependent[members[at]]);
        assert_false(law->kinds[0].spread[members[at]].is_known);
        assert_int_equal(json_kind(json_get(one, "interval")), JSON_KIND_NULL);
        assert_true(json_boolean_or(json_get(one, "dependent"), false));
    }
    assert_false(law->kinds[0].fit.is_dependent[TERM_ATTENTION_WIDTH]);
    text_says(law, "  feed-forward: residual stream, norms, output *\n");
    text_says(law, "  feed-forward: its width *\n");
    /* What is left out keeps the relation: its sum is told, and its error known. (Scores are told by few models.) */
    for (int at = 0; at < points.count; at++) {
        bool is_known = !isnan(law->errors[OVERHEAD_ALLOCATED][FORM_STRUCTURAL][at]);
        assert_true(is_known || strcmp(points.all[at].attention, "eager") == 0);
    }
    json_release(document);
    overhead_law_release(law);
    law_points_release(&points);
}

/* Four cases that are all alike have three coefficients of no width if the rank is not looked at. */
static void an_affine_law_of_equal_cases_is_not_told(void **state)
{
    (void)state;
    static const char *const names[] = {"one", "two", "three", "four"};
    struct law_points all = {0}, points = {0};
    synthetic_points_add(&all, &plain);
    for (int at = 0; at < 4; at++) {
        struct law_point point = all.all[0];
        point.model = names[at];
        assert_int_equal(law_points_add(&points, &point, NULL), STATUS_OK);
    }
    struct overhead_law *law = law_of(&points, 20);
    const struct overhead_simple *affine = &law->simple[OVERHEAD_ALLOCATED][FORM_AFFINE];
    for (int at = 0; at < AFFINE_COUNT; at++) {
        assert_false(affine->is_told[at]);
        assert_false(affine->spread[at].is_known);
    }
    assert_true(law->simple[OVERHEAD_ALLOCATED][FORM_CONSTANT].is_told[0]);
    text_says(law, "\nthe models have 1 size (width, ");
    overhead_law_release(law);
    law_points_release(&points);
    law_points_release(&all);
}

/* Weights that are always 1000 times the tokens' numbers: MiB are told, and neither of the other two. */
static void members_of_an_affine_relation_are_marked(void **state)
{
    (void)state;
    struct law_points points = {0};
    synthetic_points_add(&points, &plain);
    for (int at = 0; at < points.count; at++) {
        struct law_point *point = &points.all[at];
        int64_t beside = point->allocated_bytes - point->weights_bytes;
        int64_t more = -point->weights_bytes +
                       1000 * point->batch * point->seq * point->hidden * (int64_t)law_element_bytes(point->precision);
        point->weights_bytes += more;
        point->pass_bytes += point->pass_bytes > 0 ? more : 0;
        point->decode_bytes += point->decode_bytes > 0 ? more : 0;
        point->allocated_bytes = point->weights_bytes + beside;
        point->footprint_bytes = point->allocated_bytes + 20000000;
    }
    struct overhead_law *law = law_of(&points, 20);
    const struct overhead_simple *affine = &law->simple[OVERHEAD_ALLOCATED][FORM_AFFINE];
    assert_true(affine->is_told[0] && !affine->is_told[1] && !affine->is_told[2]);
    assert_true(affine->spread[0].is_known && !affine->spread[1].is_known && !affine->spread[2].is_known);
    assert_int_equal(law->summary[OVERHEAD_ALLOCATED][FORM_AFFINE].count, points.count - law->untold_count);
    text_says(law, " x weights *\n");
    text_says(law, " x T H e *\n              * cannot be told apart in these cases; their sum alone is known\n");
    overhead_law_release(law);
    law_points_release(&points);
}

/* Two kinds with models of the same sizes are drawn as pairs: as if there were one kind of them. */
static void models_of_equal_sizes_are_one_cluster(void **state)
{
    (void)state;
    struct law_points one = {0}, two = {0};
    struct synthetic_kind other = plain;
    other.kind = "other";
    synthetic_points_add(&one, &plain);
    synthetic_points_add(&two, &plain);
    synthetic_points_add(&two, &other);
    struct overhead_law *single = law_of(&one, 100), *twice = law_of(&two, 100);
    assert_int_equal(twice->counted_model_count, 12);
    assert_int_equal(twice->counted_cluster_count, 6);
    for (int at = 0; at < AFFINE_COUNT; at++) {
        const struct interval *a = &single->simple[OVERHEAD_ALLOCATED][FORM_AFFINE].spread[at];
        const struct interval *b = &twice->simple[OVERHEAD_ALLOCATED][FORM_AFFINE].spread[at];
        assert_true(a->is_known && b->is_known);
        assert_true(fabs(a->low - b->low) < 1e-6 && fabs(a->high - b->high) < 1e-6);
    }
    text_says(twice, "the models have 6 sizes (width, heads, layers, vocabulary); what is fitted over\n"
                     "all kinds is resampled by size\n");
    overhead_law_release(single);
    overhead_law_release(twice);
    law_points_release(&one);
    law_points_release(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_model_gives_no_interval),
        cmocka_unit_test(draws_that_tell_nothing_do_not_widen_an_interval),
        cmocka_unit_test(what_only_its_own_model_tells_has_no_error),
        cmocka_unit_test(all_members_of_a_relation_are_marked),
        cmocka_unit_test(an_affine_law_of_equal_cases_is_not_told),
        cmocka_unit_test(members_of_an_affine_relation_are_marked),
        cmocka_unit_test(models_of_equal_sizes_are_one_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
