/* Plug-ins: devices that are compiled apart and loaded on demand, so that the program itself needs no CUDA.
 *
 * A plug-in exports one symbol, PLUGIN_ENTRY_SYMBOL, a plugin_entry_function. The library stays mapped once loaded. */
#ifndef ASSAY_DEVICE_PLUGIN_H
#define ASSAY_DEVICE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/status.h"
#include "harness/device/device.h"

#define PLUGIN_ENTRY_SYMBOL "assay_device_entry"

/* Raised with every change to device.h, operation.h or this file that an older plug-in would misread, but for the table
 * of operations, which is compared itself. */
enum { PLUGIN_VERSION = 9 };

/* version is first whatever the version. */
struct plugin_entry {
    int version;            /* PLUGIN_VERSION it was compiled with */
    size_t call_bytes;      /* sizeof(struct operation_call) it was compiled with */
    const char *operations; /* operation_list it was compiled with */
    enum status_code (*open)(int index, struct device **device, struct status *error);
    enum status_code (*identify)(int index, struct device_identity *identity, struct status *error);
};

typedef const struct plugin_entry *(*plugin_entry_function)(void);

/* Whether a plug-in with this entry was compiled with the same interface and the same operations. */
bool plugin_entry_fits(const struct plugin_entry *entry);

/* Opens device number index of the plug-in file_name ("libassay_cuda.so"). It is looked for in $ASSAY_PLUGIN_DIR alone
 * where that is set; else beside the executable, two folders above it (the tests of a build tree), and in the folder
 * that the program was configured to be installed to. STATUS_UNAVAILABLE, with the folders and the remedy, where it is
 * not there, cannot be loaded or was built from other sources. */
enum status_code plugin_device_open(const char *kind, const char *file_name, int index, struct device **device,
                                    struct status *error);

/* The file that would be opened; false: there is none, and *path is the first folder that was looked into. */
bool plugin_path_find(const char *file_name, char *path, size_t path_bytes);

/* Loads it and looks at its entry, which it does not call. STATUS_UNAVAILABLE as above. */
enum status_code plugin_check(const char *kind, const char *file_name, struct status *error);

/* What device_identify says of device number index. Errors as above. */
enum status_code plugin_device_identify(const char *kind, const char *file_name, int index,
                                        struct device_identity *identity, struct status *error);

#endif
