/* The workflows and images that are there to be copied: their lines of assay name commands and options that the program
 * has, their forms are right by whoever can tell, and no workflow on a GPU starts for somebody else's code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

static const char nightly[] = "ci/workflows/github/nightly.yml";
static const char distributions[] = "ci/workflows/github/distributions.yml"; /* which calls no assay */
static const char *const files[] = {
    nightly,
    "ci/workflows/github/pull-request.yml",
    "ci/workflows/gitlab/assay.gitlab-ci.yml",
    "ci/containers/cuda.Dockerfile",
    "ci/containers/cpu.Dockerfile",
    "docs/CI.md",
};
enum { FILE_COUNT = sizeof files / sizeof files[0] };

/* The word at *line, which is moved behind it: letters, digits and dashes. */
static size_t word_take(const char **line, char *word, size_t size)
{
    size_t length = 0;
    *line += strspn(*line, " ");
    while (isalnum((unsigned char)(*line)[length]) || (*line)[length] == '-') {
        length++;
    }
    snprintf(word, size, "%.*s", (int)length, *line);
    *line += length;
    return length;
}

/* Every "--option" between line and end is one of the command's; returns how many. */
static int options_check(const char *file, const char *command, const char *line, const char *end)
{
    const char *const words[] = {program_path(), command, "--help", NULL};
    struct command_result help = command_run(words, NULL);
    int count = 0;
    if (help.exit_code != 0) {
        fail_msg("%s: assay %s: %s", file, command, text_string(&help.error));
    }
    for (const char *dashes = strstr(line, " --"); dashes != NULL && dashes < end; dashes = strstr(dashes, " --")) {
        char option[64], row[80];
        const char *rest = dashes + 3;
        word_take(&rest, option, sizeof option);
        snprintf(row, sizeof row, "\n  --%s ", option);
        if (strstr(text_string(&help.output), row) == NULL) {
            fail_msg("%s: assay %s has no --%s", file, command, option);
        }
        dashes = rest;
        count++;
    }
    command_result_release(&help);
    return count;
}

/* The end of a command: of a line that no backslash and no line of options continues, or of its part of the line. */
static const char *command_end(const char *line)
{
    const char *end = line;
    while (*end != '\0') {
        end += strcspn(end, "\n|;&`");
        bool goes_on = *end == '\n' && (end[-1] == '\\' || strncmp(end + 1 + strspn(end + 1, " "), "--", 2) == 0);
        if (!goes_on) {
            break;
        }
        end++;
    }
    return end;
}

/* Lines that begin with assay, behind what YAML, Markdown and shells write before a command. */
static int file_check(const char *file)
{
    char *content = whole_file_read(file);
    int count = 0;
    for (const char *line = content; (line = strstr(line, "assay ")) != NULL;) {
        const char *rest = line + 6;
        char command[64];
        bool begins = line == content || strchr(" `\n", line[-1]) != NULL;
        bool is_word = begins && word_take(&rest, command, sizeof command) > 0;
        const char *const words[] = {program_path(), "help", command, NULL};
        struct command_result known = {.exit_code = -1};
        if (is_word) {
            known = command_run(words, NULL);
        }
        if (known.exit_code == 0 && strcmp(command, "help") != 0) {
            options_check(file, command, rest, command_end(rest));
            count++;
        }
        command_result_release(&known);
        line = rest;
    }
    free(content);
    return count;
}

static void their_commands_have_their_options(void **state)
{
    (void)state;
    for (int i = 0; i < FILE_COUNT; i++) {
        int count = file_check(files[i]);
        int least = strstr(files[i], "Dockerfile") != NULL ? 1 : 3;
        if (count < least) {
            fail_msg("%s: %d lines of assay were found, not %d", files[i], count, least);
        }
    }
}

static void checked(const char *tool, const char *const *words)
{
    command_needed(tool);
    struct command_result result = command_run(words, NULL);
    if (result.exit_code != 0) {
        fail_msg("%s: %s%s", tool, text_string(&result.output), text_string(&result.error));
    }
    command_result_release(&result);
}

static void actionlint_has_nothing_to_say(void **state)
{
    (void)state;
    checked("actionlint", (const char *const[]){"actionlint", files[0], files[1], distributions, NULL});
}

static void schemas_are_kept(void **state)
{
    (void)state;
    checked("check-jsonschema", (const char *const[]){"check-jsonschema", "--builtin-schema", "vendor.github-workflows",
                                                      files[0], files[1], distributions, NULL});
    checked("check-jsonschema",
            (const char *const[]){"check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", files[2], NULL});
}

static void hadolint_has_nothing_to_say(void **state)
{
    (void)state;
    checked("hadolint", (const char *const[]){"hadolint", files[3], files[4], NULL});
}

static void no_fork_comes_onto_a_gpu(void **state)
{
    (void)state;
    char *content = whole_file_read(nightly);
    assert_null(strstr(content, "pull_request"));
    assert_null(strstr(content, "push:"));
    assert_non_null(strstr(content, "github.event.repository.fork != true"));
    assert_non_null(strstr(content, "vars.ASSAY_RUNNER != ''"));
    assert_non_null(strstr(content, "cancel-in-progress: false"));
    free(content);
}

