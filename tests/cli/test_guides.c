/* The guides of docs/guides: every command in them is run, in their order, each guide in a folder of its own, and what
 * it prints must be what the guide shows. A block of ```console has the commands behind "$ ", those that go on in
 * another line behind "> ", and what they print, on both streams, below them. Three dots in a line stand for anything
 * in that line; a line [...] for any lines. ASSAY_GUIDES=print shows what was printed instead of comparing it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/text.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

#define GUIDES "docs/guides"

enum { NAME_BYTES = 256, COMMANDS_LEAST = 4 };

static size_t line_length(const char *line)
{
    return strcspn(line, "\n");
}

static const char *line_next(const char *line)
{
    line += line_length(line);
    return line + (*line == '\n');
}

static bool line_is(const char *line, const char *word)
{
    return line_length(line) == strlen(word) && strncmp(line, word, strlen(word)) == 0;
}

/* Whether the line [said, end) is what the guide's line [shown, shown_end) says. */
static bool line_matches(const char *shown, const char *shown_end, const char *said, const char *end)
{
    while (shown < shown_end && strncmp(shown, "...", 3) != 0) {
        if (said == end || *said++ != *shown++) {
            return false;
        }
    }
    if (shown == shown_end) {
        return said == end;
    }
    for (; said <= end; said++) {
        if (line_matches(shown + 3, shown_end, said, end)) {
            return true;
        }
    }
    return false;
}

/* The same of whole outputs; *wrong becomes the line of the guide where they part. */
static bool output_matches(const char *shown, const char *said, const char **wrong)
{
    while (*shown != '\0') {
        if (line_is(shown, "[...]")) {
            const char *rest = line_next(shown);
            bool found = *rest == '\0' || output_matches(rest, said, wrong);
            while (!found && *said != '\0') {
                said = line_next(said);
                found = output_matches(rest, said, wrong);
            }
            return found;
        }
        *wrong = *wrong > shown ? *wrong : shown; /* the farthest of all that was tried */
        if (*said == '\0' || !line_matches(shown, shown + line_length(shown), said, said + line_length(said))) {
            return false;
        }
        shown = line_next(shown);
        said = line_next(said);
    }
    return *said == '\0';
}

struct guide {
    const char *name; /* of its file */
    const char *folder;
    int command_count;
};

static void command_check(struct guide *guide, const struct text *command, const struct text *shown)
{
    char *program = realpath(program_path(), NULL);
    struct text line = {0};
    text_format(&line, "cd \"$2\" && PATH=\"${1%%/*}:$PATH\" && {\n%s\n} 2>&1", text_string(command));
    const char *const words[] = {"sh", "-c", text_string(&line), "sh", program, guide->folder, NULL};
    const char *const settings[] = {"COLUMNS=100", "NO_COLOR=1", "HF_HUB_OFFLINE=1", "LC_ALL=C.UTF-8", NULL};
    struct command_result result = command_run(words, settings);
    const char *wrong = text_string(shown), *print = getenv("ASSAY_GUIDES");
    if (print != NULL && strcmp(print, "print") == 0) {
        printf("$ %s%s", text_string(command), text_string(&result.output));
    } else if (!output_matches(text_string(shown), text_string(&result.output), &wrong)) {
        print_error("%s\n", text_string(&result.output));
        fail_msg("%s: what is above is printed by $ %swhere the guide has another line: %.*s", guide->name,
                 text_string(command), (int)line_length(wrong), wrong);
    }
    guide->command_count++;
    command_result_release(&result);
    text_release(&line);
    free(program);
}

