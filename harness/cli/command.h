/* Commands: one file each, one row each in the table of main.c. This floor alone prints and decides exit codes. */
#ifndef ASSAY_CLI_COMMAND_H
#define ASSAY_CLI_COMMAND_H

#include <stdbool.h>

#include "harness/base/exit_code.h"
#include "harness/base/status.h"

#define ASSAY_VERSION      "0.1.0"
#define ASSAY_VERSION_DATE "2026-11-23" /* on its manual pages, which are the same wherever they are made */

enum option_kind {
    OPTION_FLAG,    /* --json */
    OPTION_VALUE,   /* --batch 8, --batch=8 */
    OPTION_BOOLEAN, /* --checkpointing, --checkpointing false */
    OPTION_CHOICE,  /* --run, --run host: one of the words of the row's value, "host|cuda"; alone it is "true" */
    OPTION_LIST,    /* --dtypes float32 int8: all words up to the next option; may be given again, which adds to them */
    OPTION_REPEATED /* --filter GLOB --filter GLOB: a value each time it is given */
};

struct option_row {
    const char *name; /* without the dashes; NULL ends the table */
    enum option_kind kind;
    const char *value; /* what stands for the value in the help: "N" */
    const char *help;
};

enum { OPTION_COUNT_MAXIMUM = 96, OPERAND_COUNT_MAXIMUM = 1000, LIST_COUNT_MAXIMUM = 32, REPEATED_COUNT_MAXIMUM = 64 };

struct arguments;

/* One giving of an option of kind OPTION_REPEATED. */
struct repeated_value {
    int row; /* of the options */
    const char *value;
};

struct command {
    const char *name;
    const char *operands; /* "MODEL", "BASE NEW", "" */
    const char *summary;  /* one line */
    const char *details;  /* further paragraphs of the help, each line ended; may be "" */
    const struct option_row *options;
    int operand_minimum, operand_maximum;
    bool computes; /* on all cores of the host: its threads sleep while they wait for each other */
    /* Prints its result to stdout. On an error it prints nothing, and main prints the error. */
    enum status_code (*run)(const struct arguments *arguments, enum exit_code *exit_code, struct status *error);
};

/* The words after the command, sorted by what they are. All texts are borrowed from argv. */
struct arguments {
    const struct command *command;
    const struct command *const *commands;    /* all of the program, ended by NULL; main sets them */
    const char *values[OPTION_COUNT_MAXIMUM]; /* by row of the options; NULL: not given; "true" for a flag */
    const char *operands[OPERAND_COUNT_MAXIMUM];
    int operand_count;
    const char *list[LIST_COUNT_MAXIMUM]; /* of the one option of kind OPTION_LIST */
    int list_count;
    struct repeated_value repeated[REPEATED_COUNT_MAXIMUM]; /* of all options of kind OPTION_REPEATED, as they came */
    int repeated_count;
    bool help; /* --help was among them; nothing else is looked at then */
};

/* Sorts words[0..count). STATUS_INVALID names what is wrong and what would be right. */
enum status_code arguments_parse(const struct command *command, int count, char **words, struct arguments *arguments,
                                 struct status *error);

/* The value of an option of the command, or NULL if it was not given; of one that was given several times the last. */
const char *arguments_value(const struct arguments *arguments, const char *name);

/* Whether the command has an option of this name, given or not. */
bool command_takes(const struct command *command, const char *name);

/* The next value of an option of kind OPTION_REPEATED from *next on, which begins at 0 and then stands behind it; NULL:
 * there is none. A command without this option has none. */
const char *arguments_value_next(const struct arguments *arguments, const char *name, int *next);

/* Each is defined in the file of its name; main.c has the table. */
extern const struct command command_hardware, command_gpus, command_models, command_estimate, command_estimators,
    command_plan, command_run, command_report, command_compare, command_calibrate, command_replay, command_fit,
    command_limit, command_batch, command_explain, command_peaks, command_weights, command_place, command_chain,
    command_offload, command_load, command_synth, command_lock, command_merge, command_submit, command_assumptions,
    command_doctor, command_completion, command_man, command_gate, command_history, command_factor;

#endif
