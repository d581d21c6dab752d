/* Offload list: the tensors of a model as an offload folder names them, and where in its files their bytes are.
 *
 * disk_offload writes model.state_dict(): parameters and persistent buffers under the model's own names, tied ones
 * under each of their names. So a tensor is looked for in the files under every name that they may have for it
 * (checkpoint_names.h), a tied one that is stored once has the bytes of the other, and experts that are stored one by
 * one are put together. */
#ifndef ASSAY_FIND_OFFLOAD_LIST_H
#define ASSAY_FIND_OFFLOAD_LIST_H

#include <stdbool.h>

#include "harness/checkpoint/offload_folder.h"
#include "models/find/model.h"

struct offload_item {
    struct offload_tensor tensor; /* type NULL: it is not known, or an offload folder has none for what is stored */
    const struct checkpoint_tensor *const *parts; /* whose bytes follow one another; borrowed from the checkpoint */
    int part_count;                               /* 0: the files have it not, or not in a form that can be copied */
    const char *obstacle;                         /* why it cannot be copied; NULL: nothing stands against it */
    bool is_wanted;                               /* true; a caller who wants some of them changes it */
};

struct offload_list {
    struct arena arena;         /* owns what follows */
    struct offload_item *items; /* in the order of the state dict */
    int count;
    const char **unused; /* names in the files that the model does not have */
    int unused_count;
};

/* Of a model with a configuration. checkpoint: NULL if there is none; it outlives the list. head HEAD_DEFAULT: the
 * one that its files have, else that of its task. */
enum status_code offload_list_make(const struct model *model, enum head head, struct offload_list *list,
                                   struct status *error);

/* The tensors of files under the names that they have there. */
enum status_code offload_list_stored(const struct checkpoint *checkpoint, struct offload_list *list,
                                     struct status *error);

void offload_list_release(struct offload_list *list);

#endif
