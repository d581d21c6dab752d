/* assay estimate --calibration of models that the law has no terms for: their footprint, and why not more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/command_run.h"

#define LAW "results/laws/inference-overhead.json"

static struct command_result estimate(const char *model, const char *precision, const char *law)
{
    const char *const options[] = {model,   "--mode", "infer",         "--precision", precision,
                                   "--for", "host",   "--calibration", law,           NULL};
    return command_named("estimate", options);
}

/* What has no terms has segments all the same. */
static void what_has_no_terms_has_a_footprint(void **state)
{
    static const struct {
        const char *model, *precision, *cause;
    } cases[] = {
        {"tiny-llama", "int4", "the law has no terms for quantised weights (int4)"},
        {"tiny-qwen2-moe", "float32", "no terms for such a model (experts beside shared ones or dense layers)"},
        {"google-t5/t5-small", "float32", "no terms for such a model (an encoder with a decoder)"},
        {"timm/resnet18.a1_in1k", "float32", "no terms for such a model (convolutions)"},
    };
    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        struct command_result result = estimate(cases[at].model, cases[at].precision, LAW);
        assert_int_equal(result.exit_code, 0);
        command_says(&result.error, cases[at].cause);
        command_says(&result.error, "; what follows is the footprint alone");
        command_says(&result.output, "law of the calibration, on host: the footprint alone\n  footprint_bytes, with");
        command_says(&result.output, "  the segments that replay has, and 14.");
        assert_null(strstr(text_string(&result.output), "the highest moment is"));
        command_result_release(&result);
    }
}

/* Experts in every layer, and nothing beside them. */
static void experts_alone_have_terms(void **state)
{
    (void)state;
    struct command_result result = estimate("suites/overhead-kinds/mixtral-a", "float32", LAW);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "law of the calibration, mixtral on host (assay): 54 cases of 6 models\n");
    command_says(&result.output, "the highest moment is");
    command_result_release(&result);
}

/* A law of version 1.0 has no contexts, and says nothing of them. */
static void an_older_law_refuses_them(void **state)
{
    char path[] = "/tmp/assay-older-law-XXXXXX", change[256];
    int file = mkstemp(path);
    (void)state;
    assert_true(file >= 0 && close(file) == 0);
    snprintf(change, sizeof change, "sed 's/\"contexts\"/\"others\"/' %s >%s", LAW, path);
    struct command_result changed = command_run((const char *const[]){"sh", "-c", change, NULL}, NULL);
    assert_int_equal(changed.exit_code, 0);
    command_result_release(&changed);
    command_refused(estimate("timm/resnet18.a1_in1k", "float32", path),
                    "the law has no terms for such a model (convolutions)");
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_no_terms_has_a_footprint),
        cmocka_unit_test(experts_alone_have_terms),
        cmocka_unit_test(an_older_law_refuses_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
