/* Offload store: the disk of a placed replay as an offload folder of accelerate (harness/checkpoint/offload_folder.h).
 *
 * A tensor that a tape sends to the disk is written as LABEL.dat, one that it fetches is read from there, and the index
 * is written when the store is finished, which waits until all files are on the disk: the time of a write is that of
 * giving the bytes away. What the folder has already is not trusted: with OFFLOAD_KEEP a tensor that is sent must be
 * the one that is there, byte for byte (as disk_offload assumes and does not check), and one that is fetched must have
 * the shape and dtype that the tape wants. */
#ifndef ASSAY_REPLAY_OFFLOAD_STORE_H
#define ASSAY_REPLAY_OFFLOAD_STORE_H

#include "harness/checkpoint/offload_write.h"
#include "harness/replay/placed_replay.h"

struct offload_store {
    struct placed_store store; /* for a lane; its context is this struct, which stays where it is */
    struct offload_writer *writer;
    int64_t read_bytes; /* that the tape has fetched */
};

/* The errors are those of offload_writer_open. */
enum status_code offload_store_open(const char *path, enum offload_existing existing, struct offload_store *store,
                                    struct status *error);

/* Writes the index. Both close the store. */
enum status_code offload_store_finish(struct offload_store *store, struct status *error);
void offload_store_abandon(struct offload_store *store);

#endif
