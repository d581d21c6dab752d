/* GPU locks: one after the other, as the devices were opened. What a lock is, is said in run/device_lock.h. */
#include "harness/cli/gpu_locks.h"

#include <stdlib.h>
#include <string.h>

#include "harness/cli/output.h"

void gpu_locks_release(struct gpu_locks *locks)
{
    for (int i = 0; i < locks->count; i++) {
        device_lock_release(&locks->locks[i]);
    }
    locks->count = 0;
}

/* is_wished: the folder was asked for. */
static enum status_code lock_add(const char *folder, const char *name, bool is_wished, const char *who,
                                 struct gpu_locks *locks, struct status *error)
{
    struct status cause = {0};
    char line[STATUS_LINE_BYTES];
    enum status_code code = device_lock_take(folder, name, false, who, &locks->locks[locks->count], &cause);
    locks->count += code == STATUS_OK ? 1 : 0;
    if (code == STATUS_IO && !is_wished) {
        output_warning("assay: %s is not locked against other runs: %s", name, status_line(&cause, line));
        return STATUS_OK;
    }
    const char *remedy = code == STATUS_BUSY ? "; start this again when that has ended" : "";
    return code == STATUS_OK ? STATUS_OK : status_set(error, code, "%.900s%s", status_line(&cause, line), remedy);
}

enum status_code gpu_locks_add(struct device *device, const char *who, struct gpu_locks *locks, struct status *error)
{
    const char *wish = secure_getenv("ASSAY_LOCK_DIR");
    bool is_wished = wish != NULL && wish[0] != '\0';
    const char *folder = is_wished ? wish : device_lock_folder();
    struct device_properties properties = {0};
    char name[DEVICE_LOCK_NAME_BYTES];
    if (device == NULL || folder == NULL) {
        return STATUS_OK;
    }
    enum status_code code = device->table->properties(device, &properties, error);
    if (code != STATUS_OK || strcmp(properties.kind, "cuda") != 0 ||
        !device_lock_name(properties.uuid, properties.pci_bus_id, name)) {
        return code;
    }
    return lock_add(folder, name, is_wished, who, locks, error);
}
