/* Configuration file: a config.json on the disk becomes a struct config. */
#ifndef ASSAY_FIND_CONFIG_FILE_H
#define ASSAY_FIND_CONFIG_FILE_H

#include <stdbool.h>

#include "models/config/config.h"

/* As config_of_json, from a file of at most 4 MiB. STATUS_IO if it cannot be read. */
enum status_code config_read(const char *path, const char *name, struct config *config, struct status *error);

/* Whether a file is a configuration that says no type that is known. */
bool config_file_names_unknown(const char *path);

#endif
