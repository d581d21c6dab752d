/* Device use: opening, and one replay. */
#include "tests/support/device_use.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "harness/device/device.h"

const char *test_gpu(void)
{
    const char *named = getenv("ASSAY_TEST_DEVICE");
    return named != NULL && *named != '\0' ? named : "cuda:0";
}

struct device *device_open_or_skip(const char *spec)
{
    struct status error = {0};
    struct device *device = NULL;
    if (device_open(spec, &device, &error) == STATUS_UNAVAILABLE) {
        print_message("skipped: %s\n", status_line(&error, (char[STATUS_LINE_BYTES]){0}));
        skip();
    }
    assert_non_null(device);
    return device;
}

struct replay_result replay_on(const struct tape_view *tape, const char *spec)
{
    struct device *device = NULL;
    struct replay_result result = {0};
    struct status error = {0};
    if (device_open(spec, &device, &error) != STATUS_OK ||
        replay_run(tape, device, NULL, &result, &error) != STATUS_OK) {
        fail_msg("%s: %s", spec, status_line(&error, (char[STATUS_LINE_BYTES]){0}));
    }
    device_close(device);
    return result;
}
