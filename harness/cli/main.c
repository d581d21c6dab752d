/* main: finds the command, runs it, and turns its status into one line and an exit code. Nothing else exits. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/case_options.h"
#include "harness/cli/command.h"
#include "harness/cli/help.h"
#include "harness/cli/output.h"
#include "harness/cli/output_place.h"
#include "harness/cli/program_revision.h"
#include "harness/cli/suggestion.h"

static const struct command *const commands[] = {
    &command_doctor,     &command_hardware, &command_gpus,
    &command_models,     &command_weights,  &command_estimate,
    &command_estimators, &command_fit,      &command_limit,
    &command_factor,     &command_batch,    &command_place,
    &command_chain,      &command_synth,    &command_load,
    &command_offload,    &command_explain,  &command_peaks,
    &command_plan,       &command_run,      &command_assumptions,
    &command_submit,     &command_merge,    &command_report,
    &command_compare,    &command_history,  &command_gate,
    &command_calibrate,  &command_replay,   &command_lock,
    &command_completion, &command_man,      NULL,
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] - 1 };

static const char *const help_words[] = {"help", "--help", "-h", NULL};
static const char *const version_words[] = {"version", "--version", "-V", NULL};

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(word, *words) != 0) {
        words++;
    }
    return *words != NULL;
}

/* A file that cannot be read or written is the caller's to mend, like a wrong option. */
static enum exit_code exit_code_of(enum status_code code)
{
    switch (code) {
    case STATUS_OK:
        return EXIT_CODE_PASS;
    case STATUS_INVALID:
    case STATUS_OVERFLOW:
    case STATUS_IO:
        return EXIT_CODE_USAGE;
    case STATUS_UNAVAILABLE:
        return EXIT_CODE_SKIPPED;
    case STATUS_OUT_OF_MEMORY:
    case STATUS_DEVICE:
        return EXIT_CODE_INCONCLUSIVE;
    case STATUS_NO_GPU:
        return EXIT_CODE_NO_GPU;
    case STATUS_BUSY:
        return EXIT_CODE_BUSY;
    case STATUS_INTERRUPTED:
        return EXIT_CODE_INCOMPLETE;
    case STATUS_INTERNAL:
        break;
    }
    return EXIT_CODE_FAULT;
}

static enum status_code command_find(const char *name, const struct command **command, struct status *error)
{
    const char *names[COMMAND_COUNT + 1] = {NULL};
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            *command = commands[i];
            return STATUS_OK;
        }
        names[i] = commands[i]->name;
    }
    struct text meant = {0};
    enum status_code code =
        command_suggest(name, names, &meant)
            ? status_set(error, STATUS_INVALID, "unknown command '%s'; did you mean %s?", name, text_string(&meant))
            : status_set(error, STATUS_INVALID, "unknown command '%s'; assay --help lists them", name);
    text_release(&meant);
    return code;
}

