/* Checked plug-in: chosen by the folder that ASSAY_PLUGIN_DIR names, as anybody would. */
#include "tests/cuda_emulation/checked_plugin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder "checked" beside this program. */
static void plugin_choose(void)
{
    char path[PATH_MAX], folder[PATH_MAX + 16];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(length > 0);
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    snprintf(folder, sizeof folder, "%s/checked", path);
    assert_int_equal(setenv("ASSAY_PLUGIN_DIR", folder, 1), 0);
}

void checked_device_open(const char *spec, struct device **device)
{
    struct status error = {0};
    plugin_choose();
    if (device_open(spec, device, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

void checked_open(const char *spec, int64_t bytes, struct device **device, unsigned char **segment)
{
    struct status error = {0};
    void *address = NULL;
    checked_device_open(spec, device);
    if ((*device)->table->segment_alloc(*device, bytes, &address, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    *segment = address;
}

void checked_close(struct device *device, unsigned char *segment, int64_t bytes)
{
    struct status error = {0};
    assert_int_equal(device->table->segment_free(device, segment, bytes, &error), STATUS_OK);
    device_close(device);
}
