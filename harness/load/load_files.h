/* Load files: the files of a checkpoint, held open from the first byte of their headers to the last of their tensors.
 *
 * They are read with pread into memory of ours, not mapped: a mapped file that becomes shorter ends the process with
 * SIGBUS, a read of it ends with an error (docs/decisions). A file that is removed or replaced meanwhile stays the one
 * that was opened, so that header and tensors are never those of two files; it is told of all the same
 * (load_files_check). */
#ifndef ASSAY_LOAD_LOAD_FILES_H
#define ASSAY_LOAD_LOAD_FILES_H

#include "harness/base/byte_source.h"
#include "harness/base/page_cache.h"
#include "harness/checkpoint/checkpoint.h"

struct load_files {
    const struct checkpoint *checkpoint;
    struct checkpoint *own;       /* the same where it was read here; NULL: borrowed */
    struct byte_source **sources; /* by file of the checkpoint, */
    struct file_paths paths;      /* and where they are */
    struct open_file *opened;     /* a list of all, the index too */
};

/* Which file of what a person names is loaded, as load_checkpoint_in_model decides it: a file itself, else of a folder
 * its pytorch_model.bin, its model.safetensors, or its one *.index.json. *path is released with free. STATUS_INVALID
 * if there is no such file, if a folder has several indexes, and if what is taken is no file of safetensors;
 * with accelerate's exception named. */
enum status_code load_file_choose(const char *text, char **path, struct status *error);

/* Opens the file and the shards that it names, and reads their headers. path: any name for an index that ends in .json.
 * The errors are those of checkpoint_read. The caller releases files. */
enum status_code load_files_open(const char *path, struct load_files *files, struct status *error);

/* Opens the files of a checkpoint whose headers were read before; it is borrowed and outlives files. STATUS_IO if a
 * file cannot be opened, or is not as long any more as it was then. */
enum status_code load_files_hold(const struct checkpoint *checkpoint, struct load_files *files, struct status *error);

/* Reads count bytes of a stored tensor, from its byte `at` on: the one way in which tensors come from these files.
 * STATUS_IO with "FILE: cause; remedy". */
enum status_code load_files_read(const struct load_files *files, const struct checkpoint_tensor *stored, int64_t at,
                                 void *bytes, int64_t count, struct status *error);

/* The bytes of the parts in order, in pieces of LOAD_STREAM_BYTES at most, to take, which ends the stream with any
 * other code than STATUS_OK. */
enum { LOAD_STREAM_BYTES = 1 << 20 };
struct load_stream {
    const struct checkpoint_tensor *const *parts;
    int part_count;
    enum status_code (*take)(void *context, const void *bytes, int64_t count, struct status *error);
    void *context;
};
enum status_code load_files_stream(const struct load_files *files, const struct load_stream *stream,
                                   struct status *error);

/* STATUS_IO with "FILE: cause; remedy" where a file is not the one any more that was opened, or was written to. */
enum status_code load_files_check(const struct load_files *files, struct status *error);

void load_files_release(struct load_files *files); /* all zero is accepted */

#endif
