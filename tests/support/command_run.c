/* Command run: fork, two temporary files for what is printed, wait. Not a shell: words are passed on as they are. */
#include "tests/support/command_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_WORDS_MAXIMUM = 32 };

/* A file that has no name any more. */
static int scratch_file(void)
{
    char path[] = "/tmp/assay-test-XXXXXX";
    int file = mkostemp(path, O_CLOEXEC);
    assert_true(file >= 0);
    unlink(path);
    return file;
}

static void file_take(int file, struct text *text)
{
    char buffer[4096];
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    for (ssize_t count = read(file, buffer, sizeof buffer); count > 0; count = read(file, buffer, sizeof buffer)) {
        text_append_bytes(text, buffer, (size_t)count);
    }
    close(file);
}

static void child_become(const char *const *words, const char *const *environment, int output, int error)
{
    int input = open("/dev/null", O_RDONLY);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(error, STDERR_FILENO);
    for (int i = 0; environment != NULL && environment[i] != NULL; i++) {
        putenv((char *)(uintptr_t)environment[i]);
    }
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

struct command_result command_run(const char *const *words, const char *const *environment)
{
    struct command_result result = {0};
    int output = scratch_file();
    int error = scratch_file();
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        child_become(words, environment, output, error);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    file_take(output, &result.output);
    file_take(error, &result.error);
    assert_int_not_equal(result.exit_code, 127);
    return result;
}

struct command_result command_named(const char *command, const char *const *options)
{
    const char *words[COMMAND_WORDS_MAXIMUM] = {program_path(), command};
    for (int i = 0; options[i] != NULL; i++) {
        assert_true(i + 2 < COMMAND_WORDS_MAXIMUM - 1);
        words[i + 2] = options[i];
    }
    return command_run(words, NULL);
}

struct json *command_document(const struct command_result *result)
{
    struct json *document = NULL;
    struct status error = {0};
    if (json_parse_text("stdout", text_string(&result->output), result->output.length, &document, &error) !=
        STATUS_OK) {
        fail_msg("%s: %s", error.text, text_string(&result->error));
    }
    return document;
}

void command_says(const struct text *text, const char *words)
{
    if (strstr(text_string(text), words) == NULL) {
        fail_msg("'%s' is not in: %s", words, text_string(text));
    }
}

void command_refused(struct command_result result, const char *words)
{
    assert_int_equal(result.exit_code, 2);
    assert_int_equal(result.output.length, 0);
    command_says(&result.error, words);
    command_result_release(&result);
}

void command_result_release(struct command_result *result)
{
    text_release(&result->output);
    text_release(&result->error);
}

void command_needed(const char *name)
{
    const char *const words[] = {"sh", "-c", "command -v \"$1\" >/dev/null || exit 1", "sh", name, NULL};
    struct command_result result = command_run(words, NULL);
    command_result_release(&result);
    if (result.exit_code != 0) {
        print_message("skipped: there is no %s\n", name);
        skip();
    }
}

const char *program_path(void)
{
    const char *path = getenv("ASSAY_PROGRAM");
    return path != NULL ? path : "build/assay";
}

void script_write(const char *folder, const char *name, const char *body)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", body);
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
}
