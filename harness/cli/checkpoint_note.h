/* Checkpoint note: what is said on stderr of a model file that is not what its configuration says, or has none. */
#ifndef ASSAY_CLI_CHECKPOINT_NOTE_H
#define ASSAY_CLI_CHECKPOINT_NOTE_H

#include "harness/suite/suite.h"
#include "models/model.h"

/* Of the code with which a model was not found: where model files lie there whose headers can be read nevertheless, *error says
 * that assay weights reads them. Returns the code. */
enum status_code checkpoint_hint(const char *name, enum status_code code, struct status *error);

/* One line for each of these: a type that was read as another, weights that are published in fp8, a model file that disagrees
 * with the configuration. */
void checkpoint_warn(const char *command, const struct model *model);

/* The same for every model of a suite, once each. */
void suite_checkpoints_warn(const char *command, const struct suite *suite, const char *catalogue_dir);

#endif
