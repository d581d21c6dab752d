/* Options of assay synth: the model as its configuration describes it, and how it is to be stored. */
#ifndef ASSAY_CLI_SYNTH_CASE_H
#define ASSAY_CLI_SYNTH_CASE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/cli/command.h"
#include "models/initial_numbers.h"
#include "models/saved_layout.h"

/* Stays where it is while it is open: the skeleton points into config. */
struct synth_case {
    struct arena arena;
    char config_path[PATH_MAX];
    struct json *document; /* of config.json, as it is to be written */
    struct config config;
    struct skeleton skeleton;
    struct saved_layout layout;
    const char *folder; /* --out */
    enum dtype precision;
    int64_t maximum_bytes;
    int64_t seed;
    bool is_zero;
    struct text notes; /* model_notes.h */
};

/* Reads operand 0 and the options of the command. On failure nothing is open. */
enum status_code synth_case_open(const struct arguments *arguments, struct synth_case *synth, struct status *error);
void synth_case_close(struct synth_case *synth);

#endif
