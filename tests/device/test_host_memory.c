/* Memory of the host device: RSS follows what is held, bounds are kept, readings and peaks are the kernel's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/device/device.h"
#include "harness/device/process_memory.h"
#include "harness/device/refusal.h"
#include "tests/support/device_use.h"

#define MEBIBYTE INT64_C(1048576)

/* Pages that the test program itself may take or give back while a segment is taken. */
static const int64_t slack_bytes = 2 * MEBIBYTE;

static struct device_reading reading_take(struct device *device)
{
    struct device_reading reading;
    assert_int_equal(device->table->read_memory(device, &reading, NULL), STATUS_OK);
    assert_true(reading.process_valid);
    assert_true(reading.process_bytes > 0);
    return reading;
}

static void segment_take(struct device *device, int64_t bytes, void **address)
{
    struct status error = {0};
    if (device->table->segment_alloc(device, bytes, address, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static int64_t free_of(struct device *device)
{
    struct device_reading reading = {0};
    assert_int_equal(device->table->read_memory(device, &reading, NULL), STATUS_OK);
    assert_true(reading.free_valid);
    return reading.free_bytes;
}

/* What is told of OpenBLAS is what opening the device took at most, and does not change. Once it is there, it is not
 * loaded again. */
static void libraries_are_no_more_than_opening_took(void **state)
{
    (void)state;
    int64_t before = 0;
    device_close(device_open_or_skip("meta"));
    assert_true(process_resident_read("", &before));
    struct device *device = device_open_or_skip("host");
    struct device_reading first = reading_take(device), second;
    void *segment = NULL;
    segment_take(device, 32 * MEBIBYTE, &segment);
    second = reading_take(device);
    assert_true(first.library_valid && second.library_valid);
    assert_true(first.library_bytes >= 0 && first.library_bytes <= first.process_bytes - before);
    assert_int_equal(second.library_bytes, first.library_bytes);
    assert_int_equal(device->table->segment_free(device, segment, 32 * MEBIBYTE, NULL), STATUS_OK);
    device_close(device);
    device = device_open_or_skip("host");
    second = reading_take(device);
    assert_true(second.library_valid && second.library_bytes <= slack_bytes);
    device_close(device);
}

static void assert_near(int64_t found, int64_t expected)
{
    if (found < expected - slack_bytes || found > expected + slack_bytes) {
        fail_msg("%" PRId64 " bytes instead of %" PRId64, found, expected);
    }
}

static void resident_memory_follows_the_segments(void **state)
{
    (void)state;
    struct device *device = device_open_or_skip("host");
    void *large = NULL;
    void *small = NULL;
    int64_t before = reading_take(device).process_bytes;
    segment_take(device, 64 * MEBIBYTE, &large);
    assert_near(reading_take(device).process_bytes - before, 64 * MEBIBYTE);
    segment_take(device, 20 * MEBIBYTE + 1, &small);
    assert_near(reading_take(device).process_bytes - before, 84 * MEBIBYTE);
    assert_int_equal(device->table->segment_free(device, large, 64 * MEBIBYTE, NULL), STATUS_OK);
    assert_near(reading_take(device).process_bytes - before, 20 * MEBIBYTE);
    assert_int_equal(device->table->segment_free(device, small, 20 * MEBIBYTE + 1, NULL), STATUS_OK);
    assert_near(reading_take(device).process_bytes - before, 0);
    device_close(device);
}

static void the_peak_is_that_since_the_last_reset(void **state)
{
    (void)state;
    struct device *device = device_open_or_skip("host");
    void *address = NULL;
    int64_t before = reading_take(device).process_bytes;
    assert_int_equal(device->table->reset_peak(device, NULL), STATUS_OK);
    segment_take(device, 96 * MEBIBYTE, &address);
    assert_int_equal(device->table->segment_free(device, address, 96 * MEBIBYTE, NULL), STATUS_OK);
    struct device_reading reading = reading_take(device);
    if (!reading.process_peak_valid) {
        device_close(device);
        print_message("skipped: this kernel does not let a process reset its peak (/proc/self/clear_refs)\n");
        skip();
    }
    assert_near(reading.process_peak_bytes - before, 96 * MEBIBYTE);
    assert_int_equal(device->table->reset_peak(device, NULL), STATUS_OK);
    assert_near(reading_take(device).process_peak_bytes - before, 0);
    assert_false(reading.device_valid);
    device_close(device);
}

static void a_bound_is_kept_to_the_byte(void **state)
{
    (void)state;
    struct device *device = device_open_or_skip("host:mem=8MiB");
    struct status error = {0};
    struct device_properties properties;
    void *first = NULL;
    void *second = NULL;
    assert_int_equal(device->table->properties(device, &properties, NULL), STATUS_OK);
    assert_int_equal(properties.total_bytes, 8 * MEBIBYTE);
    segment_take(device, 6 * MEBIBYTE, &first);
    assert_int_equal(device->table->segment_alloc(device, 2 * MEBIBYTE + 1, &second, &error), STATUS_OUT_OF_MEMORY);
    assert_int_equal(error.code, STATUS_OUT_OF_MEMORY);
    assert_string_equal(error.text, "host: out of memory: 2097153 bytes (2.00 MiB) wanted, 6291456 bytes (6.00 MiB) "
                                    "held, 8388608 bytes (8.00 MiB) allowed by mem=; raise the bound");
    assert_int_equal(refusal_source_of(error.text), REFUSAL_SEGMENT);
    assert_null(second);
    assert_int_equal(free_of(device), 2 * MEBIBYTE);
    segment_take(device, 2 * MEBIBYTE, &second);
    assert_int_equal(free_of(device), 0);
    assert_int_equal(device->table->segment_free(device, first, 6 * MEBIBYTE, NULL), STATUS_OK);
    assert_int_equal(device->table->segment_free(device, second, 2 * MEBIBYTE, NULL), STATUS_OK);
    assert_int_equal(device->table->segment_free(device, second, 2 * MEBIBYTE, NULL), STATUS_INTERNAL);
    assert_int_equal(free_of(device), 8 * MEBIBYTE);
    segment_take(device, 8 * MEBIBYTE, &first);
    assert_int_equal(device->table->segment_free(device, first, 8 * MEBIBYTE, NULL), STATUS_OK);
    device_close(device);
}

/* Not promised by the kernel and then taken from the process by force. */
static void more_than_the_machine_has_is_refused(void **state)
{
    (void)state;
    struct device *device = device_open_or_skip("host");
    struct status error = {0};
    struct device_properties properties;
    void *address = NULL;
    assert_int_equal(device->table->properties(device, &properties, NULL), STATUS_OK);
    assert_true(properties.total_bytes > 0);
    assert_int_equal(device->table->segment_alloc(device, properties.total_bytes, &address, &error),
                     STATUS_OUT_OF_MEMORY);
    assert_non_null(strstr(error.text, "wanted, 0 bytes (0 B) held, "));
    assert_non_null(strstr(error.text, "available on this machine; choose a smaller case"));
    assert_int_equal(refusal_source_of(error.text), REFUSAL_MACHINE);
    assert_int_equal(device->table->segment_alloc(device, INT64_MAX, &address, NULL), STATUS_OVERFLOW);
    assert_int_equal(device->table->segment_alloc(device, 0, &address, NULL), STATUS_INTERNAL);
    assert_null(address);
    device_close(device);
}

/* A mapping that the kernel refuses: the process may hold little more than it does. */
static void a_refused_mapping_is_out_of_memory(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* the sanitizer maps its shadow under the same limit */
#endif
    struct device *device = device_open_or_skip("host");
    struct rlimit before;
    struct status error = {0};
    void *address = NULL;
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    const struct rlimit tight = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_DATA, &tight), 0);
    enum status_code code = device->table->segment_alloc(device, 32 * MEBIBYTE, &address, &error);
    int64_t free_bytes = free_of(device);
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
    assert_int_equal(code, STATUS_OUT_OF_MEMORY);
    assert_int_equal(free_bytes, 0); /* the process had more than the limit before it was set */
    assert_true(free_of(device) >= 32 * MEBIBYTE);
    assert_string_equal(error.text, "host: out of memory: 33554432 bytes (32.00 MiB) wanted, 0 bytes (0 B) held, and "
                                    "the kernel maps no more (Cannot allocate memory); choose a smaller case or raise "
                                    "ulimit");
    assert_int_equal(refusal_source_of(error.text), REFUSAL_LIMIT);
    assert_null(address);
    segment_take(device, 32 * MEBIBYTE, &address);
    assert_int_equal(device->table->segment_free(device, address, 32 * MEBIBYTE, NULL), STATUS_OK);
    device_close(device);
}

static void properties_and_copies_are_the_hosts(void **state)
{
    (void)state;
    struct device *device = device_open_or_skip("host");
    struct device_properties properties;
    void *address = NULL;
    const char sent[] = "sixteen bytes...";
    char received[sizeof sent] = "";
    assert_int_equal(device->table->properties(device, &properties, NULL), STATUS_OK);
    assert_string_equal(properties.kind, "host");
    assert_string_equal(properties.target, "host");
    assert_string_equal(properties.pci_bus_id, "");
    assert_memory_equal(properties.runtime, "OpenBLAS", 8);
    assert_true(properties.name[0] != '\0');
    assert_true(properties.computes);
    segment_take(device, 4096, &address);
    assert_int_equal(device->table->copy_from_host(device, address, sent, sizeof sent, NULL), STATUS_OK);
    assert_int_equal(device->table->synchronize(device, NULL), STATUS_OK);
    assert_int_equal(device->table->copy_to_host(device, received, address, sizeof sent, NULL), STATUS_OK);
    assert_string_equal(received, sent);
    assert_int_equal(device->table->segment_free(device, address, 4096, NULL), STATUS_OK);
    device_close(device);
}

/* Rows are computed by the kernels; what they refuse comes back with operation and shapes. */
static void other_operations_reach_the_kernels(void **state)
{
    (void)state;
    struct device *device = device_open_or_skip("host");
    struct status error = {0};
    float values[6] = {0};
    struct operation_call call = {
        .opcode = OPCODE_FILL,
        .tensor_count = 1,
        .tensors = {{.data = values, .dtype = DTYPE_FLOAT32, .rank = 2, .size = {2, 3}, .stride = {3, 1}}},
        .attributes = {.f = {2.5}}};
    assert_int_equal(device->table->run(device, &call, &error), STATUS_OK);
    for (int k = 0; k < 6; k++) {
        assert_true(values[k] == 2.5f);
    }
    call.opcode = OPCODE_TANH; /* takes an input, and there is none */
    assert_int_equal(device->table->run(device, &call, &error), STATUS_DEVICE);
    assert_memory_equal(error.text, "host: TANH -> float32 [2, 3]: ", 30);
    device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_are_no_more_than_opening_took),
        cmocka_unit_test(resident_memory_follows_the_segments),
        cmocka_unit_test(the_peak_is_that_since_the_last_reset),
        cmocka_unit_test(a_bound_is_kept_to_the_byte),
        cmocka_unit_test(more_than_the_machine_has_is_refused),
        cmocka_unit_test(a_refused_mapping_is_out_of_memory),
        cmocka_unit_test(properties_and_copies_are_the_hosts),
        cmocka_unit_test(other_operations_reach_the_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
