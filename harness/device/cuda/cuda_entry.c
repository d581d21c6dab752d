/* The one symbol that the plug-in exports. */
#include "harness/device/cuda/cuda_device.h"
#include "harness/device/plugin.h"

const struct plugin_entry *assay_device_entry(void);

const struct plugin_entry *assay_device_entry(void)
{
    static const struct plugin_entry entry = {.version = PLUGIN_VERSION,
                                              .call_bytes = sizeof(struct operation_call),
                                              .operations = operation_list,
                                              .open = cuda_open,
                                              .identify = cuda_identify};
    return &entry;
}
