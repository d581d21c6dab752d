/* Saved configuration: the config.json that stands beside tensors which were made of it. */
#ifndef ASSAY_FIND_SAVED_CONFIG_H
#define ASSAY_FIND_SAVED_CONFIG_H

#include <stdbool.h>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "models/skeleton/skeleton.h"

/* Makes the model's own document that of its saved form: the type of the tensors, the class that they are of, and no
 * quantization, for they are not quantized. timm's has no class. *dequantized: whether it spoke of one.
 * STATUS_OUT_OF_MEMORY. */
enum status_code saved_config_make(struct json *document, const struct skeleton *skeleton, enum dtype precision,
                                   bool *dequantized, struct status *error);

#endif
