/* The registry: the one place that knows which kinds of devices there are. */
#include "harness/device/device.h"
#include "harness/device/device_spec.h"
#include "harness/device/host.h"
#include "harness/device/meta.h"
#include "harness/device/plugin.h"

static const char cuda_file_name[] = "libassay_cuda.so";

static enum status_code cuda_open(int index, struct device **device, struct status *error)
{
    return plugin_device_open("cuda", cuda_file_name, index, device, error);
}

static enum status_code cuda_identify(int index, struct device_identity *identity, struct status *error)
{
    return plugin_device_identify("cuda", cuda_file_name, index, identity, error);
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

/* As in best_open. */
static enum status_code best_identify(struct device_identity *identity, struct status *error)
{
    enum status_code code = cuda_identify(0, identity, error);
    return code == STATUS_UNAVAILABLE ? host_identify(0, identity, error) : code;
}

enum status_code device_identify(const char *spec, struct device_identity *identity, struct status *error)
{
    static const struct device_identity meta = {.kind = "meta"};
    struct device_spec parsed;
    enum status_code code = device_spec_parse(spec, &parsed, error);
    if (code != STATUS_OK) {
        return code;
    }
    switch (parsed.kind) {
    case DEVICE_KIND_AUTO:
        return best_identify(identity, error);
    case DEVICE_KIND_META:
        *identity = meta;
        return STATUS_OK;
    case DEVICE_KIND_HOST:
        return host_identify(parsed.memory_bytes, identity, error);
    case DEVICE_KIND_CUDA:
        return cuda_identify(parsed.index, identity, error);
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
