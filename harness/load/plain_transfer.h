/* Plain transfers: what a disk and a bus give to a program that does nothing besides. They stand beside what a load, an
 * offload folder or a placed replay took for as many bytes, in the same run, so that a rate can be told as a share of
 * what was possible.
 *
 * One thread, pieces of PLAIN_PIECE_BYTES, one buffer that is used again and again. A file that the kernel keeps in its
 * page cache is read from memory: compare two reads only with the cache in the same state before each of them
 * (files_forget, or neither), and say which one it was (cached_bytes). */
#ifndef ASSAY_LOAD_PLAIN_TRANSFER_H
#define ASSAY_LOAD_PLAIN_TRANSFER_H

#include <stdint.h>

#include "harness/base/page_cache.h"
#include "harness/base/status.h"
#include "harness/device/device.h"
#include "harness/load/load_watch.h"

enum { PLAIN_PIECE_BYTES = 4 << 20, PLAIN_SEGMENT_BYTES = 64 << 20 };

struct plain_transfer {
    int64_t bytes;
    double seconds;
    int64_t cached_bytes; /* of a read: how many of them the page cache had when it began; -1: that is not known */
};

/* Reads the files from begin to end, in the order of the list. watch may be NULL, and of it stops alone is asked, which
 * ends the work with STATUS_UNAVAILABLE. STATUS_IO. */
enum status_code plain_read(const struct file_paths *files, const struct load_watch *watch, struct plain_transfer *made,
                            struct status *error);

/* Writes as many bytes to one file in folder, brings them to the disk (fsync), and leaves nothing there. STATUS_IO with
 * "FOLDER: what cannot be done: cause". */
enum status_code plain_write(const char *folder, int64_t bytes, const struct load_watch *watch,
                             struct plain_transfer *made, struct status *error);

enum plain_direction { PLAIN_TO_DEVICE, PLAIN_FROM_DEVICE };

/* Copies as many bytes between the host's memory and memory of the device, through one segment of at most
 * PLAIN_SEGMENT_BYTES, less where the device has less free; both have been written to before the clock begins. Staging
 * memory of the device is the host's end. STATUS_UNAVAILABLE for a device that holds nothing (meta),
 * STATUS_OUT_OF_MEMORY if it has no PLAIN_PIECE_BYTES left, and its own errors. */
enum status_code plain_copy(struct device *device, enum plain_direction direction, int64_t bytes,
                            struct plain_transfer *made, struct status *error);

#endif
