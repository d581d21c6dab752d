/* assay compare as its callers see it: what is read first, exit codes, formats, and which cases a terminal lists. The
 * nights are the reference records and copies of them with another kernel, or more bytes in every reading of the
 * process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/report/report.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

static char folder[] = "/tmp/assay-compare-XXXXXX";
static char kernel[64], grown[64]; /* below the folder */

#define BASE "results/reference/host-intel-r-xeon-r-processor/records.jsonl"

/* Writes a copy of BASE that sed has gone over. */
static void copy_make(const char *path, const char *first, const char *second)
{
    char command[512];
    snprintf(command, sizeof command, "sed -E -e '%s' -e '%s' " BASE " >%s", first, second, path);
    const char *const words[] = {"sh", "-c", command, NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static int copies_make(void **state)
{
    static const char other_kernel[] = "s/\"kernel\": \"[^\"]*\"/\"kernel\": \"9.99\"/";
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(kernel, sizeof kernel, "%s/kernel.jsonl", folder);
    snprintf(grown, sizeof grown, "%s/grown.jsonl", folder);
    copy_make(kernel, other_kernel, "");
    copy_make(grown, other_kernel, "s/\"(process_bytes|process_bytes_peak)\": ([0-9])/\"\\1\": 1\\2/g");
    return 0;
}

static int copies_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

/* Compares BASE with another file; option and value may be NULL. The parts stand in what it prints in this order. */
static void compare_check(const char *other, const char *option, const char *value, int exit_code,
                          const char *const *parts)
{
    const char *const words[] = {program_path(), "compare", BASE, other, option, value, NULL};
    struct command_result result = command_run(words, NULL);
    const char *said = text_string(exit_code == 2 ? &result.error : &result.output);
    const char *rest = said;
    for (; *parts != NULL; parts++) {
        const char *found = strstr(rest, *parts);
        if (found == NULL) {
            fail_msg("'%s' is not there, or not in its place:\n%s", *parts, said);
        } else {
            rest = found + strlen(*parts);
        }
    }
    assert_int_equal(result.exit_code, exit_code);
    assert_int_equal(result.output.length > 0, exit_code != 2);
    command_result_release(&result);
}

static void the_environment_is_read_before_the_cases(void **state)
{
    (void)state;
    compare_check(BASE, NULL, NULL, 0,
                  (const char *const[]){"environment: no difference is recorded", "same     ",
                                        "GO: no figure is beyond its tolerance\n", NULL});
    compare_check(kernel, NULL, NULL, 0,
                  (const char *const[]){"environment: 1 difference", "kernel of the host ", " -> Linux 9.99",
                                        "same     ", "the environment differs in kernel of the host\n", NULL});
    compare_check(grown, NULL, NULL, 1,
                  (const char *const[]){"environment: 1 difference", "kernel of the host ", "changed  ", "beyond",
                                        "NO-GO: process beyond 4.00 MiB in ", NULL});
    compare_check(grown, "--tolerance", "process=none", 0, (const char *const[]){"process: not judged", NULL});
    compare_check(grown, "--within", "0%", 0, (const char *const[]){"0 allocated peaks beyond 0 %", NULL});
}

static void wrong_options_say_what_would_be_right(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value, *says;
    } rows[] = {
        {"--tolerance", "proces=1%", "assay: compare: --tolerance: 'proces' is not a level; the levels are requested"},
        {"--tolerance", "process", "write LEVEL=TOLERANCE, as device=4MiB,process=2%"},
        {"--format", "csv",
         "assay: compare: --format: 'csv' is not a format of a comparison; use table, md, json, html"},
        {"--only-changed=maybe", NULL, "assay: compare: --only-changed: 'maybe' is not known; write true or false"},
        {"--json", "--format=md", "assay: compare: --json is --format json; leave --format md out"},
        {"--within=1%", "--tolerance=process=1%", "give one of them"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        compare_check(BASE, rows[i].option, rows[i].value, 2, (const char *const[]){rows[i].says, NULL});
    }
}

static void a_document_is_one_and_whole(void **state)
{
    (void)state;
    const char *const words[] = {program_path(), "compare", BASE, grown, "--json", NULL};
    struct command_result result = command_run(words, NULL);
    struct json *document = NULL;
    assert_int_equal(result.exit_code, 1);
    assert_int_equal(json_parse_text("output", text_string(&result.output), result.output.length, &document, NULL),
                     STATUS_OK);
    size_t count = json_count(json_get(document, "cases"));
    assert_true(count > 10);
    assert_int_equal(json_integer_or(json_get(json_get(document, "counts"), "changed"), -1), count);
    json_release(document);
    command_result_release(&result);
}

/* The formats of the help are those that are taken, and each shows the comparison. */
static void the_formats_of_the_help_are_taken(void **state)
{
    (void)state;
    static const struct {
        const char *name, *says;
    } rows[] = {{"table", "NO-GO: process beyond"},
                {"md", "# Comparison of two results"},
                {"html", "<h1>Comparison of two results</h1>"},
                {"latex", "\\section*{Comparison of two results}"},
                {"json", "\"outcome\": \"NO-GO\""}};
    struct command_result help = command_named("compare", (const char *[]){"--help", NULL});
    assert_non_null(strstr(text_string(&help.output), " " REPORT_PAGE_HELP "\n"));
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        compare_check(grown, "--format", rows[at].name, 1, (const char *const[]){rows[at].says, NULL});
    }
    command_result_release(&help);
}

/* At no width a figure beyond its tolerance looks like the others. */
static void a_mark_is_there_at_every_width(void **state)
{
    static const char *const widths[] = {"40", "52", "60", "71", "72", "76", "79", "80", "120"};
    (void)state;
    for (size_t at = 0; at < sizeof widths / sizeof widths[0]; at++) {
        assert_int_equal(setenv("COLUMNS", widths[at], 1), 0);
        const char *const words[] = {program_path(), "compare", BASE, grown, NULL};
        struct command_result result = command_run(words, NULL);
        const char *figure = strstr(text_string(&result.output), "process peak");
        const char *end = figure != NULL ? strstr(figure, "context process") : NULL;
        const char *mark = figure != NULL ? strstr(figure, "beyond\n") : NULL;
        if (end == NULL || mark == NULL || mark > end) {
            fail_msg("%s columns: no mark in\n%s", widths[at], text_string(&result.output));
        }
        command_result_release(&result);
    }
    unsetenv("COLUMNS");
}

/* Who looks at a terminal is told how many cases are the same; who reads a pipe gets them all, unless they ask not
 * to. */
static void a_terminal_lists_what_changed(void **state)
{
    char command[256];
    (void)state;
    command_needed("script");
    snprintf(command, sizeof command, "%s compare " BASE " %s", program_path(), kernel);
    const char *const words[] = {"script", "-qec", command, "/dev/null", NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 0);
    assert_null(strstr(text_string(&result.output), "same     "));
    assert_non_null(strstr(text_string(&result.output), "without a change are not listed"));
    command_result_release(&result);
    compare_check(
        kernel, "--only-changed", NULL, 0,
        (const char *const[]){"cases without a change are not listed (--only-changed false lists them)", NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_is_read_before_the_cases),
        cmocka_unit_test(wrong_options_say_what_would_be_right),
        cmocka_unit_test(a_document_is_one_and_whole),
        cmocka_unit_test(the_formats_of_the_help_are_taken),
        cmocka_unit_test(a_mark_is_there_at_every_width),
        cmocka_unit_test(a_terminal_lists_what_changed),
    };
    return cmocka_run_group_tests(tests, copies_make, copies_remove);
}
