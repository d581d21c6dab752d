/* Offload folder, inside: what its reader and its writer share. Internal to harness/checkpoint. */
#ifndef ASSAY_CHECKPOINT_OFFLOAD_FOLDER_INSIDE_H
#define ASSAY_CHECKPOINT_OFFLOAD_FOLDER_INSIDE_H

#include "harness/base/json.h"
#include "harness/checkpoint/checkpoint.h"
#include "harness/checkpoint/offload_folder.h"

struct offload_folder {
    char *path, *index_path;
    struct json *index;              /* of a writer: with what it has written so far */
    struct checkpoint **safetensors; /* whose headers were read */
    int safetensors_count;
    size_t safetensors_room;
    char
        *expected; /* the tensor that is read next if those before it were read in the order of the index; NULL: none */
};

/* A folder without entries. STATUS_OUT_OF_MEMORY. */
enum status_code offload_folder_new(const char *path, struct offload_folder **folder, struct status *error);

/* Reads index.json, which is there. */
enum status_code offload_index_load(struct offload_folder *folder, struct status *error);

/* PATH/NAME.dat */
enum status_code offload_dat_path(const struct offload_folder *folder, const char *name, struct text *path,
                                  struct status *error);

/* The header of a file of safetensors, read once. */
enum status_code offload_header(struct offload_folder *folder, const char *file, const struct checkpoint **checkpoint,
                                struct status *error);

/* Makes the folder and those above it; *made_here is set where the last one was not there. STATUS_IO. */
enum status_code offload_folder_make(const struct offload_folder *folder, bool *made_here, struct status *error);

/* STATUS_IO if the disk says that it has less than that left. */
enum status_code offload_room_check(const struct offload_folder *folder, int64_t needed_bytes, struct status *error);

/* Puts an index into the place of the one that is there. STATUS_IO. */
enum status_code offload_index_write(const struct offload_folder *folder, const struct json *index,
                                     struct status *error);

/* Part of a file as a byte source of its own, its elements converted from one type to another. Takes file over, also on
 * failure. */
enum status_code offload_part_open(struct byte_source *file, int64_t offset, const struct offload_type *from,
                                   const struct offload_entry *entry, struct byte_source **source,
                                   struct status *error);

#endif
