/* Offload writer: weights into an offload folder (offload_folder.h), so that accelerate reads them.
 *
 * Every .dat appears whole under its name or not at all (harness/base/file_replace.h), and index.json is written last:
 * what it names is there. Entries that the folder has already stay, as accelerate merges them; a tensor that is written
 * again
 *   OFFLOAD_KEEP     must be the one that is there, type, shape and every byte: a folder of another model, or of older
 *                    weights, is told. Nothing of it is written;
 *   OFFLOAD_REPLACE  takes its place. The index loses its entry before the first byte changes, so that a run that is
 *                    killed leaves no entry whose file is another tensor's.
 * A writer that is abandoned takes away the files that it has added, and the folder if it has made it; entries that
 * were not replaced yet are given back to the index. After a kill (SIGKILL, a power failure) whole .dat files may stay
 * that no index names; the next writer writes over them. */
#ifndef ASSAY_CHECKPOINT_OFFLOAD_WRITE_H
#define ASSAY_CHECKPOINT_OFFLOAD_WRITE_H

#include "harness/checkpoint/offload_folder.h"

enum offload_existing { OFFLOAD_KEEP, OFFLOAD_REPLACE };

struct offload_writer; /* opaque */

struct offload_totals {
    int written_count, kept_count; /* tensors */
    int64_t written_bytes, kept_bytes;
};

/* Makes the folder if there is none, with those above it. STATUS_IO if that cannot be, or index.json is a link or
 * no file; STATUS_INVALID if an index is there that cannot be read. The caller finishes or abandons the writer. */
enum status_code offload_writer_open(const char *path, enum offload_existing existing, struct offload_writer **writer,
                                     struct status *error);

/* Says that these tensors will be written, before the first of them is. Their names and sizes are looked at, and
 * whether the disk has room: STATUS_IO with how much is missing. OFFLOAD_REPLACE: their entries are taken out of the
 * index at once; without this call that happens tensor by tensor. */
enum status_code offload_writer_expect(struct offload_writer *writer, const struct offload_tensor *tensors, int count,
                                       struct status *error);

/* One tensor in pieces: begun, given its bytes in order, and ended. After an error the writer is abandoned.
 * STATUS_INVALID if the name cannot be a file's, or what is there is another tensor; STATUS_IO if the disk does
 * not take it; STATUS_INTERNAL if the bytes given are not those of the shape. tensor is borrowed until the end. */
enum status_code offload_writer_begin(struct offload_writer *writer, const struct offload_tensor *tensor,
                                      struct status *error);
enum status_code offload_writer_take(struct offload_writer *writer, const void *bytes, int64_t count,
                                     struct status *error);
enum status_code offload_writer_end(struct offload_writer *writer, struct status *error);

/* A tensor that stays in a file of safetensors: the index alone names it. type NULL: as it is stored. file is named as
 * accelerate will open it: relative to the folder that its program runs in. */
enum status_code offload_writer_refer(struct offload_writer *writer, const char *name, const char *file,
                                      const char *weight_name, const struct offload_type *type, struct status *error);

/* The folder as it is so far, with what this writer has written; borrowed. */
struct offload_folder *offload_writer_folder(struct offload_writer *writer);
struct offload_totals offload_writer_totals(const struct offload_writer *writer);

/* Writes index.json where anything was added, and releases the writer; also on failure, which is as if it were
 * abandoned. */
enum status_code offload_writer_finish(struct offload_writer *writer, struct status *error);

void offload_writer_abandon(struct offload_writer *writer); /* NULL is accepted */

#endif
