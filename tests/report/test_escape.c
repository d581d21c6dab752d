/* Escapes: no text for people holds what a runner of GitHub Actions takes for a command, wherever a name from outside
 * puts it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/base/status.h"
#include "harness/report/escape.h"

static void commands_are_broken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *broken;
    } rows[] = {
        {"", ""},
        {"a::b c: d", "a::b c: d"},
        {"::error::x", ": :error::x"},
        {"  ::error::x", "  : :error::x"},
        {"a ::error::x", "a : :error::x"}, /* a terminal may fold the line there */
        {"a\n::error::x\n::warning::y\n", "a\n: :error::x\n: :warning::y\n"},
        {"\u00a0::error::x", "\u00a0: :error::x"},
        {"a ##[error]x##[group]", "a # #[error]x# #[group]"},
        {"###[x]", "## #[x]"},
        {"# [x] ## [y]", "# [x] ## [y]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = {0};
        command_break_append(&text, rows[i].text);
        assert_string_equal(text_string(&text), rows[i].broken);
        text_release(&text);
        if (strchr(rows[i].text, '\n') == NULL) {
            terminal_append(&text, rows[i].text);
            assert_null(strstr(text_string(&text), "##["));
            assert_int_not_equal(strncmp(text_string(&text) + strspn(text_string(&text), " \u00a0"), "::", 2), 0);
            text_release(&text);
        }
    }
}

/* What ends a line in a log, or acts on a terminal, is in no error. */
static void an_error_is_one_line(void **state)
{
    (void)state;
    struct status error = {0};
    status_set_at(&error, STATUS_INVALID, (struct file_place){"a\u2028b\u2029c", 1, 2}, "%s",
                  "x\u2028y\u2029z\xC2\x85\t\v\x1b[2J\u202e.");
    assert_string_equal(error.path, "a?b?c");
    assert_string_equal(error.text, "x?y?z????[2J?.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_broken),
        cmocka_unit_test(an_error_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
