/* assay completion: the scripts with which shells complete command lines of this program, and the answer that these
 * scripts ask for. The scripts are files of completions/; what they offer stands in the tables of the commands. */
#include <string.h>

#include "harness/base/byte_source.h"
#include "harness/cli/command.h"
#include "harness/cli/completion_words.h"
#include "harness/cli/output.h"
#include "harness/cli/resource_path.h"

static const struct option_row options[] = {
    {NULL, OPTION_FLAG, NULL, NULL},
};

struct shell {
    const char *name, *file;
};

static const struct shell shells[] = {
    {"bash", "completions/assay.bash"},
    {"zsh", "completions/_assay"},
    {"fish", "completions/assay.fish"},
};

/* A script is some kilobytes. */
enum { SCRIPT_BYTES_MAXIMUM = 64 << 10 };

static enum status_code script_print(const char *file, struct status *error)
{
    struct arena arena = {0};
    struct text text = {0};
    struct byte_source *source = NULL;
    const char *path = resource_path(&arena, file);
    enum status_code code = path == NULL ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory")
                                         : file_source_open(path, &source, error);
    size_t count = code == STATUS_OK && source->size_bytes <= SCRIPT_BYTES_MAXIMUM ? (size_t)source->size_bytes : 0;
    char *bytes = count > 0 ? arena_alloc(&arena, count) : NULL;
    if (code == STATUS_OK && bytes == NULL) {
        code = status_set(error, STATUS_INVALID, "%s: it is not the script of a shell; install assay again", path);
    }
    if (code == STATUS_OK) {
        code = byte_source_read(source, 0, bytes, count, error);
    }
    if (code == STATUS_OK) {
        text_append_bytes(&text, bytes, count);
        code = output_text(&text, error);
    }
    byte_source_release(source);
    text_release(&text);
    arena_release(&arena);
    return code;
}

static enum status_code words_print(const struct arguments *arguments, struct status *error)
{
    struct text text = {0};
    enum status_code code =
        completion_words(arguments->commands, arguments->operands + 1, arguments->operand_count - 1, &text, error);
    if (code == STATUS_OK) {
        code = output_text(&text, error);
    }
    text_release(&text);
    return code;
}

static enum status_code completion_run(const struct arguments *arguments, enum exit_code *exit_code,
                                       struct status *error)
{
    const char *wish = arguments->operands[0];
    (void)exit_code;
    if (strcmp(wish, "words") == 0) {
        return words_print(arguments, error);
    }
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shells[i].name, wish) == 0) {
            return arguments->operand_count == 1 ? script_print(shells[i].file, error)
                                                 : status_set(error, STATUS_INVALID,
                                                              "completion: '%s' is one operand too many; write assay "
                                                              "completion %s",
                                                              arguments->operands[1], wish);
        }
    }
    return status_set(error, STATUS_INVALID, "completion: '%s' is not known; write bash, zsh or fish", wish);
}

const struct command command_completion = {
    .name = "completion",
    .operands = "SHELL",
    .summary = "a script with which a shell completes commands, options and their values",
    .details = "SHELL: bash, zsh or fish. `make install` puts the scripts where the shells look for them. Without\n"
               "it, in the shell itself:\n"
               "\n"
               "  bash    eval \"$(assay completion bash)\"\n"
               "  zsh     eval \"$(assay completion zsh)\"        behind compinit\n"
               "  fish    assay completion fish | source\n"
               "\n"
               "The scripts ask this program: assay completion words -- WORD... prints what could stand in place of\n"
               "the last word, which may be empty.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = OPERAND_COUNT_MAXIMUM,
    .run = completion_run,
};