/* A gate judges the run that was just made, in an empty folder; no failure is swallowed, and no log is verbose. */
static void every_gate_knows_its_run(void **state)
{
    (void)state;
    for (int i = 0; i < FILE_COUNT; i++) {
        char *content = whole_file_read(files[i]);
        const char *lines = strcmp(files[i], "docs/CI.md") == 0 ? strstr(content, "\n## Elsewhere\n") : content;
        const char *gate = strstr(lines, "assay gate "), *emptied = strstr(lines, "rm -rf ");
        assert_null(strstr(content, "|| true"));
        assert_null(strstr(content, "--verbose"));
        if (gate != NULL) {
            assert_true(emptied != NULL && emptied < strstr(lines, "assay run "));
            assert_non_null(strstr(lines, "--started-after "));
        }
        free(content);
    }
}

/* "uses: actions/checkout@HASH # v5.1.0": a tag may be moved by whoever owns it, a commit not. */
static void actions_are_pinned_and_leave_no_credentials(void **state)
{
    (void)state;
    const char *const workflows[] = {files[0], files[1], distributions};
    for (size_t i = 0; i < sizeof workflows / sizeof workflows[0]; i++) {
        char *content = whole_file_read(workflows[i]);
        int count = 0;
        for (const char *line = content; (line = strstr(line, "uses: ")) != NULL; count++) {
            const char *hash = line + strcspn(line, "@\n"), *end = line + strcspn(line, "\n");
            const size_t length = strspn(hash + 1, "0123456789abcdef");
            if (*hash != '@' || length != 40 || strncmp(hash + 41, " # v", 4) != 0) {
                fail_msg("%s: not pinned by a commit: %.*s", workflows[i], (int)(end - line), line);
            }
            const char *next = strstr(end, "uses: "), *kept = strstr(end, "persist-credentials: false");
            if (strncmp(line + 6, "actions/checkout@", 17) == 0) {
                assert_true(kept != NULL && (next == NULL || kept < next));
            }
            line = end;
        }
        assert_in_range(count, 2, 8);
        free(content);
    }
}

/* The job that runs the suite on somebody's machine may read; the other job may write. */
static void the_job_that_writes_measures_nothing(void **state)
{
    (void)state;
    char *content = whole_file_read(nightly), *other = whole_file_read(files[1]);
    const char *write = strstr(content, ": write"), *keep = strstr(content, "\n  keep:\n");
    assert_true(write != NULL && keep != NULL && write > keep);
    assert_null(strstr(write + 1, ": write"));
    assert_null(strstr(keep, "run: assay "));
    assert_null(strstr(keep, "self-hosted"));
    assert_non_null(strstr(content, "\npermissions: {}\n"));
    assert_non_null(strstr(other, "\npermissions: {}\n"));
    assert_null(strstr(other, ": write"));
    assert_null(strstr(other, "self-hosted"));
    assert_null(strstr(other, "secrets."));
    assert_null(strstr(other, "  pull_request_target:"));
    /* Words of a person are given to a shell as they stand by the environment alone. */
    for (const char *line = content; (line = strstr(line, "${{ inputs.")) != NULL; line++) {
        const char *start = line;
        while (start[-1] != '\n') {
            start--;
        }
        assert_int_equal(strncmp(start, "          ACCEPT: ", 18), 0);
    }
    free(other);
    free(content);
}

static void zizmor_has_nothing_to_say(void **state)
{
    (void)state;
    checked("zizmor", (const char *const[]){"zizmor", "--offline", files[0], files[1], distributions, NULL});
}

static void shellcheck_has_nothing_to_say_of_their_shell(void **state)
{
    (void)state;
    command_needed("shellcheck");
    static const char script[] =
        "set -e; cd \"$1\"; for file in ci/workflows/github/*.yml; do sed -n 's/^      - name: //p' $file | "
        "while IFS= read -r step; do awk -v step=\"$step\" -f tests/ci/night_step.awk $file >\"$2/step\" || continue; "
        "shellcheck -s bash -e SC2016,SC2153 \"$2/step\"; done; done; for job in assay-night assay-merge-request; do "
        "awk -v job=$job "
        "-f tests/ci/gitlab_script.awk ci/workflows/gitlab/assay.gitlab-ci.yml >\"$2/step\"; shellcheck -s sh -e "
        "SC2153 \"$2/step\"; done";
    char folder[] = "/tmp/assay-shell-XXXXXX";
    assert_non_null(mkdtemp(folder));
    checked("bash", (const char *const[]){"bash", "-c", script, "bash", ".", folder, NULL});
    assert_int_equal(scratch_folder_remove(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(their_commands_have_their_options),
        cmocka_unit_test(actionlint_has_nothing_to_say),
        cmocka_unit_test(schemas_are_kept),
        cmocka_unit_test(hadolint_has_nothing_to_say),
        cmocka_unit_test(no_fork_comes_onto_a_gpu),
        cmocka_unit_test(every_gate_knows_its_run),
        cmocka_unit_test(actions_are_pinned_and_leave_no_credentials),
        cmocka_unit_test(the_job_that_writes_measures_nothing),
        cmocka_unit_test(zizmor_has_nothing_to_say),
        cmocka_unit_test(shellcheck_has_nothing_to_say_of_their_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
