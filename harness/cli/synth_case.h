/* Options of assay synth: the model as its configuration describes it, and how it is to be stored. */
#ifndef ASSAY_CLI_SYNTH_CASE_H
#define ASSAY_CLI_SYNTH_CASE_H

#include <limits.h>
#include <stdbool.h>

#include "harness/cli/command.h"
#include "harness/load/checkpoint_make.h"

/* Stays where it is while it is open: the recipe points into it, as the draft does. */
struct synth_case {
    struct arena arena;
    char config_path[PATH_MAX];
    char name[CONFIG_NAME_BYTES];
    struct checkpoint_recipe recipe;
    struct checkpoint_draft draft;
    const char *folder; /* --out */
    struct text notes;  /* model_notes.h */
};

/* Reads operand 0 and the options of the command, and drafts the checkpoint. On failure nothing is open. */
enum status_code synth_case_open(const struct arguments *arguments, struct synth_case *synth, struct status *error);
void synth_case_close(struct synth_case *synth);

#endif
