/* The scripts of ci/ print the same with every awk that is here: mawk, gawk, the one of Kernighan, busybox. They differ
 * in what a backslash comes to in a replacement, in braces within patterns, and in what printf takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* Runs a command with each awk in turn as `awk`, $1 a folder of its own, and holds what it prints. */
static void expect(const char *command, const char *expected)
{
    static const char *const awks[] = {"mawk", "gawk", "original-awk", "busybox awk"};
    static const char script[] = "command -v ${2%% *} >/dev/null || exit 77\n"
                                 "printf '#!/bin/sh\nexec %s \"$@\"\n' \"$2\" >\"$1/awk\"; chmod +x \"$1/awk\"\n"
                                 "PATH=$1:$PATH; export PATH; eval \"$3\" 2>&1";
    int tried_count = 0;
    for (size_t i = 0; i < sizeof awks / sizeof awks[0]; i++) {
        char folder[] = "/tmp/assay-awk-XXXXXX";
        assert_non_null(mkdtemp(folder));
        const char *const words[] = {"sh", "-c", script, "sh", folder, awks[i], command, NULL};
        struct command_result result = command_run(words, NULL);
        bool is_here = result.exit_code != 77;
        tried_count += is_here ? 1 : 0;
        if (is_here && strcmp(text_string(&result.output), expected) != 0) {
            fail_msg("with %s: %s%s", awks[i], text_string(&result.output), text_string(&result.error));
        }
        command_result_release(&result);
        assert_int_equal(scratch_folder_remove(folder), 0);
    }
    if (tried_count == 0) {
        skip();
    }
}

static void a_bar_in_a_cell_stays_escaped(void **state)
{
    (void)state;
    expect(
        "printf '%s\n' 'no row' '| | estimator | median \\|error\\| ± | b |' '|--:|---|' '| 1 | a\\\\b | c \\* | 4 |' |"
        " awk -v columns=3 -f ci/table-columns.awk",
        "| | estimator | median \\|error\\| ± |\n|--:|---|\n| 1 | a\\\\b | c \\* |\n");
}

static void a_long_function_is_found(void **state)
{
    (void)state;
    expect("mkdir \"$1/harness\"; { echo '/* A. */'; echo 'int f(void)'; echo '{'; yes ';' | head -n 68; echo '}'; }"
           " >\"$1/harness/a.c\"; ci/check-lengths.sh \"$1\"",
           "harness/a.c:72: a function of 71 lines ends here; 69 are the most\n");
}

static void the_table_of_the_parts_is_folded(void **state)
{
    (void)state;
    expect("printf 'all\tbuild\tok\t0\t1.5\t77\tone two three\n' >\"$1/timing.tsv\"; out=$1; . ci/gpu-summary.sh;"
           " parts_table 40; parts_table 70",
           "      part         seconds  limit\nok    build            1.5     77\n  one two three\n"
           "      part         seconds  limit  remark\nok    build            1.5     77  one two three\n");
}

static void the_accuracy_is_read_off_a_report(void **state)
{
    (void)state;
    expect("echo x >\"$1/records.jsonl\"; mkdir \"$1/build\"; out=$1 build=$1/build scratch=$1; . ci/gpu-summary.sh;"
           " printf '#!/bin/sh\necho \"| replay | allocated peak | 99 | +0.00 %% | -1.00 %% | gpt2 |\"\n' "
           ">\"$1/build/assay\";"
           " chmod +x \"$1/build/assay\"; accuracy_make; cat \"$1/accuracy\"",
           "allocated peak      99 cases, median +0.00 %, worst -1.00 %: gpt2\n");
}

static void a_circle_of_calls_is_found(void **state)
{
    (void)state;
    expect("printf '%s\n' 'has x/a.c a' 'has x/b.c b' 'has x/c.c c' 'uses x/a.c b' 'uses x/b.c c' 'uses x/c.c a'"
           " 'uses x/c.c b' 'uses x/a.c d' | awk -v counting=0 -f ci/check-circles.awk",
           "x/a.c:1: a circle of calls: x/a.c -> x/b.c (b) -> x/c.c (c) -> x/a.c (a); move what both sides need into a "
           "file that knows neither\n");
}

static void a_mutant_is_one_thing_less(void **state)
{
    (void)state;
    expect("mkdir \"$1/m\"; from=$PWD; cd \"$1/m\";"
           " printf '%s\\n' '    if (row < rows && column < 3) {' '    __syncthreads();' '    sum();'"
           " '    if (count > 0) {' '    if (__syncthreads_or(match) == 0) {' >launch_a.cu;"
           " for choices in 0 1; do awk -v first=7 -v choices=$choices -f \"$from/ci/mutants.awk\" launch_a.cu; done",
           "bound\tlaunch_a.cu\t1\t1.1\tif (row < rows && column < 3) {\t7\n"
           "bound\tlaunch_a.cu\t1\t1.2\tif (row < rows && column < 3) {\t8\n"
           "barrier\tlaunch_a.cu\t2\t1.1\t__syncthreads();\t9\n"
           "bound\tlaunch_a.cu\t4\t1.1\tif (count > 0) {\t10\n"
           "bound\tlaunch_a.cu\t4\t1.2\tif (count > 0) {\t11\n"
           "barrier\tlaunch_a.cu\t5\t1.1\tif (__syncthreads_or(match) == 0) {\t12\n"
           "    if (mutant_decides(7, row < rows, true) && mutant_decides(8, column < 3, true)) {\n"
           "    { if (!mutant_lacks(9)) __syncthreads(); }\n"
           "    sum();\n"
           "    if (mutant_decides(11, mutant_decides(10, count > 0, false), true)) {\n"
           "    if (mutant___syncthreads_or(12, match) == 0) {\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bar_in_a_cell_stays_escaped),     cmocka_unit_test(a_long_function_is_found),
        cmocka_unit_test(the_table_of_the_parts_is_folded),  cmocka_unit_test(a_circle_of_calls_is_found),
        cmocka_unit_test(the_accuracy_is_read_off_a_report), cmocka_unit_test(a_mutant_is_one_thing_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
