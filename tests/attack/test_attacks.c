/* Attacks: every script of tests/attack/quick is a test. Not the attacks themselves, and not a list of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command_run.h"

static void attack_run(void **state)
{
    const char *const words[] = {"sh", *state, NULL};
    struct command_result result = command_run(words, NULL);
    int exit_code = result.exit_code;
    if (exit_code != 0) {
        print_message("%s%s", text_string(&result.output), text_string(&result.error));
    }
    command_result_release(&result);
    if (exit_code == 77) {
        skip();
    }
    assert_int_equal(exit_code, 0);
}

/* A script that is found to hold nothing must be a failure, or the others mean little. */
static void an_attack_that_succeeds_is_seen(void **state)
{
    (void)state;
    static const char command[] = ". \"$0\"; echo kept >file; before=$(mktemp); sums . >\"$before\"; echo lost >file; "
                                  "(trap - EXIT; same . \"$before\"); code=$?; rm \"$before\"; exit $code";
    const char *const words[] = {"sh", "-c", command, "tests/attack/attack.sh", NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 1);
    assert_non_null(strstr(text_string(&result.output), "FAIL: . has changed"));
    command_result_release(&result);
}

int main(void)
{
    glob_t scripts = {0};
    int found = glob("tests/attack/quick/*.sh", 0, NULL, &scripts);
    struct CMUnitTest *tests = calloc(scripts.gl_pathc + 1, sizeof *tests);
    if (found != 0 || tests == NULL) {
        print_error("tests/attack/quick has no scripts; run this from the root of the repository\n");
        return 1;
    }
    tests[0] = (struct CMUnitTest)cmocka_unit_test(an_attack_that_succeeds_is_seen);
    for (size_t i = 0; i < scripts.gl_pathc; i++) {
        tests[i + 1] = (struct CMUnitTest){
            .name = scripts.gl_pathv[i], .test_func = attack_run, .initial_state = scripts.gl_pathv[i]};
    }
    int failed = _cmocka_run_group_tests("attacks", tests, scripts.gl_pathc + 1, NULL, NULL);
    free(tests);
    globfree(&scripts);
    return failed;
}
