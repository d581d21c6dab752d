/* Scratch store: a placed_store for one replay, in a file without a name. It is gone with the process, however that ends. What
 * keeps offloaded weights for others to read is harness/checkpoint/offload_folder.h. */
#ifndef ASSAY_REPLAY_SCRATCH_STORE_H
#define ASSAY_REPLAY_SCRATCH_STORE_H

#include "harness/replay/placed_replay.h"

struct scratch_store;

/* In folder; NULL: $TMPDIR, or /tmp. STATUS_IO where no file can be made there. */
enum status_code scratch_store_open(const char *folder, struct scratch_store **store, struct status *error);
/* For a replay_lane; valid until the store is closed. Writing a label again replaces it. STATUS_IO where the disk is full or what
 * is read was never written. */
const struct placed_store *scratch_store_table(const struct scratch_store *store);
void scratch_store_close(struct scratch_store *store); /* NULL is accepted */

#endif
