/* Checkpoint builder: what the readers of the formats call to list what they find, and the account of the memory for
 * it. Internal to harness/checkpoint.
 *
 * The account: every byte of a checkpoint, and of what a reader needs while it reads, is taken with builder_alloc or
 * builder_grow, which refuse (STATUS_INVALID) once the sum goes beyond what checkpoint.h allows for the opened files.
 * Nothing is taken because a header claims a count: lists grow as their elements are read. */
#ifndef ASSAY_CHECKPOINT_CHECKPOINT_BUILDER_H
#define ASSAY_CHECKPOINT_CHECKPOINT_BUILDER_H

#include <stddef.h>

#include "harness/checkpoint/checkpoint.h"

struct checkpoint_builder {
    struct checkpoint *checkpoint;
    const struct checkpoint_place *place;
    const char *file_name; /* at place, of the file that was asked for */
    struct status *error;
    int64_t taken_bytes, allowed_bytes;
    int tensor_capacity, file_capacity, entry_capacity;
};

/* The readers of the formats. source is the file that was asked for; the caller releases it. Each ends with
 * builder_finish. */
enum status_code safetensors_read(struct checkpoint_builder *builder, struct byte_source *source);
enum status_code safetensors_index_read(struct checkpoint_builder *builder, struct byte_source *source);
enum status_code gguf_read(struct checkpoint_builder *builder, struct byte_source *source);

/* One file of safetensors, a whole model or a shard: adds the file, its tensors and its entries. */
enum status_code safetensors_file_read(struct checkpoint_builder *builder, struct byte_source *source);

/* Zeroed memory of the checkpoint. */
enum status_code builder_alloc(struct checkpoint_builder *builder, size_t size, void **memory);

/* Room for one more element in a list of count elements of so many bytes, grown by half; the old ones are copied. */
enum status_code builder_grow(struct checkpoint_builder *builder, void **list, int count, int *capacity,
                              size_t element_bytes);

/* Accounts for memory that is not the checkpoint's, until it is given back with a negative size. */
enum status_code builder_reserve(struct checkpoint_builder *builder, int64_t bytes);

enum status_code builder_copy(struct checkpoint_builder *builder, const char *text, const char **copy);

/* STATUS_INVALID where a model is said to lie in more than CHECKPOINT_FILES_MAXIMUM files; before the first is
 * opened. */
enum status_code builder_files_expect(const struct checkpoint_builder *builder, int count);

/* Adds the file that a source is, and what its size allows to what may be taken. It is the last of
 * checkpoint->files. */
enum status_code builder_file(struct checkpoint_builder *builder, const struct byte_source *source);

/* Adds a tensor; shape and name are the caller's and are copied. Its size is checked against its type: STATUS_INVALID
 * where the shape is no whole number of blocks or too large. *added is valid until the next is added. */
enum status_code builder_tensor(struct checkpoint_builder *builder, const struct checkpoint_tensor *tensor,
                                struct checkpoint_tensor **added);

/* Adds an entry; key, text and integers are the caller's and are copied. */
enum status_code builder_entry(struct checkpoint_builder *builder, const struct checkpoint_entry *entry);

/* The last step: totals and the hash of the names. STATUS_INVALID if two tensors have one name,
 * or two entries of a file one key. */
enum status_code builder_finish(struct checkpoint_builder *builder);

enum { QUOTE_BYTES = 96 };

/* A name for a message: in quotes, cut, characters that are not printable as '?'. Returns quote. */
const char *name_quote(const char *name, char quote[QUOTE_BYTES]);

#endif
