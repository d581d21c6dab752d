/* Configuration notes: what a configuration leaves out that decides sizes, and which of its keys nobody reads. */
#ifndef ASSAY_CONFIG_CONFIG_NOTES_H
#define ASSAY_CONFIG_CONFIG_NOTES_H

#include "models/config/field.h"

/* Adds to config->notes, after a family has read the document: keys that resemble one that is read, or one that the
 * real class knows, then every missing key of the reader's record, then other unknown ones. Within rope_parameters,
 * rope_scaling, quantization_config and text_config keys are looked at in the same way. At most CONFIG_NOTES_MAXIMUM
 * are kept, and the first CONFIG_KEYS_LOOKED_AT unknown keys are looked at. */
enum { CONFIG_KEYS_LOOKED_AT = 1000 };
void config_notes_take(const struct field_reader *reader, struct config *config);

#endif
