/* Law point: which models the moments have terms for, and their numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/law/law_point.h"
#include "models/find/model.h"

static void model_says(const char *name, const char *obstacle, const char *kind, int64_t ffn)
{
    struct model model = {0};
    struct law_point point = {0};
    const struct model_places where = {.catalogue_dir = "models/catalogue"};
    assert_int_equal(model_find(&where, name, &model, NULL), STATUS_OK);
    const char *found = law_point_obstacle(&model.config);
    assert_string_equal(found != NULL ? found : "none", obstacle);
    if (found == NULL) {
        assert_true(law_point_model(&model.config, "sdpa", &point));
        assert_string_equal(point.kind, kind);
        assert_int_equal(point.ffn, ffn);
    }
    model_release(&model);
}

/* Experts count by what a token takes of them: 2 of 48 each. */
static void what_has_no_terms_says_why(void **state)
{
    (void)state;
    model_says("tiny-mixtral", "none", "mixtral", 96);
    model_says("tiny-qwen2-moe", "experts beside shared ones or dense layers", NULL, 0);
    model_says("tiny-deepseek-v2", "experts beside shared ones or dense layers", NULL, 0);
    model_says("tiny-t5", "an encoder with a decoder", NULL, 0);
    model_says("tiny-convnext", "convolutions", NULL, 0);
    struct model model = {0};
    const struct model_places where = {.catalogue_dir = "models/catalogue"};
    assert_int_equal(model_find(&where, "tiny-mixtral", &model, NULL), STATUS_OK);
    model.config.shared_ffn = 40;
    assert_non_null(law_point_obstacle(&model.config));
    model.config.shared_ffn = 0;
    assert_null(law_point_obstacle(&model.config));
    model.config.expert_groups = 2;
    assert_non_null(law_point_obstacle(&model.config));
    model_release(&model);
}

static void sizes_beyond_63_bits_are_no_point(void **state)
{
    (void)state;
    struct model model = {0};
    struct law_point point = {0};
    const struct model_places where = {.catalogue_dir = "models/catalogue"};
    assert_int_equal(model_find(&where, "tiny-llama", &model, NULL), STATUS_OK);
    assert_true(law_point_model(&model.config, "sdpa", &point));
    assert_int_equal(point.width, 32);
    assert_int_equal(point.cached_width, 16);
    model.config.heads = model.config.head_dim = INT64_C(1) << 40;
    assert_false(law_point_model(&model.config, "sdpa", &point));
    model_release(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_no_terms_says_why),
        cmocka_unit_test(sizes_beyond_63_bits_are_no_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
