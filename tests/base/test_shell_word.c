/* Shell words: a POSIX shell reads back what was appended, whatever it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/shell_word.h"
#include "tests/support/command_run.h"

static void words_are_quoted_where_they_must_be(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"24GiB", "24GiB"},
        {"80 GB", "\"80 GB\""},
        {"", "\"\""},
        {"NVIDIA H100 80GB HBM3", "\"NVIDIA H100 80GB HBM3\""},
        {"it's", "\"it's\""},
        {"a;b", "\"a;b\""},
        {"*.yaml", "\"*.yaml\""},
        {"~/x", "\"~/x\""},
        {"$HOME's", "'$HOME'\\''s'"},
        {"results/one-two_3.d", "results/one-two_3.d"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = {0};
        shell_word_append(&text, rows[i][0]);
        assert_string_equal(text_string(&text), rows[i][1]);
        text_release(&text);
    }
}

static void a_shell_reads_them_back(void **state)
{
    (void)state;
    static const char *const words[] = {"a b",           "\"", "'",  "\\", "`id`", "$(id)", "!x",
                                        "a'b\"c$d`e\\f", "\t", "-n", "#"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct text script = {0};
        text_append(&script, "printf '%s|' ");
        shell_word_append(&script, words[i]);
        const char *const command[] = {"sh", "-c", text_string(&script), NULL};
        struct command_result result = command_run(command, NULL);
        struct text expected = {0};
        text_format(&expected, "%s|", words[i]);
        assert_string_equal(text_string(&result.output), text_string(&expected));
        text_release(&expected);
        command_result_release(&result);
        text_release(&script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_quoted_where_they_must_be),
        cmocka_unit_test(a_shell_reads_them_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
