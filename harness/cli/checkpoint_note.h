/* Checkpoint note: what is said on stderr of a model file that is not what its configuration says. */
#ifndef ASSAY_CLI_CHECKPOINT_NOTE_H
#define ASSAY_CLI_CHECKPOINT_NOTE_H

#include "harness/suite/suite.h"
#include "models/model.h"

/* One line where the two disagree, nothing where they agree or there is no model file. */
void checkpoint_warn(const char *command, const struct model *model);

/* The same for every model of a suite, once each. Those of the catalogue have no model files. */
void suite_checkpoints_warn(const char *command, const struct suite *suite, const char *catalogue_dir);

#endif
