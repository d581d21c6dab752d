/* ci/strict.sh with a judge of the test's own: what its table and its exit status say of what was right, wrong and not
 * tried, and that every mode is told to the judge by words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

static int build_make(void **state)
{
    char path[64];
    char *root = *state = strdup("/tmp/assay-strict-XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/tests", root);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/tests/mutants", root);
    mkdir(path, 0700);
    return 0;
}

static int build_remove(void **state)
{
    assert_int_equal(scratch_folder_remove(*state), 0);
    free(*state);
    return 0;
}

/* option and its value: NULL where there is none. */
static void strict_says(void **state, const char *judge, const char *option, const char *value, int exit_code,
                        const char *said)
{
    char folder[64];
    snprintf(folder, sizeof folder, "%s/tests/mutants", (const char *)*state);
    script_write(folder, "judge", judge);
    const char *words[9] = {"ci/strict.sh", "--seed", "4"};
    int count = 3;
    if (option != NULL) {
        words[count++] = option;
    }
    if (value != NULL) {
        words[count++] = value;
    }
    words[count++] = *state;
    words[count++] = "SUM";
    words[count++] = "GELU";
    struct command_result result = command_run(words, NULL);
    if (result.exit_code != exit_code) {
        print_error("exit %d: %s\n", result.exit_code, text_string(&result.output));
    }
    assert_int_equal(result.exit_code, exit_code);
    command_says(&result.output, said);
    command_result_release(&result);
}

static void what_is_right_is_0(void **state)
{
    strict_says(state, "exit 0\n", NULL, NULL, 0, "queue           2      0         0  EMULATED_QUEUE=1");
}

static void what_is_wrong_is_1_and_says_how_to_repeat_it(void **state)
{
    strict_says(state, "[ \"$EMULATED_SEED$1\" != 5SUM ] || { echo it differs; exit 1; }\n", NULL, NULL, 1,
                "schedules-SUM: exit 1. Again: env EMULATED_SEED=5 ");
}

static void a_judge_that_dies_is_wrong(void **state)
{
    strict_says(state, "kill -SEGV $$\n", NULL, NULL, 1, "memory          0      2         0");
}

static void nothing_tried_is_3(void **state)
{
    strict_says(state, "exit 0\n", "--seconds", "0", 3, "no time for anything");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_right_is_0, build_make, build_remove),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_1_and_says_how_to_repeat_it, build_make, build_remove),
        cmocka_unit_test_setup_teardown(a_judge_that_dies_is_wrong, build_make, build_remove),
        cmocka_unit_test_setup_teardown(nothing_tried_is_3, build_make, build_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
