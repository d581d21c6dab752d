/* Needed GPU: asks in a child, because the parent of a run opens no device. */
#include "harness/cli/needed_gpu.h"

#include <stdbool.h>
#include <string.h>

#include "harness/cli/device_probe.h"

enum status_code needed_gpu_check(const char *device, const char *lock_folder, struct status *error)
{
    struct device_probe probe;
    bool is_auto = device == NULL || strcmp(device, "auto") == 0;
    if (!is_auto && strncmp(device, "cuda", 4) != 0) {
        return status_set(error, STATUS_INVALID, "--need-gpu contradicts --device %s; leave one out", device);
    }
    device_probe(is_auto ? "cuda" : device, lock_folder, &probe);
    if (probe.end != PROBE_ANSWERED) {
        return status_set(error, STATUS_NO_GPU, "--need-gpu: the GPU %s; nothing was measured",
                          probe.end == PROBE_LATE ? "did not answer" : "ended the process that opened it");
    }
    const struct status *why = probe.identified.code != STATUS_OK ? &probe.identified : &probe.opened;
    if (probe.is_taken || why->code == STATUS_OK) {
        return STATUS_OK;
    }
    return status_set(error, STATUS_NO_GPU, "--need-gpu: %s; nothing was measured", why->text);
}
