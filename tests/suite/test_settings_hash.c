/* Two readings of a suite have one hash of its settings exactly if its cases would be run and judged alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/suite/suite_text.h"

#define CASE  "cases:\n  - {model: tiny-bert, mode: load, "
#define PLAIN SUITE_HEAD CASE "tags: [a, b]}\n"

static void hash_of(const char *text, char hash[17])
{
    struct suite suite = suite_text_open(text);
    assert_int_equal(strlen(suite.settings_hash), 16);
    memcpy(hash, suite.settings_hash, 17);
    suite_release(&suite);
}

static void what_is_run_and_judged_otherwise_has_another_hash(void **state)
{
    (void)state;
    static const char *const others[] = {
        PLAIN,
        SUITE_HEAD CASE "tags: [a]}\n",
        SUITE_HEAD CASE "tags: [ab]}\n",
        SUITE_HEAD CASE "tags: [a, b], device: meta}\n",
        SUITE_HEAD CASE "tags: [a, b], for: sm_80}\n",
        SUITE_HEAD CASE "tags: [a, b], memory: 1GiB}\n",
        SUITE_HEAD CASE "tags: [a, b], timeout_seconds: 7}\n",
        SUITE_HEAD CASE "tags: [a, b], repeat: 2}\n",
        SUITE_HEAD CASE "tags: [a, b], tolerances: {replay: {total_bytes: 0}}}\n",
        SUITE_HEAD CASE "tags: [a, b], tolerances: {replay: {total_bytes: 1KiB}}}\n",
        SUITE_HEAD CASE "tags: [a, b], tolerances: {replay: {total_bytes: 1%}}}\n",
        SUITE_HEAD CASE "tags: [a, b], tolerances: {replay: {total_bytes: 2%}}}\n",
        SUITE_HEAD CASE "tags: [a, b], tolerances: {anatomy: {total_bytes: 2%}}}\n",
        SUITE_HEAD CASE "tags: [a, b], expect: {allocated_bytes_peak: 1MiB}}\n",
        SUITE_HEAD CASE "tags: [a, b], expect: {reserved_bytes_peak: 1MiB}}\n",
        SUITE_HEAD "external: {e: {command: [p], quantities: {total_bytes: /a}}}\n" CASE "tags: [a, b]}\n",
        SUITE_HEAD "external: {e: {command: [p], quantities: {total_bytes: /b}}}\n" CASE "tags: [a, b]}\n",
        SUITE_HEAD "external: {e: {command: [p, q], quantities: {total_bytes: /a}}}\n" CASE "tags: [a, b]}\n",
    };
    enum { COUNT = sizeof others / sizeof others[0] };
    char hashes[COUNT][17];
    for (size_t i = 0; i < COUNT; i++) {
        hash_of(others[i], hashes[i]);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(hashes[i], hashes[k]) == 0) {
                fail_msg("one hash of\n%s and\n%s", others[i], others[k]);
            }
        }
    }
}

static void words_for_people_do_not_matter(void **state)
{
    (void)state;
    static const char *const same[] = {
        "# a comment\n" SUITE_HEAD "description: another\n" CASE "tags: [a, b]}\n",
        SUITE_HEAD "compare: {device: 8MiB}\ntags: [a, b]\n" CASE "timeout_seconds: 600}\n",
        "version: 1\nname: other\ncases:\n  - model: tiny-bert\n    mode: load\n    tags:\n      - a\n      - b\n",
    };
    char plain[17], other[17];
    hash_of(PLAIN, plain);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        hash_of(same[i], other);
        assert_string_equal(other, plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_run_and_judged_otherwise_has_another_hash),
        cmocka_unit_test(words_for_people_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
