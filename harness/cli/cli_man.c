/* assay man: the manual pages as man(7), for `make install`, for man -l - and for mandoc. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/file_replace.h"
#include "harness/cli/command.h"
#include "harness/cli/manual_page.h"
#include "harness/cli/output.h"
#include "harness/cli/parent_folders.h"

static const struct option_row options[] = {
    {"to", OPTION_VALUE, "DIR", "instead of printing: write assay.1 and the page of every command into DIR"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

/* command NULL: the page of the program. */
static enum status_code page_write(const char *folder, const struct command *const *commands,
                                   const struct command *command, struct status *error)
{
    char path[PATH_MAX];
    struct text text = {0};
    int length = snprintf(path, sizeof path, "%s/assay%s%s.1", folder, command != NULL ? "-" : "",
                          command != NULL ? command->name : "");
    manual_page(commands, command, &text);
    enum status_code code = length < (int)sizeof path
                                ? file_replace(path, FILE_CHOSEN, &text, error)
                                : status_set(error, STATUS_INVALID, "man: --to: the path is too long; shorten it");
    text_release(&text);
    return code;
}

static enum status_code pages_write(const char *folder, const struct command *const *commands, struct status *error)
{
    enum status_code code = parent_folders_make(folder, error);
    if (code == STATUS_OK && mkdir(folder, 0777) != 0 && errno != EEXIST) {
        code = status_set(error, STATUS_IO, "%s: the folder cannot be made: %s", folder, strerror(errno));
    }
    code = code == STATUS_OK ? page_write(folder, commands, NULL, error) : code;
    for (int i = 0; commands[i] != NULL && code == STATUS_OK; i++) {
        code = page_write(folder, commands, commands[i], error);
    }
    return code;
}

static enum status_code page_print(const char *name, const struct command *const *commands, struct status *error)
{
    struct text text = {0};
    int i = 0;
    while (name != NULL && commands[i] != NULL && strcmp(commands[i]->name, name) != 0) {
        i++;
    }
    if (name != NULL && commands[i] == NULL) {
        return status_set(error, STATUS_INVALID, "man: there is no command '%s'; assay --help lists them", name);
    }
    manual_page(commands, name != NULL ? commands[i] : NULL, &text);
    enum status_code code = output_text(&text, error);
    text_release(&text);
    return code;
}

static enum status_code man_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    const char *folder = arguments_value(arguments, "to");
    const char *name = arguments->operand_count > 0 ? arguments->operands[0] : NULL;
    (void)exit_code;
    if (folder != NULL && name != NULL) {
        return status_set(error, STATUS_INVALID, "man: --to writes all pages; leave '%s' or --to out", name);
    }
    return folder != NULL ? pages_write(folder, arguments->commands, error)
                          : page_print(name, arguments->commands, error);
}

const struct command command_man = {
    .name = "man",
    .operands = "[COMMAND]",
    .summary = "the manual page of the program, or of a command, for man and mandoc",
    .details = "`make install` puts the pages where man looks for them. Without it:\n"
               "\n"
               "  assay man run | man -l -\n",
    .options = options,
    .operand_minimum = 0,
    .operand_maximum = 1,
    .run = man_run,
};
