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
    snprintf(path, sizeof path, "%s/tests/strict", root);
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
    snprintf(folder, sizeof folder, "%s/tests/strict", (const char *)*state);
    script_write(folder, "strict", judge);
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
    strict_says(state, "echo 12 trials\n", NULL, NULL, 0, "memory          2      0         0       24 ");
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

static void small_tensors_are_enough_for_an_order(void **state)
{
    strict_says(state, "[ \"$1 $2 $EMULATED_QUEUE$EMULATED_SEED\" != '--elements 4096 1' ]\n", NULL, NULL, 1,
                "queue           0      2         0 ");
}

/* Of twelve tries, two operations in each of six modes, or of ten. */
static void a_share_is_a_part_of_the_tries(void **state)
{
    strict_says(state, "echo 12 trials\n", "--share", "2/2", 0, "memory          1      0         0       12 ");
}

static void a_program_is_run_in_the_modes_of_programs(void **state)
{
    char folder[64];
    snprintf(folder, sizeof folder, "%s/tests/strict", (const char *)*state);
    script_write(folder, "strict", "exit 9\n"); /* no operation is named */
    snprintf(folder, sizeof folder, "%s/tests/cuda_emulation", (const char *)*state);
    mkdir(folder, 0700);
    script_write(folder, "test_emulated_order", "[ -n \"$EMULATED_ARENA\" ] || exit 0; echo fault; exit 1\n");
    const char *words[] = {"ci/strict.sh", "--seed", "4", *state, "test_emulated_order", NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 1);
    command_says(&result.output, "arena-test_emulated_order: exit 1. Again: env EMULATED_ARENA=1 ");
    command_says(&result.output, "order           1      0         0 ");
    command_result_release(&result);
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
        cmocka_unit_test_setup_teardown(small_tensors_are_enough_for_an_order, build_make, build_remove),
        cmocka_unit_test_setup_teardown(a_share_is_a_part_of_the_tries, build_make, build_remove),
        cmocka_unit_test_setup_teardown(a_program_is_run_in_the_modes_of_programs, build_make, build_remove),
        cmocka_unit_test_setup_teardown(nothing_tried_is_3, build_make, build_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
