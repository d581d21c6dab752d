/* Memory disk: a disk of a placed replay whose files are pieces of memory. */
#ifndef ASSAY_TESTS_MODELS_MEMORY_DISK_H
#define ASSAY_TESTS_MODELS_MEMORY_DISK_H

#include "harness/replay/placed_replay.h"

enum { MEMORY_DISK_TENSORS = 64 };

struct memory_disk {
    struct {
        char label[128];
        unsigned char *bytes;
        int64_t count;
    } tensors[MEMORY_DISK_TENSORS];
    int tensor_count, read_count;
};

/* What a lane writes to and reads from. Fails the running test where there are more tensors than the disk has room for,
 * or one is read with another size than it was written with. */
struct placed_store memory_disk_store(struct memory_disk *disk);

int64_t memory_disk_bytes(const struct memory_disk *disk); /* of all tensors */
void memory_disk_release(struct memory_disk *disk);

#endif
