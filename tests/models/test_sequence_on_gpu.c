/* Requested, allocated and reserved bytes, and the sequence they come from, are the same on meta and on a GPU. This is
 * a program of its own, so that a run of minutes on a GPU need not wait for the host (test_sequence_identity.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/device/device.h"
#include "tests/models/sequence_cases.h"
#include "tests/support/device_use.h"

static struct sequence_case cases[SEQUENCE_CASES_MAXIMUM];

/* Of all cases some hundred, evenly: each opens the device anew, and on an H100 all of them took minutes. */
static void a_gpu_is_asked_for_what_was_predicted(void **state)
{
    enum { GPU_CASES = 100 };
    (void)state;
    struct status error = {0};
    struct device_properties properties;
    struct device *device = device_open_or_skip(test_gpu());
    assert_int_equal(device->table->properties(device, &properties, &error), STATUS_OK);
    device_close(device);
    int count = sequence_cases_make(cases);
    for (int i = 0; i < count; i += count / GPU_CASES + 1) {
        sequence_case_check(&cases[i], test_gpu(), properties.target);
    }
    print_message("one in %d of %d cases on %s\n", count / GPU_CASES + 1, count, properties.name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_gpu_is_asked_for_what_was_predicted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
