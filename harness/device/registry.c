/* The registry: the one place that knows which kinds of devices there are. */
#include "harness/device/device.h"
#include "harness/device/device_spec.h"
#include "harness/device/host.h"
#include "harness/device/meta.h"
#include "harness/device/plugin.h"

static enum status_code cuda_open(int index, struct device **device, struct status *error)
{
    return plugin_device_open("cuda", "libassay_cuda.so", index, device, error);
}

/* Any reason for which the GPU does not open is a reason to take the host, except that it is there and full or broken. */
static enum status_code best_open(struct device **device, struct status *error)
{
    enum status_code code = cuda_open(0, device, error);
    return code == STATUS_UNAVAILABLE ? host_open(0, device, error) : code;
}

enum status_code device_open(const char *spec, struct device **device, struct status *error)
{
    struct device_spec parsed;
    enum status_code code = device_spec_parse(spec, &parsed, error);
    if (code != STATUS_OK) {
        return code;
    }
    switch (parsed.kind) {
    case DEVICE_KIND_AUTO:
        return best_open(device, error);
    case DEVICE_KIND_META:
        return meta_open(device, error);
    case DEVICE_KIND_HOST:
        return host_open(parsed.memory_bytes, device, error);
    case DEVICE_KIND_CUDA:
        return cuda_open(parsed.index, device, error);
    }
    return status_set(error, STATUS_INTERNAL, "device '%s' was parsed but has no kind", spec);
}

void device_close(struct device *device)
{
    if (device != NULL) {
        device->table->close(device);
    }
}

enum status_code device_spec_check(const char *spec, struct status *error)
{
    struct device_spec parsed;
    return device_spec_parse(spec, &parsed, error);
}