static enum status_code help_print(const struct command *command, struct status *error)
{
    struct text text = {0};
    if (command != NULL) {
        command_help(command, table_width(), &text);
    } else {
        program_help(commands, &text);
    }
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

/* "help", and "help estimate", which is estimate's. word NULL: the program's. */
static enum status_code help_of(const char *word, struct status *error)
{
    const struct command *command = NULL;
    bool is_command = word != NULL && !is_one_of(word, help_words) && !is_one_of(word, version_words);
    enum status_code code = is_command ? command_find(word, &command, error) : STATUS_OK;
    return code == STATUS_OK ? help_print(command, error) : code;
}

static enum status_code version_document_print(struct status *error)
{
    const char *revision = program_revision();
    struct json *document = json_object_new();
    bool made = json_set(document, "name", json_string_new("assay")) &&
                json_set(document, "version", json_string_new(ASSAY_VERSION)) &&
                json_set(document, "revision", revision != NULL ? json_string_new(revision) : json_null_new());
    enum status_code code =
        made ? output_json(document, error) : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory");
    json_release(document);
    return code;
}

/* words: what was given besides, NULL at the end. */
static enum status_code version_print(char *const *words, struct status *error)
{
    struct text text = {0};
    for (; *words != NULL; words++) {
        if (strcmp(*words, "--json") == 0) {
            return version_document_print(error);
        }
    }
    text_append(&text, "assay " ASSAY_VERSION);
    if (program_revision() != NULL) {
        text_format(&text, " (%s)", program_revision());
    }
    text_append(&text, "\n");
    enum status_code code = output_text(&text, error);
    text_release(&text);
    return code;
}

/* Threads of OpenMP spin while they wait for each other, unless the environment said otherwise when the library was
 * loaded. If other work shares the cores, each then waits for one that is not running: suites/quick.yaml took 192 s
 * beside it, and 43 s with threads that sleep. So the program starts once more with that setting, if the user has
 * made none. If it cannot, it goes on as it is. */
static void waiting_threads_sleep(char **words)
{
    if (getenv("OMP_WAIT_POLICY") == NULL && getenv("GOMP_SPINCOUNT") == NULL &&
        setenv("OMP_WAIT_POLICY", "passive", 1) == 0) {
        execv("/proc/self/exe", words);
    }
}

static enum status_code words_run(int count, char **words, enum exit_code *exit_code, struct status *error)
{
    if (count < 2) {
        return status_set(error, STATUS_INVALID, "a command is missing; assay --help lists them");
    }
    if (is_one_of(words[1], help_words)) {
        return help_of(count > 2 ? words[2] : NULL, error);
    }
    if (is_one_of(words[1], version_words)) {
        return version_print(words + 2, error);
    }
    if (words[1][0] == '-') {
        return status_set(error, STATUS_INVALID,
                          "unknown option '%s'; before a command stand --help and --version alone", words[1]);
    }
    const struct command *command = NULL;
    struct arguments arguments = {0};
    enum status_code code = command_find(words[1], &command, error);
    for (int i = 2; i < count && code == STATUS_OK && strcmp(words[i], "--") != 0; i++) {
        if (words[i][0] == '-' && is_one_of(words[i], version_words)) {
            return version_print(words + 2, error);
        }
    }
    if (code == STATUS_OK) {
        code = arguments_parse(command, count - 2, words + 2, &arguments, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    if (arguments.help) {
        return help_print(command, error);
    }
    code = output_places_check(&arguments, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (command->computes) {
        waiting_threads_sleep(words);
    }
    arguments.commands = commands;
    error->spelling = case_options_given(&arguments) ? STATUS_SPELLING_OPTIONS : STATUS_SPELLING_KEYS;
    return command->run(&arguments, exit_code, error);
}

/* A program that was started without standard descriptors would open its files as these, and progress lines would land
 * in the records. What is missing becomes /dev/null, closed for the use that it is meant for, so that output which
 * cannot be written is an error as before. False if it cannot be opened. */
static bool descriptors_open(void)
{
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", modes[descriptor]) != descriptor) {
            return false;
        }
    }
    return true;
}

int main(int count, char **words)
{
    if (!descriptors_open()) {
        return EXIT_CODE_FAULT;
    }
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error, as a full disk is, and kills nothing */
    signal(SIGCHLD, SIG_DFL); /* our parent may ignore it, and the kernel then keeps no child's exit code */
    enum exit_code exit_code = EXIT_CODE_PASS;
    struct status error = {0};
    enum status_code code = words_run(count, words, &exit_code, &error);
    if (code != STATUS_OK) {
        char line[STATUS_LINE_BYTES];
        if (error.line > 0) { /* as it is, for editors that jump to such a place */
            output_whole_line(status_line(&error, line));
        } else {
            output_warning("assay: %s", status_line(&error, line));
        }
        return (int)exit_code_of(code);
    }
    return (int)exit_code;
}
