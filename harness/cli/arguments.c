/* Arguments: the words of a command line, parsed by the command's option table. Not getopt: the answer to an unknown
 * option names the nearest right one, and the table also writes the help. */
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/suggestion.h"

struct cursor {
    int index, count;
    char **words;
};

static int row_count(const struct option_row *rows)
{
    int count = 0;
    while (rows[count].name != NULL) {
        count++;
    }
    return count;
}

/* --new_tokens and --new-tokens are one: suites and records write '_', command lines like '-'. */
static bool name_is(const char *row_name, const char *name, size_t length)
{
    bool same = strlen(row_name) == length;
    for (size_t i = 0; same && i < length; i++) {
        same = row_name[i] == (name[i] == '_' ? '-' : name[i]);
    }
    return same;
}

static int row_find(const struct option_row *rows, const char *name, size_t length)
{
    for (int i = 0; rows[i].name != NULL; i++) {
        if (name_is(rows[i].name, name, length)) {
            return i;
        }
    }
    return -1;
}

static enum status_code unknown_option(const struct command *command, const char *word, struct status *error)
{
    const char *names[OPTION_COUNT_MAXIMUM + 2];
    int count = row_count(command->options);
    for (int i = 0; i < count; i++) {
        names[i] = command->options[i].name;
    }
    names[count] = "help";
    names[count + 1] = NULL;
    char name[64];
    size_t length = strcspn(word, "=");
    length = length < sizeof name - 1 ? length : sizeof name - 1;
    memcpy(name, word, length);
    name[length] = '\0';
    const char *bare = name + strspn(name, "-");
    struct text meant = {0};
    enum status_code code =
        option_suggest(bare, names, &meant)
            ? status_set(error, STATUS_INVALID, "%s: unknown option '%s'; did you mean %s?", command->name, name,
                         text_string(&meant))
            : status_set(error, STATUS_INVALID, "%s: unknown option '%s'; assay %s --help lists them", command->name,
                         name, command->name);
    text_release(&meant);
    return code;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

static enum status_code list_take(const struct command *command, const char *name, const char *inline_value,
                                  struct cursor *cursor, struct arguments *arguments, struct status *error)
{
    int before = arguments->list_count;
    if (inline_value != NULL) {
        arguments->list[arguments->list_count++] = inline_value;
    } else {
        while (cursor->index < cursor->count && !is_option(cursor->words[cursor->index]) &&
               arguments->list_count < LIST_COUNT_MAXIMUM) {
            arguments->list[arguments->list_count++] = cursor->words[cursor->index++];
        }
    }
    if (arguments->list_count == before) {
        return status_set(error, STATUS_INVALID, "%s: --%s needs at least one value; assay %s --help lists them",
                          command->name, name, command->name);
    }
    if (arguments->list_count == LIST_COUNT_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "%s: --%s has too many values; give fewer than %d", command->name,
                          name, LIST_COUNT_MAXIMUM);
    }
    return STATUS_OK;
}

static const char *boolean_take(const char *inline_value, struct cursor *cursor)
{
    if (inline_value != NULL) {
        return inline_value;
    }
    if (cursor->index < cursor->count) {
        const char *next = cursor->words[cursor->index];
        if (strcmp(next, "true") == 0 || strcmp(next, "false") == 0) {
            cursor->index++;
            return next;
        }
    }
    return "true";
}

/* Whether word is one of the choices between the bars. */
static bool choice_has(const char *choices, const char *word)
{
    size_t length = strlen(word);
    for (const char *choice = choices; *choice != '\0';
         choice += strcspn(choice, "|") + (choice[strcspn(choice, "|")] == '|')) {
        if (length > 0 && strcspn(choice, "|") == length && strncmp(choice, word, length) == 0) {
            return true;
        }
    }
    return false;
}

/* NULL: the inline value is none of the choices. */
static const char *choice_take(const struct option_row *option, const char *inline_value, struct cursor *cursor)
{
    if (inline_value != NULL) {
        return choice_has(option->value, inline_value) ? inline_value : NULL;
    }
    bool follows = cursor->index < cursor->count && choice_has(option->value, cursor->words[cursor->index]);
    return follows ? cursor->words[cursor->index++] : "true";
}

/* NULL: there is none. */
static const char *value_take(const char *inline_value, struct cursor *cursor)
{
    const char *value = inline_value != NULL            ? inline_value
                        : cursor->index < cursor->count ? cursor->words[cursor->index++]
                                                        : NULL;
    bool is_value = value != NULL && value[0] != '\0' && (inline_value != NULL || strncmp(value, "--", 2) != 0);
    return is_value ? value : NULL;
}

static enum status_code repeated_add(const struct command *command, int row, const char *value,
                                     struct arguments *arguments, struct status *error)
{
    if (arguments->repeated_count == REPEATED_COUNT_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "%s: --%s is given too often; give at most %d such options",
                          command->name, command->options[row].name, REPEATED_COUNT_MAXIMUM);
    }
    arguments->repeated[arguments->repeated_count++] = (struct repeated_value){.row = row, .value = value};
    return STATUS_OK;
}

