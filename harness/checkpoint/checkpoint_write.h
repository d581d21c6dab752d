/* Checkpoint write: the files of a plan, and what stands beside them, into a folder: all of them or none.
 *
 * Every file is made without a name (file_replace.h) and brought to the disk; only when all are complete do they take
 * their names, the index last, without which a reader finds no shards. A disk that is full, or a program that is killed
 * before, leaves the folder as it was. The numbers are made piece by piece by several threads and written in order by
 * the caller's, so that memory does not grow with the checkpoint: CHECKPOINT_WRITE_BYTES at most, the plan and the
 * headers aside. */
#ifndef ASSAY_CHECKPOINT_CHECKPOINT_WRITE_H
#define ASSAY_CHECKPOINT_CHECKPOINT_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/checkpoint/checkpoint_plan.h"

enum { CHECKPOINT_WRITE_BYTES = 16 << 20 };

/* A text that stands beside the tensors. */
struct checkpoint_text {
    const char *name; /* "config.json" */
    const struct text *content;
};

struct checkpoint_writing {
    const struct checkpoint_plan *plan;
    const char *folder;
    const struct checkpoint_text *texts; /* take their names in this order, before and ... */
    int text_count;
    const struct text
        *index;   /* ... after the files of tensors: its own name last; NULL: there is one file of tensors */
    bool is_zero; /* all tensors are zeros, for which no room is taken where the file system can do without */
    /* Fills out with count elements of tensor number index, from element first on. Called by several threads at
     * once. */
    void (*fill)(const void *context, int index, int64_t first, int64_t count, void *out);
    const void *context;
    /* Told now and then by the caller's thread; may be NULL. name: of the file that is written, written_bytes: of
     * all. */
    void (*progress)(void *context, const char *name, int64_t written_bytes);
    void *progress_context;
};

/* The folder must be there. STATUS_IO with "PATH: cannot be written: cause"; STATUS_OUT_OF_MEMORY. Nothing has a name
 * then, unless the failure came while names were given: then fewer than all have. */
enum status_code checkpoint_write(const struct checkpoint_writing *writing, struct status *error);

/* Files that checkpoint_write holds open at a time. */
int checkpoint_write_open_files(const struct checkpoint_writing *writing);

#endif
