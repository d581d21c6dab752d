/* Model: a configuration, and where model files are there the headers of these.
 *
 * Headers are the truth for weights, the configuration for everything else (docs/decisions). */
#ifndef ASSAY_MODELS_MODEL_H
#define ASSAY_MODELS_MODEL_H

#include "harness/base/status.h"
#include "models/config.h"

struct checkpoint;

/* Where models are looked for. */
struct model_places {
    const char *catalogue_dir; /* models/catalogue */
};

/* Skeletons point into config, so a model stays where it is while one is in use. */
struct model {
    struct config config;
    struct checkpoint *checkpoint; /* NULL: there is only a configuration */
};

/* From what a user types, in this order:
 * 1. a name of the catalogue, exactly;
 * 2. a path: of a config.json, or of a folder that holds one;
 * 3. a name of the catalogue as people write it (catalogue_find);
 * 4. a name on the Hugging Face hub: [hf://][OWNER/]NAME[@REVISION], in its caches and then by the network (model_hub.h).
 * config.name is the name in the catalogue, or what was typed. STATUS_INVALID with the nearest names where nothing is found,
 * and with the names that fit where several do; STATUS_IO where the hub could not be asked. The caller releases the model. */
enum status_code model_find(const struct model_places *places, const char *text, struct model *model,
                            struct status *error);

void model_release(struct model *model); /* all zero is accepted, and left */

#endif
