/* The registry: how each kind of DEVICE_KIND_TABLE is opened, and what is told of it before. */
#include "harness/device/device.h"
#include "harness/device/device_spec.h"
#include "harness/device/host.h"
#include "harness/device/meta.h"
#include "harness/device/plugin.h"

static const char cuda_file_name[] = "libassay_cuda.so";

static enum status_code meta_spec_open(const struct device_spec *spec, struct device **device, struct status *error)
{
    return meta_open(spec->memory_bytes, device, error);
}

static enum status_code meta_spec_identify(const struct device_spec *spec, struct device_identity *identity,
                                           struct status *error)
{
    (void)error;
    *identity = (struct device_identity){
        .kind = "meta", .free_valid = spec->memory_bytes > 0, .free_bytes = spec->memory_bytes};
    return STATUS_OK;
}

static enum status_code host_spec_open(const struct device_spec *spec, struct device **device, struct status *error)
{
    return host_open(spec->memory_bytes, device, error);
}

static enum status_code host_spec_identify(const struct device_spec *spec, struct device_identity *identity,
                                           struct status *error)
{
    return host_identify(spec->memory_bytes, identity, error);
}

static enum status_code cuda_spec_open(const struct device_spec *spec, struct device **device, struct status *error)
{
    return plugin_device_open("cuda", cuda_file_name, spec->index, device, error);
}

static enum status_code cuda_spec_identify(const struct device_spec *spec, struct device_identity *identity,
                                           struct status *error)
{
    return plugin_device_identify("cuda", cuda_file_name, spec->index, identity, error);
}

/* Any reason for which the GPU does not open is a reason to take the host, except that it is there and full or broken.
 * The spec "auto" has index 0 and no bound. */
static enum status_code auto_spec_open(const struct device_spec *spec, struct device **device, struct status *error)
{
    enum status_code code = cuda_spec_open(spec, device, error);
    return code == STATUS_UNAVAILABLE ? host_spec_open(spec, device, error) : code;
}

static enum status_code auto_spec_identify(const struct device_spec *spec, struct device_identity *identity,
                                           struct status *error)
{
    enum status_code code = cuda_spec_identify(spec, identity, error);
    return code == STATUS_UNAVAILABLE ? host_spec_identify(spec, identity, error) : code;
}

static const struct kind_row {
    enum status_code (*open)(const struct device_spec *spec, struct device **device, struct status *error);
    enum status_code (*identify)(const struct device_spec *spec, struct device_identity *identity,
                                 struct status *error);
} kinds[] = {
#define KIND_ROW(name, word, spoken, option) [DEVICE_KIND_##name] = {word##_spec_open, word##_spec_identify},
    DEVICE_KIND_TABLE(KIND_ROW)
#undef KIND_ROW
};

bool device_plugin_find(char *path, size_t path_bytes)
{
    return plugin_path_find(cuda_file_name, path, path_bytes);
}

enum status_code device_plugin_check(struct status *error)
{
    return plugin_check("cuda", cuda_file_name, error);
}

enum status_code device_open(const char *spec, struct device **device, struct status *error)
{
    struct device_spec parsed;
    enum status_code code = device_spec_parse(spec, &parsed, error);
    return code == STATUS_OK ? kinds[parsed.kind].open(&parsed, device, error) : code;
}

enum status_code device_identify(const char *spec, struct device_identity *identity, struct status *error)
{
    struct device_spec parsed;
    enum status_code code = device_spec_parse(spec, &parsed, error);
    return code == STATUS_OK ? kinds[parsed.kind].identify(&parsed, identity, error) : code;
}

void device_close(struct device *device)
{
    if (device != NULL) {
        device->table->close(device);
    }
}
