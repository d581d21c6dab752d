/* Catalogue: the configurations that come with the program, found by the names that users type.
 *
 * A folder of folders: OWNER/NAME/config.json or NAME/config.json, each file in Hugging Face's own format. The path
 * below the folder is the name. */
#ifndef ASSAY_FIND_CATALOGUE_H
#define ASSAY_FIND_CATALOGUE_H

#include <stdbool.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "models/config/config.h"

struct catalogue {
    struct arena arena; /* owns the names */
    const char **names; /* sorted by byte values: "bert-base-cased", "meta-llama/Llama-2-7b-hf" */
    int count;
};

/* Lists what is in the folder. STATUS_IO if it cannot be read. */
enum status_code catalogue_read(const char *folder, struct catalogue *catalogue, struct status *error);
void catalogue_release(struct catalogue *catalogue);

/* Whether the catalogue has a model of exactly this name; whether it has one, or several, that fit the name as in step
 * 3 of config_find. */
bool catalogue_has(const char *folder, const char *model);
bool catalogue_knows(const char *folder, const char *model);

/* The configuration alone (models/find/model.h finds the model files too). From what a user types, in this order:
 * 1. a catalogue name, exactly;
 * 2. a path to a config.json, or to a folder that holds one;
 * 3. a catalogue name in any case, or its last part alone, or without the ending that Hugging Face adds ("-hf",
 * ".a1_in1k"), where only one name fits; owners that the hub put before old names (google-bert/, openai-community/,
 * distilbert/) may stand there, and a model whose architecture one of the catalogue has (catalogue_twin) is answered by
 * that one; config->stands_for is what was typed then, and for a name spelled otherwise than in case and owner.
 * config->name is the catalogue name, or the path as typed. A name that is not known: STATUS_INVALID with the nearest
 * names; one that fits several: STATUS_INVALID with these; what can only be a path: with what is wrong there. */
enum status_code config_find(const char *catalogue_folder, const char *model, struct config *config,
                             struct status *error);

#endif
