/* What surrounds the program when it is started, and must not change what it does: the current folder, the folders
 * above the executable, standard descriptors that are closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/record/record.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

struct place {
    char folder[64];
    char program[PATH_MAX];
};

static const char suite[] = "version: 1\nname: one\ncases:\n  - {model: tiny-gpt2, mode: load}\n";

static void file_write(const struct place *place, const char *name, const char *content)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", place->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    assert_int_equal(fclose(file), 0);
}

static int place_make(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    snprintf(place->folder, sizeof place->folder, "/tmp/assay-place-XXXXXX");
    if (mkdtemp(place->folder) == NULL || realpath(program_path(), place->program) == NULL) {
        return 1;
    }
    file_write(place, "one.yaml", suite);
    *state = place;
    return 0;
}

static int place_remove(void **state)
{
    struct place *place = *state;
    int code = scratch_folder_remove(place->folder);
    free(place);
    return code;
}

/* A line of shell in the place; "$1" is the program. environment: one setting more, or NULL. */
static struct command_result shell_run(const struct place *place, const char *line, const char *environment)
{
    char command[1024];
    snprintf(command, sizeof command, "cd '%s' && %s", place->folder, line);
    const char *const words[] = {"sh", "-c", command, "sh", place->program, NULL};
    const char *const settings[] = {environment, NULL};
    return command_run(words, settings);
}

static void expect_shell(const struct place *place, const char *line, int exit_code)
{
    struct command_result result = shell_run(place, line, NULL);
    if (result.exit_code != exit_code) {
        print_error("%s: exit %d: %s%s\n", line, result.exit_code, text_string(&result.output),
                    text_string(&result.error));
    }
    assert_int_equal(result.exit_code, exit_code);
    command_result_release(&result);
}

static bool is_there(const struct place *place, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", place->folder, name);
    return access(path, F_OK) == 0;
}

/* A folder that somebody sent, with scripts in it that gnuplot would run, and a catalogue without models. */
static void nothing_is_taken_from_the_current_folder(void **state)
{
    const struct place *place = *state;
    command_needed("gnuplot");
    expect_shell(place,
                 "mkdir plots && for name in accuracy anatomy timeline; do "
                 "echo 'system(\"touch pwned\")' >plots/$name.gp; done; mkdir -p models/catalogue",
                 0);
    expect_shell(place, "\"$1\" run one.yaml --device host --out . --records-only", 0);
    expect_shell(place, "\"$1\" report . --format html --plots drawn --output page.html", 0);
    assert_false(is_there(place, "pwned"));
    assert_true(is_there(place, "drawn/accuracy.svg"));
    expect_shell(place, "\"$1\" estimate tiny-gpt2", 0);
    expect_shell(place, "\"$1\" plan suites/selftest.yaml", 0); /* not here: the one that comes with the program */
    expect_shell(place,
                 "mkdir suites && cp one.yaml suites/selftest.yaml && \"$1\" plan suites/selftest.yaml >plan && "
                 "grep -q '^1 case\\|1 case' plan",
                 0); /* named by the user */
}

