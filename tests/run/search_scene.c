/* Search scene: what tests of searches read of a record. Holds no test. */
#include "tests/run/search_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

enum run_outcome search_measure(struct scene *scene, const struct case_runner *runner, const char *device)
{
    struct run_options options = options_of(scene);
    options.runner = runner;
    options.device = device;
    return run_with(scene, &options);
}

const struct json *search_at(const struct scene *scene, int index)
{
    return json_get(case_at(scene, index), "search");
}

void tries_words(const struct json *of, const char *key, char words[TRIES_WORDS_BYTES])
{
    const struct json *tries = json_get(of, "tries");
    int length = 0;
    words[0] = '\0';
    for (size_t i = 0; i < json_count(tries); i++) {
        const struct json *try_ = json_at(tries, i), *value = json_get(try_, key);
        length += snprintf(words + length, TRIES_WORDS_BYTES - (size_t)length, "%s%lld %s", i > 0 ? ", " : "",
                           (long long)integer_at(try_, "batch"),
                           json_kind(value) == JSON_KIND_BOOLEAN ? (json_boolean_or(value, false) ? "ran" : "refused")
                                                                 : json_string_or(value, "unknown"));
    }
}

void tries_expect(const struct json *of, const char *wanted)
{
    char words[TRIES_WORDS_BYTES];
    tries_words(of, "ended", words);
    assert_string_equal(words, wanted);
}

void pass_expect(const struct json *search_, enum json_kind kind, bool value)
{
    const struct json *pass = json_get(search_, "pass");
    assert_int_equal(json_kind(pass), kind);
    assert_int_equal(json_boolean_or(pass, value), value);
}
