/* The manual pages: their language, that they have every option, that what they say of variables is what the sources
 * read, and that their examples run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/exit_code.h"
#include "harness/base/text.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

/* Runs a line of sh with $1 the program and $2 the folder of the scene. */
static struct command_result line_run(const char *line, const char *folder)
{
    char *program = realpath(program_path(), NULL);
    const char *const words[] = {"sh", "-c", line, "sh", program, folder, NULL};
    struct command_result result = command_run(words, NULL);
    free(program);
    return result;
}

static void pages_write(const char *folder)
{
    struct command_result result = line_run("\"$1\" man --to \"$2/man\"", folder);
    assert_string_equal(text_string(&result.error), "");
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static void nothing_is_said(struct command_result result)
{
    assert_string_equal(text_string(&result.output), "");
    assert_string_equal(text_string(&result.error), "");
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static void mandoc_has_nothing_to_say(void **state)
{
    const struct scratch_scene *scene = *state;
    command_needed("mandoc");
    pages_write(scene->folder);
    nothing_is_said(line_run("mandoc -Tlint \"$2\"/man/*.1", scene->folder));
}

static void groff_has_nothing_to_say(void **state)
{
    const struct scratch_scene *scene = *state;
    command_needed("groff");
    pages_write(scene->folder);
    nothing_is_said(
        line_run("for page in \"$2\"/man/*.1; do groff -ww -man -Tutf8 -z \"$page\" || exit 1; done", scene->folder));
}

/* "--on GPU" of a help as it stands in a page: dashes that can be copied. */
static void escaped(const char *name, size_t length, struct text *text)
{
    text_append(text, "\\fB");
    for (size_t i = 0; i < length; i++) {
        text_append_bytes(text, name[i] == '-' ? "\\-" : name + i, name[i] == '-' ? 2 : 1);
    }
    text_append(text, "\\fR");
}

static void page_has_the_options(const char *folder, const char *command)
{
    char path[256];
    snprintf(path, sizeof path, "%s/man/assay-%s.1", folder, command);
    char *page = whole_file_read(path);
    const char *const words[] = {program_path(), command, "--help", NULL};
    struct command_result help = command_run(words, NULL);
    int count = 0;
    for (const char *line = strstr(text_string(&help.output), "\n  --"); line != NULL; line = strstr(line, "\n  --")) {
        struct text name = {0};
        line += 3;
        escaped(line, strcspn(line, " \n"), &name);
        if (strstr(page, text_string(&name)) == NULL) {
            fail_msg("assay-%s.1 does not have %s", command, text_string(&name));
        }
        text_release(&name);
        count++;
    }
    assert_true(count > 0);
    free(page);
    command_result_release(&help);
}

static void every_command_has_a_page_with_every_option(void **state)
{
    const struct scratch_scene *scene = *state;
    pages_write(scene->folder);
    struct command_result result =
        line_run("\"$1\" --help | sed -n 's/^  \\([a-z][a-z]*\\) .*/\\1/p' | grep -v '^assay$'", scene->folder);
    int count = 0;
    char *rest = result.output.data, *command;
    while ((command = strsep(&rest, "\n")) != NULL && *command != '\0') {
        page_has_the_options(scene->folder, command);
        count++;
    }
    assert_true(count > 25);
    command_result_release(&result);
}

/* The names between two headings of assay.1. */
static void page_variables_are(const char *expected)
{
    const char *const words[] = {program_path(), "man", NULL};
    struct command_result result = command_run(words, NULL);
    struct text names = {0};
    const char *line = strstr(text_string(&result.output), ".SH ENVIRONMENT\n");
    const char *end = strstr(text_string(&result.output), ".SH FILES\n");
    assert_true(line != NULL && end != NULL);
    const char *const sorted[] = {"sh", "-c", "printf %s \"$1\" | LC_ALL=C sort -u", "sh", NULL, NULL};
    const char *all[6];
    for (; (line = strstr(line, ".TP\n\\fB")) != NULL && line < end; line++) {
        text_format(&names, "%.*s\n", (int)strcspn(line + 7, "\\"), line + 7);
    }
    memcpy(all, sorted, sizeof sorted);
    all[4] = text_string(&names);
    struct command_result found = command_run(all, NULL);
    if (strcmp(text_string(&found.output), expected) != 0) {
        fail_msg("harness/cli/surroundings.c has\n%sbut the sources read\n%s", text_string(&found.output), expected);
    }
    command_result_release(&found);
    text_release(&names);
    command_result_release(&result);
}

/* Literals that are handed to getenv and its kin, and the lists of hub_settings.c, which hands them on. */
static void variables_are_those_that_the_sources_read(void **state)
{
    (void)state;
    struct command_result result = line_run(
        "{ grep -rhoE '(getenv|variable|seconds_read)\\(\"[A-Z0-9_]+\"' harness models --include='*.[ch]' "
        "--include='*.cu'; grep -hoE '\"(HF|HUGGING_?FACE|TRANSFORMERS)_[A-Z_]+\"' harness/hub/hub_settings.c; } | "
        "sed 's/[^\"]*\"//; s/\"//' | LC_ALL=C sort -u",
        "");
    assert_int_equal(result.exit_code, 0);
    page_variables_are(text_string(&result.output));
    command_result_release(&result);
}

/* A call with a name that is no literal would get past the test above. */
static void names_of_variables_are_literals(void **state)
{
    (void)state;
    struct command_result result =
        line_run("grep -rnE 'getenv\\([^\")]' harness models --include='*.[ch]' --include='*.cu' | sed 's/:.*//' | "
                 "LC_ALL=C sort -u",
                 "");
    assert_string_equal(text_string(&result.output), "harness/hub/hub_settings.c\nharness/run/run_variables.c\n");
    command_result_release(&result);
}

/* A line of a page as it was before it was written for roff. */
static void escapes_remove(const char *line, char *plain, size_t size)
{
    size_t length = 0;
    for (const char *byte = line; *byte != '\0' && length + 1 < size; byte++) {
        bool is_quote = strncmp(byte, "\\(aq", 4) == 0;
        byte += is_quote ? 3 : *byte == '\\' ? 1 : 0;
        plain[length++] = is_quote ? '\'' : *byte;
    }
    plain[length] = '\0';
}

/* The lines of EXAMPLES of assay.1, in their order. */
static void examples_run(void **state)
{
    const struct scratch_scene *scene = *state;
    command_needed("bash");
    struct command_result made = line_run("mkdir \"$2/bin\" \"$2/work\" && ln -s \"$1\" \"$2/bin/assay\" && "
                                          "cp tests/memory/vectors/record-snapshot.json \"$2/work/snapshot.json\"",
                                          scene->folder);
    nothing_is_said(made);
    struct command_result page = line_run("\"$1\" man", scene->folder);
    int count = 0;
    char *line = strstr(page.output.data, ".SH EXAMPLES\n");
    assert_non_null(line);
    while ((line = strstr(line, "\n.nf\n")) != NULL) {
        line += 5;
        char *end = strstr(line, "\n.fi\n");
        *end = '\0';
        char plain[512];
        escapes_remove(line, plain, sizeof plain);
        const char *const words[] = {
            "bash", "-c", "cd \"$1/work\" && PATH=$1/bin:$PATH && eval \"$2\"", "bash", scene->folder, plain, NULL};
        struct command_result result = command_run(words, NULL);
        bool gpu_is_missing = strstr(plain, "cuda:") != NULL && result.exit_code == 77;
        if (result.exit_code != 0 && !gpu_is_missing) {
            fail_msg("%s: exit code %d: %s", plain, result.exit_code, text_string(&result.error));
        }
        command_result_release(&result);
        line = end + 1;
        count++;
    }
    assert_true(count > 25);
    command_result_release(&page);
}

static void wrong_words_are_refused(void **state)
{
    (void)state;
    const char *const unknown[] = {program_path(), "man", "nothing", NULL};
    command_refused(command_run(unknown, NULL), "man: there is no command 'nothing'; assay --help lists them");
    const char *const both[] = {program_path(), "man", "run", "--to", "x", NULL};
    command_refused(command_run(both, NULL), "man: --to writes all pages; leave 'run' or --to out");
    const char *const closed[] = {program_path(), "man", "--to", "/proc/none", NULL};
    command_refused(command_run(closed, NULL), "/proc/none");
}

/* Somebody who has read one of the pages knows every exit code that there is, and finds no other. */
static void readme_and_help_have_every_exit_code(void **state)
{
#define CODE_NUMBER(name, number, what) number,
    static const int numbers[] = {EXIT_CODE_TABLE(CODE_NUMBER)};
#undef CODE_NUMBER
    struct command_result readme = command_run(
        (const char *const[]){"sed", "-n", "/^| exit code | meaning/,/^$/s/^| \\([0-9][0-9]*\\) | [a-z].*/\\1/p",
                              "README.md", NULL},
        NULL);
    struct command_result help = command_run(
        (const char *const[]){"sh", "-c",
                              "\"$0\" --help | sed -n '/^exit codes:/,$s/^ *\\([0-9][0-9]*\\)  [a-z].*/\\1/p'",
                              program_path(), NULL},
        NULL);
    struct text wanted = {0};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        text_format(&wanted, "%d\n", numbers[i]);
    }
    assert_string_equal(text_string(&readme.output), text_string(&wanted));
    assert_string_equal(text_string(&help.output), text_string(&wanted));
    text_release(&wanted);
    command_result_release(&help);
    command_result_release(&readme);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readme_and_help_have_every_exit_code),
        cmocka_unit_test_setup_teardown(mandoc_has_nothing_to_say, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(groff_has_nothing_to_say, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(every_command_has_a_page_with_every_option, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test(variables_are_those_that_the_sources_read),
        cmocka_unit_test(names_of_variables_are_literals),
        cmocka_unit_test_setup_teardown(examples_run, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test(wrong_words_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
