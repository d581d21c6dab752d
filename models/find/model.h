/* Model: a configuration, and, if model files are there, their headers.
 *
 * Headers are the truth for weights, the configuration for everything else (docs/decisions/0014). */
#ifndef ASSAY_FIND_MODEL_H
#define ASSAY_FIND_MODEL_H

#include "harness/base/status.h"
#include "harness/case/workload.h"
#include "models/config/config.h"
#include "models/family/config_reading.h"
#include "models/find/checkpoint_check.h"
#include "models/find/inferred_config.h"
#include "models/find/model_files.h"
#include "models/skeleton/skeleton.h"

/* Where models are looked for. */
struct model_places {
    const char *catalogue_dir; /* models/catalogue */
    const char *folder;        /* where a path begins that is not whole, of a suite its own; NULL: where we are */
};

/* Skeletons point into config, so a model stays where it is while one is in use. */
struct model {
    struct config config;          /* vocab is the header's if the file has another: see model_skeleton */
    struct checkpoint *checkpoint; /* NULL: there is only a configuration */
    struct checkpoint_check check; /* of the two; all zero without a checkpoint */
    int shard_count;               /* files that look like shards and are not read: their index is missing */
    struct inferred inferred;      /* if there is no configuration: what config is made of */
};

/* From what a user types, in this order:
 * 1. a name of the catalogue, exactly;
 * 2. a path (model_files.h): of a config.json, of a model file with a config.json beside it, of a .gguf, or of a
 * folder that holds these; a model file without a config.json, if its tensors alone say what the model is
 * (inferred_config.h). What is not there and begins with suites/ or peers/ is one of the program's own suites'
 * models;
 * 3. a name of the catalogue as people write it (config_find);
 * 4. a name on the Hugging Face hub: [hf://][OWNER/]NAME[@REVISION][/FILE], in its caches and then by the network
 *   (model_hub.h).
 * MODEL#TYPE: see config_read_as. config.name is the name in the catalogue, or what was typed. STATUS_INVALID with the
 * nearest names if nothing is found, and with the names that fit if several do; STATUS_IO if the hub could not
 * be asked. The caller releases the model. */
enum status_code model_find(const struct model_places *places, const char *text, struct model *model,
                            struct status *error);

/* The same, and if there are model files and nothing says what the model is, STATUS_OK with their headers alone:
 * config.family is NULL then, and *unread says why. */
enum status_code model_open(const struct model_places *places, const char *text, struct model *model,
                            struct status *unread, struct status *error);

/* What of the model is on this machine, by step 2. place: without #TYPE. */
bool model_local_files(const struct model_places *places, const char *place, struct model_files *files);

/* The configuration of a checkpoint that has none, and whether every tensor is one of that model. STATUS_INVALID if
 * the tensors do not say it. name may ask for a type, MODEL#TYPE. */
enum status_code model_infer(const struct checkpoint *checkpoint, const char *name, struct model *model,
                             struct status *error);

/* The skeleton of a workload, with the header's shapes in place of those that differ. What runs must agree with its
 * configuration: STATUS_INVALID if shapes differ and the workload does more than load (a vocabulary of another size
 * is no such difference: it is the configuration's that gives way). The caller releases the skeleton before the
 * model. */
enum status_code model_skeleton(const struct model *model, const struct workload *workload, struct skeleton *skeleton,
                                struct status *error);

/* Gives the headers back before the model; config stays. */
void model_headers_release(struct model *model);

void model_release(struct model *model); /* all zero is accepted, and left */

/* For a configuration that names a type that is not known, as cause says, beside tensors: what these store can still be
 * weighed. *unread becomes cause; if the tensors really are those of a known type, it names that, MODEL#TYPE.
 * STATUS_OK, or an error of the host. */
enum status_code model_type_unknown(const struct checkpoint *checkpoint, const char *name, const struct status *cause,
                                    struct status *unread);

#endif
