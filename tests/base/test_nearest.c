/* What is suggested for a name that nobody has: the right one or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/nearest.h"

static const char *const names[] = {"fit",          "estimate", "estimators", "models",     "limit", "lora-rank",
                                    "lora-targets", "loss",     "batch",      "new-tokens", "json",  NULL};

static void the_names_that_were_meant_are_suggested(void **state)
{
    (void)state;
    static const struct {
        const char *typed, *words;
    } rows[] = {
        {"FIT", "'fit'"},
        {"new_tokens", "'new-tokens'"},
        {"lora", "'lora-rank' or 'lora-targets'"},
        {"est", "'estimate' or 'estimators'"},
        {"batch-size", "'batch'"},
        {"max_new_tokens", "'new-tokens'"},
        {"estimate-memory", "'estimate'"},
        {"modles", "'models'"},
        {"bacth", "'batch'"},
        {"jsn", "'json'"},
        {"", ""},
        {"list", ""},  /* two letters of four away from fit */
        {"lorax", ""}, /* loss is two letters of five away */
        {"l", ""},
        {"measure", ""},
        {"batchsize", "'batch'"},
        {"fitness", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *meant[NAMES_MEANT_MAXIMUM];
        struct text text = {0};
        names_meant_append(meant, names_meant(rows[i].typed, names, meant), "'", "'", &text);
        assert_string_equal(text_string(&text), rows[i].words);
        text_release(&text);
    }
}

static void distances_are_those_of_damerau(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        int distance;
    } rows[] = {
        {"", "", 0},       {"", "abc", 3},           {"abc", "", 3},      {"abc", "ABC", 0},
        {"a_b", "a-b", 0}, {"kitten", "sitting", 3}, {"gtp2", "gpt2", 1}, {"ca", "abc", 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(name_distance(rows[i].a, rows[i].b), rows[i].distance);
        assert_int_equal(name_distance(rows[i].b, rows[i].a), rows[i].distance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_names_that_were_meant_are_suggested),
        cmocka_unit_test(distances_are_those_of_damerau),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
