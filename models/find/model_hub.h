/* Models of the Hugging Face hub: the last place where model_find looks. Internal to models. */
#ifndef ASSAY_FIND_MODEL_HUB_H
#define ASSAY_FIND_MODEL_HUB_H

#include "models/family/config_reading.h"
#include "models/find/model.h"

enum { HUB_CONFIG_BYTES_MAXIMUM = 4 * 1024 * 1024 }; /* of a config.json, as config_read takes it */

/* From "[hf://][OWNER/]NAME[@REVISION][/FILE]", through the caches and then the network (harness/hub/hub.h), as the
 * environment says. A name without an owner is looked for in the caches alone: models of the hub have one, and a slip
 * of the keyboard is not to ask the world. not_found is what the places before have said ("model 'x' is neither ..."):
 * if there is no such repository, or it could not be asked for, *error is that and then what was tried here; else it
 * is what is wrong with the repository or its files. A repository without a config.json: as in model_open. */
enum status_code model_find_on_hub(const char *text, const struct status *not_found, struct model *model,
                                   struct status *unread, struct status *error);

#endif
