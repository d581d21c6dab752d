/* Load plan: what load_checkpoint_in_model of accelerate 1.15 would do with each tensor of a checkpoint: where it goes,
 * as which type, and what is not loaded. Decided from headers alone; nothing is read or allocated.
 *
 * The decisions are accelerate's (peers/placement/load_checkpoint.py): the longest key of the device map that a name
 * lies below, the dtype of the call or else the model's own, the list of what stays float32 (for float16 alone), the
 * disk's files in the type that is stored, buffers that go to the disk with offload_buffers alone, one place for what
 * shares a storage. Ours are: names that published files have and modules have not are understood
 * (checkpoint_names.h), experts that are stored one by one are parts of the tensor that joins them, float8 and
 * integers stay what they are, keys that are missing are told of, and a wrong shape is refused on the disk too.
 * docs/LOADING.md has the list. */
#ifndef ASSAY_LOAD_LOAD_PLAN_H
#define ASSAY_LOAD_LOAD_PLAN_H

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/checkpoint/checkpoint.h"
#include "harness/placement/device_map.h"
#include "models/find/checkpoint_names.h"
#include "models/skeleton/skeleton.h"

struct load_request {
    const struct checkpoint *checkpoint; /* outlives the plan, as the skeleton does */
    const struct skeleton *skeleton;
    const struct checkpoint_names *names;
    const struct device_map *map;
    const struct storage_type *type; /* F32, F16 or BF16; NULL: each tensor as the model has it */
    const char *const *keep;         /* keep_in_fp32_modules; NULL: those that the model's class names */
    int keep_count;
    bool strict, offload_buffers;
    bool has_folder; /* for what goes to the disk */
};

/* A tensor of the model that has a place. */
struct load_target {
    int tensor; /* of the skeleton, whose storage is filled */
    int place;  /* index into places */
    const struct storage_type *type;
    int64_t element_count, bytes;
    int piece_count;
    const char *path; /* the name that it was stored by, among those that share the storage */
};

/* A stored tensor, or what it is of one: it fills its target from first_element on. */
struct load_piece {
    const struct checkpoint_tensor *stored;
    int target;
    int64_t first_element, element_count;
};

struct load_place {
    struct placement_device device;
    int target_count;
    int64_t bytes; /* of the targets there */
};

/* Names, in the order of the file or of the skeleton. */
struct name_list {
    const char **names;
    int count;
};

struct load_plan {
    struct arena arena;              /* owns everything below but the warnings */
    const struct skeleton *skeleton; /* borrowed */
    struct load_place *places;       /* those that the map names: GPUs by number, then mps, cpu, disk */
    int place_count;
    struct load_target *targets;
    int target_count;
    struct load_piece *pieces; /* by file and offset */
    int piece_count;
    struct name_list missing;    /* tensors that nothing fills; of a joined one with some parts, how many are there */
    struct name_list unexpected; /* stored, and no tensor of the state dict, or one that another has filled */
    struct name_list unloaded;   /* buffers that would go to the disk, without offload_buffers */
    int cast_count;              /* pieces that change their type on the way */
    int renamed_count;           /* pieces whose name the model does not have as it stands */
    int tied_count;              /* stored once more under the name of a tensor that shares a storage */
    int64_t stored_bytes;        /* of the pieces, in their files */
    struct text warnings;        /* a line each */
};

/* STATUS_INVALID with "FILE: tensor 'NAME': cause; remedy" for what accelerate refuses: a tensor without a device,
 * another shape, a disk without a folder, with strict a key that is unexpected; and, with strict, one that is missing.
 * Nothing is left then. The caller releases the plan. */
enum status_code load_plan_make(const struct load_request *request, struct load_plan *plan, struct status *error);
void load_plan_release(struct load_plan *plan); /* all zero is accepted */

/* The device of the longest key that path is or lies below; false: there is none. */
bool device_map_find(const struct device_map *map, const char *path, struct placement_device *device);

/* Whether keep_in_fp32_modules names a parameter, by accelerate's rule: a key is its name, or stands in it with a dot
 * behind. */
bool name_is_kept(const char *path, const char *const *keep, int keep_count);

#endif
