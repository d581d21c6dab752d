/* Checkpoint folder: whether a checkpoint may be written into a folder, before anything is. Nothing that lies there is
 * ever removed. */
#ifndef ASSAY_CHECKPOINT_CHECKPOINT_FOLDER_H
#define ASSAY_CHECKPOINT_CHECKPOINT_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/checkpoint/checkpoint_plan.h"

struct checkpoint_folder {
    char path[PATH_MAX];          /* without slashes at its end */
    size_t lengths[PATH_MAX / 2]; /* of the parts of path that were made, the innermost last */
    int made_count;
    int64_t free_bytes;           /* for this user, where the folder is */
    int left_count;               /* files there that look like parts of another checkpoint and stay */
    char left_name[NAME_MAX + 1]; /* one of them */
};

/* Makes the folder, and those above it, if they are missing. STATUS_IO if that cannot be done; STATUS_INVALID
 * where it holds anything and is_forced is not set, or a model.safetensors that readers would take instead of the
 * plan's shards. */
enum status_code checkpoint_folder_open(const char *path, const struct checkpoint_plan *plan, bool is_forced,
                                        struct checkpoint_folder *folder, struct status *error);

/* Removes again the folders that were made, where nothing is in them. */
void checkpoint_folder_undo(const struct checkpoint_folder *folder);

/* Whether path leads to the folder. */
bool checkpoint_folder_is(const struct checkpoint_folder *folder, const char *path);

#endif
