/* Reading of a configuration: a config.json becomes a struct config, whose fields its family reads. */
#ifndef ASSAY_FAMILY_CONFIG_READING_H
#define ASSAY_FAMILY_CONFIG_READING_H

#include "models/config/config.h"

struct json;

/* MODEL#TYPE reads a model_type that is not known as TYPE, one that is: because it was asked for, never by itself.
 * Returns TYPE within name, or NULL; bare receives what stands before it. */
const char *config_read_as(const char *name, char bare[CONFIG_NAME_BYTES]);

/* From a document that has been parsed; path stands for it in messages, and `name` is what the user typed.
 * Keys that are not known are passed over, and noted: the real files have dozens that do not touch sizes. A wrong
 * value is STATUS_INVALID, "FILE:LINE:COLUMN: cause; remedy". */
enum status_code config_of_json(const struct json *document, const char *path, const char *name, struct config *config,
                                struct status *error);

/* Whether a document says no type that is known: what its tensors store can still be weighed. */
bool config_names_unknown(const struct json *document);

#endif
