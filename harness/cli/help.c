/* Help: layout only. The words stand in the tables of the commands. */
#include "harness/cli/help.h"

#include <stdio.h>
#include <string.h>

enum { LEFT_COLUMN = 26 };

static const struct exit_code_row exit_codes[] = {
#define EXIT_CODE_ROW(name, number, what) {EXIT_CODE_##name, what},
    EXIT_CODE_TABLE(EXIT_CODE_ROW)
#undef EXIT_CODE_ROW
};

const struct exit_code_row *exit_code_at(int index)
{
    return index >= 0 && (size_t)index < sizeof exit_codes / sizeof exit_codes[0] ? &exit_codes[index] : NULL;
}

void program_help(const struct command *const *commands, struct text *text)
{
    text_append(text, "assay weighs models: it predicts the bytes that a neural network occupies, builds it, runs it,\n"
                      "measures it, and reports how far each prediction was off.\n\n"
                      "usage: assay COMMAND [options]\n\n");
    for (int i = 0; commands[i] != NULL; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", commands[i]->name, commands[i]->operands);
        text_format(text, "  %-*s %s\n", LEFT_COLUMN - 6, left, commands[i]->summary);
    }
    text_append(text, "\n"
                      "  assay help COMMAND       the options of a command, also as assay COMMAND --help\n"
                      "  assay version            the version, also as assay --version\n\n"
                      "exit codes:\n");
    for (int i = 0; exit_code_at(i) != NULL; i++) {
        text_format(text, "  %2d  %s\n", (int)exit_code_at(i)->code, exit_code_at(i)->what);
    }
}

void option_spelling_append(const struct option_row *option, struct text *text)
{
    const char *value = option->value != NULL ? option->value : "";
    text_format(text, "--%s", option->name);
    switch (option->kind) {
    case OPTION_FLAG:
        break;
    case OPTION_VALUE:
    case OPTION_REPEATED:
        text_format(text, " %s", value);
        break;
    case OPTION_BOOLEAN:
        text_append(text, " [true|false]");
        break;
    case OPTION_CHOICE:
        text_format(text, " [%s]", value);
        break;
    case OPTION_LIST:
        text_format(text, " %s...", value);
        break;
    }
}

static void option_help(const struct option_row *option, struct text *text)
{
    struct text left = {0};
    option_spelling_append(option, &left);
    if (left.length > LEFT_COLUMN - 3) {
        text_format(text, "  %s\n%*s%s\n", text_string(&left), LEFT_COLUMN, "", option->help);
    } else {
        text_format(text, "  %-*s%s\n", LEFT_COLUMN - 2, text_string(&left), option->help);
    }
    text_release(&left);
}

/* The details as they stand; or, if their lines are wider than width, each paragraph as one line, which is folded as
 * one. A line that is indented begins a paragraph of its own. */
static void details_append(const char *details, int width, struct text *text)
{
    bool is_wide = false;
    for (const char *line = details; *line != '\0'; line += strcspn(line, "\n") + 1) {
        is_wide = is_wide || strcspn(line, "\n") > (size_t)width;
    }
    for (const char *byte = details; *byte != '\0'; byte++) {
        bool joins = is_wide && *byte == '\n' && byte > details && byte[-1] != '\n' && byte[1] != '\n' &&
                     byte[1] != ' ' && byte[1] != '\0';
        text_append_bytes(text, joins ? " " : byte, 1);
    }
}

void command_help(const struct command *command, int width, struct text *text)
{
    bool has_operands = command->operands[0] != '\0';
    text_format(text, "usage: assay %s%s%s [options]\n\n%s\n\n", command->name, has_operands ? " " : "",
                command->operands, command->summary);
    for (const struct option_row *option = command->options; option->name != NULL; option++) {
        option_help(option, text);
    }
    text_format(text, "  %-*s%s\n", LEFT_COLUMN - 2, "--help", "this text");
    if (command->details[0] != '\0') {
        text_append(text, "\n");
        details_append(command->details, width, text);
    }
}
