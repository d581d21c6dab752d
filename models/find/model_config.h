/* The file of a model's configuration: for programs other than this one, which want a path. */
#ifndef ASSAY_FIND_MODEL_CONFIG_H
#define ASSAY_FIND_MODEL_CONFIG_H

#include <limits.h>

#include "models/find/model.h"

/* The path of the config.json of what model_find finds for text. The errors are its own, and STATUS_INVALID if there
 * is no such file, as for a GGUF. */
enum status_code model_config_path(const struct model_places *places, const char *text, char path[PATH_MAX],
                                   struct status *error);

#endif
