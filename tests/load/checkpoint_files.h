/* Checkpoint files: a model's tensors as files of safetensors, with values that can be told, whole, in shards, or
 * damaged. */
#ifndef ASSAY_TESTS_LOAD_CHECKPOINT_FILES_H
#define ASSAY_TESTS_LOAD_CHECKPOINT_FILES_H

#include <stdbool.h>

#include "models/skeleton/skeleton.h"
#include "tests/models/model_folder.h"

struct files_request {
    const struct skeleton *skeleton;
    const char *stored; /* type of what is floating: "F32" */
    const char *const
        *names;      /* of the files: "model.safetensors", or of indexes, whose shards are written; ended by NULL */
    int shard_count; /* which take the tensors in turn, in the order of their names */
    const struct edit *edits; /* all but PREFIX; ADD: a tensor of 4 floats */
    int edit_count;
    const char *format;  /* of the metadata; NULL: there is none */
    bool splits_experts; /* joined tensors of experts are stored one by one, by the names of Qwen's files */
};

/* Writes them into the folder, which is there. Fails the running test where it cannot. */
void checkpoint_files_write(const char *folder, const struct files_request *request);

/* Element number `index` of the tensor of that name in the files: a whole number from -100 to 100, exact in every
 * type. */
double stored_value(const char *name, int64_t index);

#endif
