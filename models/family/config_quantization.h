/* quantization_config of a configuration; for config_reading.c alone. */
#ifndef ASSAY_FAMILY_CONFIG_QUANTIZATION_H
#define ASSAY_FAMILY_CONFIG_QUANTIZATION_H

#include "models/config/field.h"

/* config->packing or ->stored_in_fp8, if the document has the key. A fault names the method, or the key, and a
 * remedy. */
void config_quantization_read(struct field_reader *reader, struct config *config);

#endif
