/* Model notes: what a person should know of a model before they believe its figures: on stderr, and in "notes"
 * of --json. */
#ifndef ASSAY_CLI_MODEL_NOTES_H
#define ASSAY_CLI_MODEL_NOTES_H

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/cli/command.h"
#include "harness/suite/suite.h"
#include "models/find/model.h"

/* For the table of a command that reads a model. */
#define STRICT_OPTION_ROW                                                                                              \
    {                                                                                                                  \
        "strict", OPTION_FLAG, NULL, "refuse unknown keys of a config.json, and missing ones that decide sizes"        \
    }

/* code: with which a model was not found. If there are model files whose headers can be read nevertheless, *error says
 * that assay weights reads them. Returns the code. */
enum status_code checkpoint_hint(const char *name, enum status_code code, struct status *error);

/* Appends a line to notes, and prints it to stderr, for each key of the configuration that is unknown and resembles one
 * that is read, or that is missing and decides sizes. With --strict every unknown key has a line, and STATUS_INVALID is
 * returned if there was a line. */
enum status_code config_notes_give(const struct arguments *arguments, const struct config *config, struct text *notes,
                                   struct status *error);

/* The same, and a line for each of these: a type that was read as another, weights that are published in fp8, a model
 * file that disagrees with the configuration. */
enum status_code model_notes_give(const struct arguments *arguments, const struct model *model, struct text *notes,
                                  struct status *error);

/* A line if the class attends in another form than the workload says. Another if sequences of the workload are longer
 * than the positions that the model was made for, toys aside, which nobody trains. Each line once. */
void workload_notes_give(const char *command, const struct config *config, const struct workload *workload,
                         struct text *notes);

/* Those of model_notes_give for every model of a suite, once each, and that of its longest sequence. */
enum status_code suite_notes_give(const struct arguments *arguments, const struct suite *suite,
                                  const char *catalogue_dir, struct text *notes, struct status *error);

/* A line if the files do not store the head that the configuration names. With --strict STATUS_INVALID, unless the
 * model without one is asked for. */
enum status_code head_note_give(const struct arguments *arguments, const struct model *model, struct text *notes,
                                struct status *error);

/* One more note, without a line end; also printed. */
__attribute__((format(printf, 3, 4))) void note_give(const char *command, struct text *notes, const char *format, ...);

/* The lines as a list of texts. */
struct json *notes_json(const struct text *notes);

#endif
