/* GPU locks: those of the GPUs that a command has opened itself, so that nobody else measures on them meanwhile. */
#ifndef ASSAY_CLI_GPU_LOCKS_H
#define ASSAY_CLI_GPU_LOCKS_H

#include "harness/device/device.h"
#include "harness/run/device_lock.h"
#include "harness/tape/tape.h"

/* All zero holds none. */
struct gpu_locks {
    struct device_lock locks[PLACE_MAXIMUM];
    int count;
};

/* Takes the lock of an open device, in ASSAY_LOCK_DIR or device_lock_folder(). NULL and what is no GPU needs none. A
 * GPU that cannot be locked is used all the same, which is warned of, but a folder that was asked for must serve. who:
 * the command, as others see it. STATUS_BUSY: another run has it. */
enum status_code gpu_locks_add(struct device *device, const char *who, struct gpu_locks *locks, struct status *error);

void gpu_locks_release(struct gpu_locks *locks);

#endif
