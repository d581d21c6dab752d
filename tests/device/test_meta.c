/* The meta device: distinct addresses, no arithmetic, no readings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/device/device.h"

static int device_set_up(void **state)
{
    struct device *device = NULL;
    enum status_code code = device_open("meta", &device, NULL);
    *state = device;
    return code == STATUS_OK ? 0 : -1;
}

static int device_tear_down(void **state)
{
    device_close(*state);
    return 0;
}

static void segments_do_not_overlap_and_are_aligned(void **state)
{
    enum { SEGMENTS = 64 };
    struct device *device = *state;
    uintptr_t first[SEGMENTS];
    int64_t bytes[SEGMENTS];
    for (int i = 0; i < SEGMENTS; i++) {
        void *address = NULL;
        bytes[i] = (int64_t)1 << (i % 43); /* up to 4 TiB: no memory is taken */
        assert_int_equal(device->table->segment_alloc(device, bytes[i], &address, NULL), STATUS_OK);
        assert_non_null(address);
        first[i] = (uintptr_t)address;
        assert_int_equal(first[i] % 512, 0);
        for (int j = 0; j < i; j++) {
            assert_true(first[j] + (uintptr_t)bytes[j] <= first[i] || first[i] + (uintptr_t)bytes[i] <= first[j]);
        }
    }
    for (int i = 0; i < SEGMENTS; i++) {
        assert_int_equal(device->table->segment_free(device, (void *)first[i], bytes[i], NULL), STATUS_OK);
    }
    assert_int_equal(device->table->segment_free(device, (void *)first[0], bytes[0], NULL), STATUS_INTERNAL);
}

static void what_is_not_a_size_is_refused(void **state)
{
    struct device *device = *state;
    void *address = NULL;
    assert_int_equal(device->table->segment_alloc(device, 0, &address, NULL), STATUS_INTERNAL);
    assert_int_equal(device->table->segment_alloc(device, -5, &address, NULL), STATUS_INTERNAL);
    assert_int_equal(device->table->segment_alloc(device, INT64_MAX, &address, NULL), STATUS_OVERFLOW);
    assert_null(address);
}

static void nothing_is_stored_or_read(void **state)
{
    struct device *device = *state;
    struct status error = {0};
    struct device_properties properties;
    struct device_reading reading;
    void *address = NULL;
    float value = 7.0f;
    const struct operation_call call = {.opcode = OPCODE_MATMUL}; /* wrong anywhere else */
    assert_int_equal(device->table->properties(device, &properties, &error), STATUS_OK);
    assert_string_equal(properties.kind, "meta");
    assert_int_equal(properties.total_bytes, 0);
    assert_false(properties.computes);
    assert_int_equal(device->table->segment_alloc(device, 512, &address, &error), STATUS_OK);
    assert_int_equal(device->table->run(device, &call, &error), STATUS_OK);
    assert_int_equal(device->table->copy_from_host(device, address, &value, sizeof value, &error), STATUS_OK);
    assert_int_equal(device->table->synchronize(device, &error), STATUS_OK);
    assert_int_equal(device->table->copy_to_host(device, &value, address, sizeof value, &error), STATUS_INTERNAL);
    assert_true(value == 7.0f);
    assert_int_equal(device->table->read_memory(device, &reading, &error), STATUS_OK);
    assert_false(reading.device_valid || reading.process_valid || reading.process_peak_valid);
    assert_int_equal(device->table->segment_free(device, address, 512, &error), STATUS_OK);
}

static void a_bound_is_exact(void **state)
{
    (void)state;
    struct device *device = NULL;
    struct device_properties properties;
    struct device_reading reading;
    struct status error = {0};
    void *first = NULL, *second = NULL;
    assert_int_equal(device_open("meta:mem=4MiB", &device, NULL), STATUS_OK);
    assert_int_equal(device->table->properties(device, &properties, NULL), STATUS_OK);
    assert_int_equal(properties.total_bytes, 4 << 20);
    assert_int_equal(device->table->segment_alloc(device, (4 << 20) - 1, &first, NULL), STATUS_OK);
    assert_int_equal(device->table->segment_alloc(device, 2, &second, &error), STATUS_OUT_OF_MEMORY);
    assert_null(second);
    assert_string_equal(
        error.text, "meta: a segment of 2 B, but of the 4.00 MiB allowed by mem= too little is left; raise the bound");
    assert_int_equal(device->table->segment_alloc(device, 1, &second, NULL), STATUS_OK);
    assert_int_equal(device->table->read_memory(device, &reading, NULL), STATUS_OK);
    assert_true(reading.free_valid && reading.free_bytes == 0);
    assert_false(reading.device_valid || reading.process_valid);
    assert_int_equal(device->table->segment_free(device, first, (4 << 20) - 1, NULL), STATUS_OK);
    assert_int_equal(device->table->segment_free(device, second, 1, NULL), STATUS_OK);
    assert_int_equal(device->table->segment_alloc(device, 4 << 20, &first, NULL), STATUS_OK);
    device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(segments_do_not_overlap_and_are_aligned, device_set_up, device_tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_a_size_is_refused, device_set_up, device_tear_down),
        cmocka_unit_test(a_bound_is_exact),
        cmocka_unit_test_setup_teardown(nothing_is_stored_or_read, device_set_up, device_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