/* A copy of the program in a folder of its own, as in /tmp: what lies above it may be anybody's. */
static void nothing_is_taken_from_folders_above_the_program(void **state)
{
    const struct place *place = *state;
    expect_shell(place, "mkdir -p a/b plots a/plots models/catalogue a/models/catalogue && cp \"$1\" a/b/assay", 0);
    expect_shell(place, "for folder in . a; do echo 'no library' >$folder/libassay_cuda.so; done", 0);
    struct command_result result = shell_run(place, "ASSAY_PLUGIN_DIR= a/b/assay run one.yaml --device cuda:0", NULL);
    assert_int_not_equal(result.exit_code, 0);
    assert_null(strstr(text_string(&result.error), "cannot be loaded"));
    command_result_release(&result);
    char repository[PATH_MAX], setting[PATH_MAX + 32];
    assert_non_null(getcwd(repository, sizeof repository));
    snprintf(setting, sizeof setting, "ASSAY_DATA_DIR=%s", repository);
    result = shell_run(place, "a/b/assay estimate tiny-gpt2", setting);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

#define FAILING                                                                                                        \
    "printf '%s\\n' 'version: 1' 'name: failing' 'cases:' '  - {model: tiny-gpt2, mode: load, expect: "                \
    "{allocated_bytes_peak: 1B}}' >failing.yaml; "

/* A verdict that failed is not hidden behind what could not be written of it. */
static void a_failure_keeps_its_exit_code_on_a_full_disk(void **state)
{
    const struct place *place = *state;
    struct command_result result =
        shell_run(place, FAILING "\"$1\" run failing.yaml --device host --out kept --records-only >/dev/full", NULL);
    assert_int_equal(result.exit_code, 1);
    assert_non_null(strstr(text_string(&result.error),
                           "assay: run: the result could not be written to standard output: No space left on device\n"
                           "assay: run: exit code 1: FAIL: "));
    command_result_release(&result);
}

/* Asked to end while the plots are drawn: what was measured is reported, and the exit code is the run's. */
static void a_signal_while_plots_are_drawn_costs_no_report(void **state)
{
    const struct place *place = *state;
    script_write(place->folder, "gnuplot", ": >\"${0%/*}/plotting\"; sleep 0.3; exit 1");
    struct command_result result =
        shell_run(place,
                  FAILING "PATH=\"$PWD:$PATH\"; \"$1\" run failing.yaml --device host --out kept --quiet & pid=$!; "
                          "while [ ! -e plotting ]; do sleep 0.01; done; kill -TERM $pid; wait $pid",
                  NULL);
    assert_int_equal(result.exit_code, 1);
    assert_non_null(strstr(text_string(&result.error), "assay: run: exit code 1: FAIL: "));
    assert_true(is_there(place, "kept/report.html") && is_there(place, "kept/report.md"));
    command_result_release(&result);
}

/* The pages are of the folder, the exit code is of the run: where they differ it is said. */
static void what_a_folder_comes_to_is_told_where_it_differs(void **state)
{
    const struct place *place = *state;
    expect_shell(place, FAILING "\"$1\" run failing.yaml --device host --out kept --records-only", 1);
    struct command_result result = shell_run(
        place,
        "printf '%s\\n' 'version: 1' 'name: failing' 'cases:' '  - {model: tiny-bert, mode: load}' >failing.yaml; "
        "\"$1\" run failing.yaml --device host --out kept --records-only --quiet",
        NULL);
    assert_int_equal(result.exit_code, 0);
    assert_non_null(
        strstr(text_string(&result.error),
               "assay: run: this run comes to exit code 0; with cases of earlier runs in kept, which its pages "
               "show too, it is 1: FAIL: "));
    command_result_release(&result);
}

static void descriptors_that_are_closed_cost_no_record(void **state)
{
    const struct place *place = *state;
    static const char *const closings[] = {"<&- 2>&-", "2>&-", "<&- >/dev/null 2>&-", "<&-"};
    enum { CLOSING_COUNT = sizeof closings / sizeof closings[0] };
    char line[256], out[128];
    for (int i = 0; i < CLOSING_COUNT; i++) {
        snprintf(line, sizeof line, "\"$1\" run one.yaml --device host --out kept %s", closings[i]);
        expect_shell(place, line, 0);
    }
    snprintf(out, sizeof out, "%s/kept", place->folder);
    struct record_file file = {0};
    struct status error = {0};
    assert_int_equal(record_file_read(out, &file, &error), STATUS_OK);
    assert_int_equal(file.run_count, CLOSING_COUNT);
    assert_int_equal(file.damaged_line_count, 0);
    record_file_release(&file);
    expect_shell(place, "\"$1\" report kept >&-", 2); /* what was asked for cannot be written: told, not passed over */
}

/* Who reads the progress, or the beginning of it, does not decide what is measured. */
static void a_reader_who_goes_away_costs_no_case(void **state)
{
    const struct place *place = *state;
    expect_shell(
        place,
        "printf '%s\\n' 'version: 1' 'name: two' 'cases:' '  - {model: [tiny-gpt2, tiny-bert], mode: load}' >two.yaml",
        0);
    expect_shell(place, "{ \"$1\" run two.yaml --device host --out kept 2>&1; echo $? >code; } | head -n 1 >first", 0);
    expect_shell(place, "grep -qx 0 code && [ -s first ]", 0);
    expect_shell(
        place,
        "[ $(grep -c '\"type\": \"case\"' kept/records.jsonl) = 2 ] && grep -q '\"type\": \"end\"' kept/records.jsonl",
        0);
    expect_shell(place, "[ -s kept/report.html ] && [ -s kept/report.md ]", 0);
}

/* Told before anything is measured; a limit that may be raised is. */
static void too_few_descriptors_are_told(void **state)
{
    const struct place *place = *state;
    struct command_result result = shell_run(place, "ulimit -n 8; \"$1\" run one.yaml --device host --out kept", NULL);
    assert_int_equal(result.exit_code, 2);
    assert_string_equal(text_string(&result.error),
                        "assay: 1 jobs at a time need 66 open files, and ulimit -n allows 8; raise it\n");
    command_result_release(&result);
    assert_false(is_there(place, "kept"));
    expect_shell(place, "ulimit -Sn 8; \"$1\" run one.yaml --device host --out kept --records-only", 0);
}

/* A limit on the size of files is told as a full disk is; what is finished stays readable. */
/* As under a supervisor that does not care when its children end. */
static void an_ignored_end_of_children_costs_no_case(void **state)
{
    expect_shell(*state, "trap '' CHLD; exec \"$1\" run one.yaml --device host --out out --records-only --quiet", 0);
}

static void a_file_that_may_not_grow_is_told(void **state)
{
    const struct place *place = *state;
    struct command_result result =
        shell_run(place, "ulimit -f 8 && \"$1\" run one.yaml --device host --out kept --records-only", NULL);
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error), "kept/records.jsonl: cannot be written (what is in it stays "
                                                       "readable): File too large"));
    command_result_release(&result);
    expect_shell(place, "\"$1\" report kept", 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_taken_from_the_current_folder, place_make, place_remove),
        cmocka_unit_test_setup_teardown(nothing_is_taken_from_folders_above_the_program, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_reader_who_goes_away_costs_no_case, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_failure_keeps_its_exit_code_on_a_full_disk, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_signal_while_plots_are_drawn_costs_no_report, place_make, place_remove),
        cmocka_unit_test_setup_teardown(what_a_folder_comes_to_is_told_where_it_differs, place_make, place_remove),
        cmocka_unit_test_setup_teardown(too_few_descriptors_are_told, place_make, place_remove),
        cmocka_unit_test_setup_teardown(an_ignored_end_of_children_costs_no_case, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_file_that_may_not_grow_is_told, place_make, place_remove),
        cmocka_unit_test_setup_teardown(descriptors_that_are_closed_cost_no_record, place_make, place_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
