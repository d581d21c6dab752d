/* The model of assay offload: which of its tensors are meant, under which names. */
#ifndef ASSAY_CLI_OFFLOAD_MODEL_H
#define ASSAY_CLI_OFFLOAD_MODEL_H

#include "harness/cli/command.h"
#include "models/find/model.h"
#include "models/find/offload_list.h"

/* Stays where it is while it is open. */
struct offload_model {
    const char *name;
    struct model model;
    struct checkpoint *alone;       /* of files whose configuration is not known */
    const struct checkpoint *files; /* the model's or alone; NULL: there are none */
    struct offload_list list;
    bool is_stored_names; /* the list has the names of the files, not of a model */
};

/* Reads a model and lists its tensors as the options --head and --as-stored say; is_wanted is set by --names and --map.
 * STATUS_INVALID if a word of --names, or the disk of the map, covers no tensor. On failure nothing is open. */
enum status_code offload_model_open(const struct arguments *arguments, const char *name, struct offload_model *model,
                                    struct status *error);
void offload_model_close(struct offload_model *model);

#endif
