/* The optimizer law over the committed records of a host, and what it says of published claims. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/law/law_page.h"

static const struct point_places places = {.catalogue_dir = "models/catalogue"};
static const char *const records[] = {"results/reference/host-intel-r-xeon-r-processor",
                                      "results/reference/nvidia-h100-80gb-hbm3",
                                      "results/reference/host-intel-r-xeon-r-processor/league"};

static struct optimizer_law law;

static int law_make(void **state)
{
    (void)state;
    struct status error = {0};
    if (optimizer_law_make(records, 3, NULL, &places, &law, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return 0;
}

static int law_remove(void **state)
{
    (void)state;
    optimizer_law_release(&law);
    return 0;
}

static const struct optimizer_group *group_of(const char *optimizer, const char *precision)
{
    for (int at = 0; at < law.group_count; at++) {
        if (strcmp(law.groups[at].optimizer, optimizer) == 0 && strcmp(law.groups[at].precision, precision) == 0) {
            return &law.groups[at];
        }
    }
    fail_msg("no cases of %s in %s", optimizer, precision);
    return NULL;
}

static void is_near(double ours, double expected)
{
    assert_true(fabs(ours - expected) < 0.01);
}

static void states_take_the_bytes_of_their_dtype(void **state)
{
    (void)state;
    const struct optimizer_group *full = group_of("adam-foreach", "float32");
    is_near(full->parts[OPTIMIZER_WEIGHTS].median, 4.0);
    is_near(full->parts[OPTIMIZER_STATES].median, 8.0);
    is_near(full->all.median, 16.0);
    const struct optimizer_group *half = group_of("adamw-fused", "bfloat16");
    is_near(half->parts[OPTIMIZER_WEIGHTS].median, 2.0);
    is_near(half->parts[OPTIMIZER_STATES].median, 4.0);
    is_near(half->parts[OPTIMIZER_MASTER].median, 0.0);
    is_near(half->all.median, 8.0);
    is_near(group_of("sgd-momentum", "float32")->parts[OPTIMIZER_STATES].median, 4.0);
    is_near(group_of("adamw-fused", "amp-bfloat16")->all.median, 16.0);
    assert_true(law.left_out_count > 0); /* adapters are there */
}

static enum claim_verdict verdict_of(const char *source, double bytes, const char *precision, double *measured)
{
    const struct optimizer_claim *claim;
    for (int at = 0; (claim = optimizer_claim_at(at)) != NULL; at++) {
        if (strncmp(claim->source, source, strlen(source)) == 0 && claim->bytes == bytes &&
            strcmp(claim->precision, precision) == 0) {
            return optimizer_claim_judge(&law, claim, measured);
        }
    }
    fail_msg("no claim of %s", source);
    return CLAIM_NOT_MEASURED;
}

static void claims_are_held_against_their_own_cases(void **state)
{
    (void)state;
    double measured;
    assert_int_equal(verdict_of("accelerate", 16, "float32", &measured), CLAIM_HOLDS);
    assert_int_equal(verdict_of("LLaMA-Factory", 8, "bfloat16", &measured), CLAIM_HOLDS);
    assert_int_equal(verdict_of("Megatron-LM", 18, "bfloat16", &measured), CLAIM_FAILS);
    is_near(measured, 8.0);
    assert_int_equal(verdict_of("EleutherAI", 6, "amp-bfloat16", &measured), CLAIM_NOT_MEASURED);
    assert_true(isnan(measured));
}

static void the_page_has_groups_and_claims(void **state)
{
    static const enum report_format formats[] = {REPORT_TABLE, REPORT_MARKDOWN, REPORT_CSV};
    static const char *const rows[] = {"sgd-momentum    float32", "| sgd-momentum | float32 |",
                                       "sgd-momentum,float32,sum"};
    (void)state;
    const struct law_subject subject = {&law, "0"};
    for (size_t at = 0; at < 3; at++) {
        struct text text = {0};
        assert_int_equal(page_render(&optimizer_page, &subject, formats[at], NULL, &text, NULL), STATUS_OK);
        assert_non_null(strstr(text_string(&text), rows[at]));
        assert_int_equal(strstr(text_string(&text), "Megatron-LM") != NULL, formats[at] != REPORT_CSV);
        text_release(&text);
    }
    struct json *document = optimizer_law_json(&law, "0");
    assert_string_equal(json_string_or(json_get(document, "law"), ""), "optimizer");
    assert_int_equal(json_count(json_get(document, "groups")), law.group_count);
    json_release(document);
}

static void records_without_training_are_refused(void **state)
{
    (void)state;
    struct optimizer_law none = {0};
    struct status error = {0};
    assert_int_equal(optimizer_law_make(records, 1, "*/infer/*", &places, &none, &error), STATUS_INVALID);
    assert_string_equal(error.text, "no case of training counts (0 were looked at); run suites/optimizer-law.yaml");
    optimizer_law_release(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_take_the_bytes_of_their_dtype),
        cmocka_unit_test(claims_are_held_against_their_own_cases),
        cmocka_unit_test(the_page_has_groups_and_claims),
        cmocka_unit_test(records_without_training_are_refused),
    };
    return cmocka_run_group_tests(tests, law_make, law_remove);
}