/* The word before the cursor is an option: takes its value from it or from the words that follow. */
static enum status_code option_take(const struct command *command, const char *word, struct cursor *cursor,
                                    struct arguments *arguments, struct status *error)
{
    if (word[1] != '-') {
        return unknown_option(command, word, error);
    }
    size_t length = strcspn(word + 2, "=");
    const char *inline_value = word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
    int row = row_find(command->options, word + 2, length);
    if (row < 0) {
        return unknown_option(command, word, error);
    }
    const struct option_row *option = &command->options[row];
    if (arguments->values[row] != NULL && option->kind != OPTION_LIST && option->kind != OPTION_REPEATED) {
        return status_set(error, STATUS_INVALID, "%s: --%s is given twice; keep one", command->name, option->name);
    }
    const char *value = "true";
    switch (option->kind) {
    case OPTION_FLAG:
        if (inline_value != NULL) {
            return status_set(error, STATUS_INVALID, "%s: --%s takes no value; write --%s", command->name, option->name,
                              option->name);
        }
        break;
    case OPTION_BOOLEAN:
        value = boolean_take(inline_value, cursor);
        break;
    case OPTION_CHOICE:
        value = choice_take(option, inline_value, cursor);
        if (value == NULL) {
            return status_set(error, STATUS_INVALID, "%s: --%s: '%s' is not known; write --%s alone, or with %s",
                              command->name, option->name, inline_value, option->name, option->value);
        }
        break;
    case OPTION_LIST: {
        enum status_code code = list_take(command, option->name, inline_value, cursor, arguments, error);
        if (code != STATUS_OK) {
            return code;
        }
        break;
    }
    case OPTION_VALUE:
    case OPTION_REPEATED:
        value = value_take(inline_value, cursor);
        if (value == NULL) {
            return status_set(error, STATUS_INVALID, "%s: --%s needs a value; write --%s %s", command->name,
                              option->name, option->name, option->value);
        }
        break;
    }
    arguments->values[row] = value;
    return option->kind == OPTION_REPEATED ? repeated_add(command, row, value, arguments, error) : STATUS_OK;
}

/* The row of a switch that was given just before, "--padding"; NULL: there was none. */
static const struct option_row *switch_named(const struct command *command, const char *previous)
{
    bool is_option = previous != NULL && strncmp(previous, "--", 2) == 0;
    int row = is_option ? row_find(command->options, previous + 2, strlen(previous + 2)) : -1;
    return row >= 0 && command->options[row].kind == OPTION_BOOLEAN ? &command->options[row] : NULL;
}

static enum status_code operand_refuse(const struct command *command, const char *word, const char *previous,
                                       struct status *error)
{
    struct text meant = {0};
    const struct option_row *option = switch_named(command, previous);
    if (option != NULL) {
        return status_set(error, STATUS_INVALID, "%s: --%s: '%s' is not known; write true or false", command->name,
                          option->name, word);
    }
    if (command->operand_maximum == 0) {
        return status_set(error, STATUS_INVALID, "%s: '%s' is one operand too many; assay %s takes none", command->name,
                          word, command->name);
    }
    enum status_code code =
        operand_suggest(word, previous, command->options, &meant)
            ? status_set(error, STATUS_INVALID, "%s: '%s' is one operand too many; %s", command->name, word,
                         text_string(&meant))
        : command->operand_maximum > 1
            ? status_set(error, STATUS_INVALID, "%s: '%s' is one operand too many, of at most %d; write assay %s %s",
                         command->name, word, command->operand_maximum, command->name, command->operands)
            : status_set(error, STATUS_INVALID, "%s: '%s' is one operand too many; write assay %s %s", command->name,
                         word, command->name, command->operands);
    text_release(&meant);
    return code;
}

static enum status_code operands_check(const struct arguments *arguments, struct status *error)
{
    const struct command *command = arguments->command;
    if (arguments->operand_count < command->operand_minimum) {
        return status_set(error, STATUS_INVALID, "%s: an operand is missing; write assay %s %s", command->name,
                          command->name, command->operands);
    }
    return STATUS_OK;
}

enum status_code arguments_parse(const struct command *command, int count, char **words, struct arguments *arguments,
                                 struct status *error)
{
    struct arguments result = {.command = command};
    struct cursor cursor = {.count = count, .words = words};
    bool options_end = false;
    if (row_count(command->options) > OPTION_COUNT_MAXIMUM) {
        return status_set(error, STATUS_INTERNAL, "%s has more options than there is room for (command.h)",
                          command->name);
    }
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++) {
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0) {
            *arguments = (struct arguments){.command = command, .help = true};
            return STATUS_OK;
        }
    }
    while (cursor.index < count) {
        const char *word = words[cursor.index++];
        if (!options_end && strcmp(word, "--") == 0) {
            options_end = true;
        } else if (!options_end && is_option(word)) {
            enum status_code code = option_take(command, word, &cursor, &result, error);
            if (code != STATUS_OK) {
                return code;
            }
        } else if (result.operand_count == command->operand_maximum) {
            return operand_refuse(command, word, cursor.index >= 2 ? words[cursor.index - 2] : NULL, error);
        } else {
            result.operands[result.operand_count++] = word;
        }
    }
    enum status_code code = operands_check(&result, error);
    if (code == STATUS_OK) {
        *arguments = result;
    }
    return code;
}

const char *arguments_value(const struct arguments *arguments, const char *name)
{
    int row = row_find(arguments->command->options, name, strlen(name));
    return row < 0 ? NULL : arguments->values[row];
}

bool command_takes(const struct command *command, const char *name)
{
    return row_find(command->options, name, strlen(name)) >= 0;
}

const char *arguments_value_next(const struct arguments *arguments, const char *name, int *next)
{
    int row = row_find(arguments->command->options, name, strlen(name));
    while (*next < arguments->repeated_count && arguments->repeated[*next].row != row) {
        ++*next;
    }
    return *next < arguments->repeated_count ? arguments->repeated[(*next)++].value : NULL;
}
