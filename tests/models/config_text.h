/* Config text: a configuration from the words of a config.json, through a file as every reader has it. For test
 * programs whose set-up makes a scratch file (tests/support/scratch_file.h). */
#ifndef ASSAY_TESTS_MODELS_CONFIG_TEXT_H
#define ASSAY_TESTS_MODELS_CONFIG_TEXT_H

#include "models/config/config.h"

/* A configuration of the name "test" from the text, written into the scratch file. */
enum status_code text_read(const char *text, struct config *config, struct status *error);

/* The same; fails the running test where it is no configuration. */
struct config config_of(const char *text);

#endif
