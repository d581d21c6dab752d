/* The bound shim: exact to the byte, every other call passes through, and what is given back can be taken again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/device/bounded.h"
#include "harness/device/fault.h"
#include "tests/support/device_use.h"

enum { BOUND = 3 << 20, SEGMENT = 1 << 20 };

static void a_bound_is_exact_to_the_byte(void **state)
{
    static const char *const specs[] = {"meta", "host"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct device *device = NULL, *inner = device_open_or_skip(specs[i]);
        struct device_properties properties;
        struct device_reading reading;
        struct status error = {0};
        void *first = NULL, *second = NULL, *third = NULL;
        assert_int_equal(device_bound_wrap(inner, BOUND, "the budget of 1", &device, NULL), STATUS_OK);
        assert_int_equal(device->table->segment_alloc(device, SEGMENT, &first, NULL), STATUS_OK);
        assert_int_equal(device->table->segment_alloc(device, BOUND - SEGMENT + 1, &second, &error),
                         STATUS_OUT_OF_MEMORY);
        assert_null(second);
        assert_string_equal(error.text, "a segment of 2.00 MiB is beyond the budget of 1, 3.00 MiB (3145728 bytes)");
        assert_int_equal(device->table->segment_alloc(device, BOUND - SEGMENT, &second, NULL), STATUS_OK);
        assert_int_equal(device->table->segment_alloc(device, 1, &third, NULL), STATUS_OUT_OF_MEMORY);
        assert_int_equal(device->table->read_memory(device, &reading, NULL), STATUS_OK);
        assert_true(reading.free_valid);
        assert_int_equal(reading.free_bytes, 0);
        assert_int_equal(device->table->segment_free(device, first, SEGMENT, NULL), STATUS_OK);
        assert_int_equal(device->table->segment_alloc(device, SEGMENT, &first, NULL), STATUS_OK);
        assert_int_equal(device->table->properties(device, &properties, NULL), STATUS_OK);
        assert_string_equal(properties.kind, specs[i]);
        assert_int_equal(properties.total_bytes, BOUND);
        assert_int_equal(device->table->segment_free(device, first, SEGMENT, NULL), STATUS_OK);
        assert_int_equal(device->table->segment_free(device, second, BOUND - SEGMENT, NULL), STATUS_OK);
        device_close(device);
    }
}

/* A segment that the inner device refuses does not count. */
static void what_the_inner_device_refuses_is_not_counted(void **state)
{
    struct device *broken = NULL, *device = NULL;
    void *segment = NULL;
    (void)state;
    assert_int_equal(device_fault_wrap(device_open_or_skip("meta"), 1, &broken, NULL), STATUS_OK);
    assert_int_equal(device_bound_wrap(broken, SEGMENT, "the budget of 0", &device, NULL), STATUS_OK);
    assert_int_equal(device->table->segment_alloc(device, SEGMENT, &segment, NULL), STATUS_OUT_OF_MEMORY);
    assert_int_equal(device->table->segment_alloc(device, SEGMENT, &segment, NULL), STATUS_OK);
    assert_int_equal(device->table->segment_free(device, segment, SEGMENT, NULL), STATUS_OK);
    device_close(device);
}

static void a_budget_of_nothing_gives_nothing(void **state)
{
    struct device *device = NULL;
    void *segment = NULL;
    (void)state;
    assert_int_equal(device_bound_wrap(device_open_or_skip("meta"), 0, "the budget of 0", &device, NULL), STATUS_OK);
    assert_int_equal(device->table->segment_alloc(device, 1, &segment, NULL), STATUS_OUT_OF_MEMORY);
    device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_is_exact_to_the_byte),
        cmocka_unit_test(what_the_inner_device_refuses_is_not_counted),
        cmocka_unit_test(a_budget_of_nothing_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
