/* Checkpoint plan: which tensors go into which file of a checkpoint of safetensors, and at which offset. Nothing is
 * written here.
 *
 * Files are those that save_pretrained makes (transformers 5.23): one model.safetensors, or
 * model-00001-of-00003.safetensors and so on with a model.safetensors.index.json beside them. Tensors are dealt out in
 * their order (split_torch_state_dict_into_shards of huggingface_hub 2.4): a group goes into the open file while that
 * stays at most the maximum; one that is larger than the maximum gets a file of its own at once, and the open file
 * stays open. Inside a file the library sorts: wide types first, then by name.
 *
 * Worked number: groups of 3, 9, 2, 4 bytes and a maximum of 5 bytes: files [9], [3, 2], [4]. */
#ifndef ASSAY_CHECKPOINT_CHECKPOINT_PLAN_H
#define ASSAY_CHECKPOINT_CHECKPOINT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/checkpoint/storage_type.h"

enum { PLANNED_RANK_MAXIMUM = 8, PLANNED_FILE_NAME_BYTES = 48 };

struct planned_tensor {
    const char *name; /* UTF-8 */
    const struct storage_type *type;
    int rank;
    int64_t size[PLANNED_RANK_MAXIMUM];
    bool stays_with_previous; /* one group with the tensor before it, which is never split */
    int64_t bytes;            /* made by the plan, like what follows */
    int64_t offset;           /* of its first byte among the data of its file */
    int file;
};

struct planned_file {
    char name[PLANNED_FILE_NAME_BYTES]; /* "model.safetensors", "model-00001-of-00003.safetensors" */
    const int *tensors;                 /* tensor_count indices, in the order of their offsets */
    int tensor_count;
    int64_t header_bytes; /* with the eight that say how long it is */
    int64_t data_bytes;
};

struct checkpoint_plan {
    struct arena arena;             /* owns files and their lists */
    struct planned_tensor *tensors; /* borrowed from the caller, in the order in which they were dealt out */
    int tensor_count;
    struct planned_file *files;
    int file_count;
    int64_t data_bytes;  /* of all tensors: total_size of the index */
    int64_t total_bytes; /* of all files of tensors, headers too */
};

/* Deals tensors out and fills in what the plan makes of them. maximum_bytes: at least 1. STATUS_OVERFLOW if sizes do
 * not fit; STATUS_INVALID if there would be more files than CHECKPOINT_FILES_MAXIMUM; STATUS_OUT_OF_MEMORY. */
enum status_code checkpoint_plan_make(struct planned_tensor *tensors, int tensor_count, int64_t maximum_bytes,
                                      struct checkpoint_plan *plan, struct status *error);
void checkpoint_plan_release(struct checkpoint_plan *plan);

/* The header of a file, byte for byte what safetensors writes: its length in eight bytes, one object, blanks up to a
 * multiple of eight. */
void planned_header_append(const struct checkpoint_plan *plan, int file, struct text *text);

/* The index of several files as save_pretrained writes it. parameter_count: its total_parameters. */
enum status_code planned_index_append(const struct checkpoint_plan *plan, int64_t parameter_count, struct text *text,
                                      struct status *error);

#endif
