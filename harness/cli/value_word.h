/* Value words: the words that stand for values in the tables of commands ("FILE.json", "GPU", "N"), and what a shell
 * offers for each. Every value and every operand of every command is one of these, a choice ("all|last"), or a field of
 * a case whose words case_field.h has. */
#ifndef ASSAY_CLI_VALUE_WORD_H
#define ASSAY_CLI_VALUE_WORD_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/cli/command.h"

enum value_source {
    VALUE_FREE,      /* a number, a size, a pattern: nothing can be offered */
    VALUE_FILE,      /* a path */
    VALUE_FOLDER,    /* the path of a folder */
    VALUE_CHOICE,    /* one of the words of the row */
    VALUE_FIELD,     /* one of the words of a field of a case */
    VALUE_MODEL,     /* a name of the catalogue, or a path */
    VALUE_SUITE,     /* a suite that comes with the program, or a path */
    VALUE_DEVICE,    /* what --device takes */
    VALUE_GPU,       /* a GPU by its name */
    VALUE_TARGET,    /* a class of devices */
    VALUE_CONSTANTS, /* a device of results/reference, "none", or a path */
    VALUE_COMMAND    /* a command of this program */
};

struct value_word {
    const char *word;
    enum value_source source;
    const char *choices; /* of VALUE_CHOICE: "load|forward"; of VALUE_FIELD: its key */
    bool is_helped;      /* only those of the choices, or devices, that the help of the option has */
};

/* The row of a word of this length. NULL: nobody knows it. */
const struct value_word *value_word_find(const char *word, size_t length);

/* What the value of an option is; of a flag VALUE_CHOICE without choices. row.word is NULL if nobody knows it. */
struct value_word value_word_of_option(const struct option_row *option);

/* What operand number index of a command is. row.word is "" if there is no such operand, NULL if nobody knows it. */
struct value_word value_word_of_operand(const struct command *command, int index);

/* Choice number index between the bars, with its length; NULL: there is none. */
const char *choice_at(const char *choices, int index, size_t *length);

#endif
