/* Offload folder: weights on the disk as accelerate 1.15 keeps them there (offload_state_dict, disk_offload,
 * dispatch_model).
 *
 *   index.json   {"NAME": {"dtype": "float32", "shape": [2, 3]}, ...}, indented by 2
 *   NAME.dat     the elements in C order and nothing else; a tensor without dimensions is one element, an empty one a
 *                zero byte
 *
 * An entry may name a file of safetensors instead: {"safetensors_file": PATH, "weight_name": NAME, "dtype": "float16"};
 * both last members may be missing. It then has no .dat, and its elements are converted where the file has another
 * dtype.
 *
 * accelerate trusts an index that is there, whatever model it was written for. Here an entry is read in full before it
 * is used, and a .dat must have the very size that its entry says; offload_entry_expect holds an entry against the
 * tensor that is wanted. Names come from outside: one with a '/' in it is refused, so no file of another folder is read
 * as a .dat. */
#ifndef ASSAY_CHECKPOINT_OFFLOAD_FOLDER_H
#define ASSAY_CHECKPOINT_OFFLOAD_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/byte_source.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/checkpoint/offload_type.h"

/* numpy has no more dimensions; an index of a hundred thousand tensors has 18 MiB. */
enum { OFFLOAD_RANK_MAXIMUM = 64, OFFLOAD_INDEX_BYTES_MAXIMUM = 64 << 20 };

struct offload_tensor {
    const char *name;
    const struct offload_type *type;
    int rank;
    const int64_t *shape;
};

struct offload_entry {
    const char *name;
    const struct offload_type *type;
    int rank;
    int64_t shape[OFFLOAD_RANK_MAXIMUM];
    int64_t bytes;                /* of the elements */
    const char *safetensors_file; /* NULL: NAME.dat */
    const char *weight_name;      /* in that file */
};

struct offload_folder; /* opaque */

/* Reads index.json of the folder at path. STATUS_INVALID with "PATH/index.json:LINE:COLUMN: cause; remedy" where it is
 * no JSON object; entries are looked at when they are asked for. STATUS_IO if it is missing or cannot be read. The
 * caller closes the folder; texts in its entries live until then. */
enum status_code offload_folder_open(const char *path, struct offload_folder **folder, struct status *error);
void offload_folder_close(struct offload_folder *folder); /* NULL is accepted */

const char *offload_folder_path(const struct offload_folder *folder);
int offload_folder_count(const struct offload_folder *folder);

/* Names in the order of the index: NULL gives the first, the last gives NULL. */
const char *offload_folder_next(const struct offload_folder *folder, const char *name);
bool offload_folder_has(const struct offload_folder *folder, const char *name);

/* STATUS_INVALID with "PATH/index.json:LINE:COLUMN: ..." where the entry is missing or wrong; of an entry that names a
 * file of safetensors the header of that file is read, whose errors are those of checkpoint_open. */
enum status_code offload_entry_read(struct offload_folder *folder, const char *name, struct offload_entry *entry,
                                    struct status *error);

/* Whether the entry is what a model has: STATUS_INVALID if its shape or dtype is another. */
enum status_code offload_entry_expect(const struct offload_folder *folder, const struct offload_entry *entry,
                                      const struct offload_tensor *tensor, struct status *error);

/* The elements: entry->bytes of them, at whole elements' offsets. The caller releases the source before the folder is
 * closed. STATUS_INVALID if a .dat is of another size, or the elements of a file of safetensors would have to be
 * converted in a way that is not known here; STATUS_IO if the file is missing or none. */
enum status_code offload_source_open(struct offload_folder *folder, const struct offload_entry *entry,
                                     struct byte_source **source, struct status *error);

/* Says that this tensor is read now, and what follows it in the index next, as a pass through a model does: the system
 * begins to fetch the two files that follow, at most OFFLOAD_PREFETCH_BYTES of each. Nothing is said of what cannot be
 * opened. */
enum { OFFLOAD_PREFETCH_BYTES = 16 << 20 };
void offload_prefetch(struct offload_folder *folder, const char *name);

/* Bytes of a tensor of this shape. STATUS_INVALID if the name cannot be a file's or a dimension is negative,
 * STATUS_OVERFLOW if the size does not fit. where: stands before the text. */
enum status_code offload_tensor_bytes(const char *where, const struct offload_tensor *tensor, int64_t *bytes,
                                      struct status *error);

/* "float32 [2, 3]" */
void offload_shape_append(const struct offload_type *type, int rank, const int64_t *shape, struct text *text);

#endif