/* One block of commands, from the line behind ```console; what lies behind its end. */
static const char *block_check(struct guide *guide, const char *line)
{
    while (!line_is(line, "```")) {
        struct text command = {0}, shown = {0};
        if (strncmp(line, "$ ", 2) != 0) {
            fail_msg("%s: a block begins with a command, not with: %.*s", guide->name, (int)line_length(line), line);
        }
        do {
            text_format(&command, "%.*s\n", (int)line_length(line) - 2, line + 2);
            line = line_next(line);
        } while (strncmp(line, "> ", 2) == 0);
        for (; strncmp(line, "$ ", 2) != 0 && !line_is(line, "```"); line = line_next(line)) {
            assert_true(*line != '\0');
            text_format(&shown, "%.*s\n", (int)line_length(line), line);
        }
        command_check(guide, &command, &shown);
        text_release(&command);
        text_release(&shown);
    }
    return line_next(line);
}

static void guide_check(const char *name, const char *folder)
{
    struct text path = {0};
    text_format(&path, "%s/%s", GUIDES, name);
    char *content = whole_file_read(text_string(&path));
    struct guide guide = {.name = name, .folder = folder};
    const bool needs_python = strstr(content, "\n$ python3 ") != NULL;
    const char *const asked[] = {"sh", "-c", "command -v python3 || exit 1", NULL};
    struct command_result python = command_run(asked, NULL);
    const bool runs = !needs_python || python.exit_code == 0;
    command_result_release(&python);
    if (!runs) {
        print_message("%s: skipped: there is no python3\n", name);
        free(content);
        text_release(&path);
        return;
    }
    for (const char *line = content; *line != '\0';) {
        line = line_is(line, "```console") ? block_check(&guide, line_next(line)) : line_next(line);
    }
    assert_true(guide.command_count >= COMMANDS_LEAST);
    text_release(&path);
    free(content);
}

/* A folder as a clone of the repository is, for what the guides read; what they write stays in it. */
static void clone_make(const char *folder)
{
    static const char *const names[] = {"suites", "ci",           "models",           "plots",
                                        "peers",  "results/laws", "results/reference"};
    char *root = realpath(".", NULL), path[2 * NAME_BYTES], target[PATH_MAX + NAME_BYTES];
    assert_non_null(root);
    snprintf(path, sizeof path, "%s/results", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        snprintf(target, sizeof target, "%s/%s", root, names[i]);
        assert_int_equal(symlink(target, path), 0);
    }
    free(root);
}

static void every_guide_says_what_its_commands_print(void **state)
{
    const struct scratch_scene *scene = *state;
    command_needed("gnuplot");
    DIR *directory = opendir(GUIDES);
    int count = 0;
    assert_non_null(directory);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        const char *end = strrchr(entry->d_name, '.');
        if (end != NULL && strcmp(end, ".md") == 0) {
            char folder[NAME_BYTES + 64];
            snprintf(folder, sizeof folder, "%s/%.*s", scene->folder, (int)(end - entry->d_name), entry->d_name);
            clone_make(folder);
            guide_check(entry->d_name, folder);
            count++;
        }
    }
    closedir(directory);
    assert_true(count >= 1);
}

static void another_output_is_noticed(void **state)
{
    static const struct {
        const char *shown, *said;
        bool matches;
    } rows[] = {
        {"a\nb\n", "a\nb\n", true},
        {"a\nb\n", "a\n", false},
        {"a\n", "a\nb\n", false},
        {"a ... c\n", "a b c\n", true},
        {"a ... c\n", "a b d\n", false},
        {"[...]\nend\n", "1\n2\nend\n", true},
        {"[...]\nend\n", "1\n2\n", false},
        {"[...]\n", "", true},
        {"a\n[...]\n", "b\n", false},
        {"a\n[...]\nb\n[...]\nc\n", "a\nb\nx\nb\nc\n", true},
        {"", "error\n", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *wrong = rows[i].shown;
        assert_int_equal(output_matches(rows[i].shown, rows[i].said, &wrong), rows[i].matches);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_output_is_noticed),
        cmocka_unit_test_setup_teardown(every_guide_says_what_its_commands_print, scratch_scene_open,
                                        scratch_scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
