/* Value words: the vocabulary. What a shell offers for each is completion_words.c's. */
#include "harness/cli/value_word.h"

#include <string.h>

#include "harness/case/case_field.h"

#define STAGES "load|forward|backward|step|generate|highest"

static const struct value_word words[] = {
    {"A", VALUE_FIELD, "attention", false},
    {"A..B", VALUE_FREE, NULL, false},
    {"ACTION", VALUE_CHOICE, "import|show|trend|prune|export", false},
    {"BASE", VALUE_FILE, NULL, false},
    {"CHECKPOINT", VALUE_FILE, NULL, false},
    {"CLASS", VALUE_FREE, NULL, false},
    {"COMMAND", VALUE_COMMAND, NULL, false},
    {"D", VALUE_DEVICE, NULL, true},
    {"DATE", VALUE_FREE, NULL, false},
    {"DEVICE", VALUE_CONSTANTS, NULL, false},
    {"DEVICE=SIZE,...", VALUE_FREE, NULL, false},
    {"DIR", VALUE_FOLDER, NULL, false},
    {"DTYPE", VALUE_CHOICE, "float32|float16|int8|int4", false},
    {"FACTOR", VALUE_FREE, NULL, false},
    {"FIELD=A..B", VALUE_FREE, NULL, false},
    {"FILE", VALUE_FILE, NULL, false},
    {"FILE.json", VALUE_FILE, NULL, false},
    {"FILE.xml", VALUE_FILE, NULL, false},
    {"FOLDER", VALUE_FOLDER, NULL, false},
    {"FORMAT", VALUE_CHOICE, "table|summary|md|csv|json|jsonl|html|latex|junit|openmetrics|benchmark-json|github",
     true},
    {"GLOB", VALUE_FREE, NULL, false},
    {"GPU", VALUE_GPU, NULL, false},
    {"I/N", VALUE_FREE, NULL, false},
    {"ID", VALUE_FREE, NULL, false},
    {"LAW", VALUE_CHOICE, "inference-overhead|optimizer|device-constants", false},
    {"LIBRARY=RELEASE", VALUE_FREE, NULL, false},
    {"LIST", VALUE_FREE, NULL, false},
    {"MAP.json", VALUE_FILE, NULL, false},
    {"MODEL", VALUE_MODEL, NULL, false},
    {"N", VALUE_FREE, NULL, false},
    {"NAME", VALUE_FREE, NULL, false},
    {"NAME=DTYPE,...", VALUE_FREE, NULL, false},
    {"NAMES", VALUE_FREE, NULL, false},
    {"NEW", VALUE_FILE, NULL, false},
    {"OPTION", VALUE_FREE, NULL, false},
    {"P", VALUE_FIELD, "precision", true},
    {"P%", VALUE_FREE, NULL, false},
    {"PERCENT", VALUE_FREE, NULL, false},
    {"PROGRAM", VALUE_FILE, NULL, false},
    {"RECORDS", VALUE_FILE, NULL, false},
    {"RELEASE", VALUE_FREE, NULL, false},
    {"SECONDS", VALUE_FREE, NULL, false},
    {"SHELL", VALUE_CHOICE, "bash|zsh|fish", false},
    {"SIZE", VALUE_FREE, NULL, false},
    {"STAGE", VALUE_CHOICE, STAGES, false},
    {"SUITE", VALUE_SUITE, NULL, false},
    {"SYSTEM", VALUE_CHOICE, "slurm", false},
    {"T", VALUE_TARGET, NULL, false},
    {"TARGET", VALUE_TARGET, NULL, false},
    {"TEXT", VALUE_FREE, NULL, false},
    {"TIME", VALUE_FREE, NULL, false},
    {"TRACE.json", VALUE_FILE, NULL, false},
    {"WHAT", VALUE_CHOICE, "tensor|module|category|stage|dtype", false},
};

const struct value_word *value_word_find(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].word) == length && strncmp(words[i].word, word, length) == 0) {
            return &words[i];
        }
    }
    return NULL;
}

/* "all|last": it has a bar, and is nobody's word. */
static struct value_word word_read(const char *word, size_t length)
{
    const struct value_word *row = value_word_find(word, length);
    if (row != NULL) {
        return *row;
    }
    bool is_choice = memchr(word, '|', length) != NULL;
    return (struct value_word){.word = is_choice ? word : NULL,
                               .source = is_choice ? VALUE_CHOICE : VALUE_FREE,
                               .choices = is_choice ? word : NULL};
}

/* The row of a command may be that of the case field of its name, or one of its own with fewer words: the help says. */
static bool is_field(const struct option_row *option, const struct case_field_row **field)
{
    for (int i = FIELD_MODE; i < FIELD_COUNT; i++) {
        *field = case_field_row((enum case_field)i);
        if ((*field)->option != NULL && strcmp((*field)->option, option->name) == 0) {
            return strcmp((*field)->help, option->help) == 0;
        }
    }
    return false;
}

struct value_word value_word_of_option(const struct option_row *option)
{
    const struct case_field_row *field = NULL;
    if (option->kind == OPTION_FLAG) {
        return (struct value_word){.word = "", .source = VALUE_CHOICE, .choices = ""};
    }
    if (option->kind == OPTION_BOOLEAN) {
        return (struct value_word){.word = "true|false", .source = VALUE_CHOICE, .choices = "true|false"};
    }
    if (is_field(option, &field)) {
        return (struct value_word){
            .word = option->value, .source = field->words != NULL ? VALUE_FIELD : VALUE_FREE, .choices = field->key};
    }
    const char *word = option->value != NULL ? option->value : "";
    return word_read(word, strlen(word));
}

struct value_word value_word_of_operand(const struct command *command, int index)
{
    const char *word = command->operands;
    size_t length = strcspn(word, " ");
    while (index > 0 && word[length] != '\0') {
        word += length + 1;
        length = strcspn(word, " ");
        index--;
    }
    bool is_optional = length > 0 && *word == '[';
    word += is_optional ? 1 : 0;
    length -= is_optional ? 1 : 0;
    while (length > 0 && strchr(".]", word[length - 1]) != NULL) { /* of "DIR..." the last one counts for all others */
        length--;
    }
    bool is_there =
        length > 0 && (index == 0 || strcmp(word + length, "...") == 0 || strcmp(word + length, "...]") == 0);
    return is_there ? word_read(word, length) : (struct value_word){.word = ""};
}

const char *choice_at(const char *choices, int index, size_t *length)
{
    for (; index > 0 && *choices != '\0'; index--) {
        choices += strcspn(choices, "|");
        choices += *choices == '|' ? 1 : 0;
    }
    *length = strcspn(choices, "|]");
    return *length > 0 ? choices : NULL;
}
