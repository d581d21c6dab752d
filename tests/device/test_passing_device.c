/* Passing device: every call that a device has reaches it, those too that are added to the table one day. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/device_trace.h"
#include "harness/device/passing_device.h"
#include "tests/support/device_use.h"

static void anything(void)
{
}

enum { POINTERS = sizeof(struct device_table) / sizeof(void (*)(void)) };

/* A table is a kind and calls: all of it is pointers. */
static void no_call_of_the_table_is_forgotten(void **state)
{
    (void)state;
    void (*calls[POINTERS])(void);
    struct device_table full, made;
    assert_int_equal(sizeof calls, sizeof full);
    for (size_t i = 0; i < POINTERS; i++) {
        calls[i] = anything;
    }
    memcpy(&full, calls, sizeof full);
    full.kind = "full";
    struct device inner = {.table = &full};
    struct passing_device passing;
    passing_device_open(&passing, &inner, "passing");
    made = passing.table;
    assert_string_equal(made.kind, "passing");
    memcpy(calls, &made, sizeof calls);
    for (size_t i = 0; i < POINTERS; i++) {
        if (calls[i] == NULL) {
            fail_msg("pointer %zu of the table is not passed on", i);
        }
    }
}

static void what_is_optional_is_there_if_inner_has_it(void **state)
{
    (void)state;
    struct device_table without;
    struct passing_device passing;
    struct device *host = device_open_or_skip("host");
    const struct device_table *own = host->table;
    passing_device_open(&passing, host, "passing");
    assert_non_null(passing.table.reset_peak);
    without = *own;
    without.reset_peak = NULL;
    host->table = &without;
    passing_device_open(&passing, host, "passing");
    assert_null(passing.table.reset_peak);
    host->table = own;
    device_close(host);
}

/* Each call once, with arguments of its own. */
static void calls_make(struct device *device)
{
    const struct device_table *table = device->table;
    struct device_properties properties = {.kind = ""};
    struct device_reading reading;
    float values[2] = {1.5f, -2.0f}, back[2] = {0};
    void *segment = NULL;
    assert_int_equal(table->properties(device, &properties, NULL), STATUS_OK);
    assert_string_equal(properties.kind, "host");
    assert_int_equal(table->segment_alloc(device, 8192, &segment, NULL), STATUS_OK);
    const struct operation_call call = {
        .opcode = OPCODE_FILL,
        .tensor_count = 1,
        .tensors = {{.data = segment, .dtype = DTYPE_FLOAT32, .rank = 1, .size = {16}, .stride = {1}}}};
    assert_int_equal(table->run(device, &call, NULL), STATUS_OK);
    assert_int_equal(table->copy_from_host(device, (char *)segment + 512, values, sizeof values, NULL), STATUS_OK);
    assert_int_equal(table->synchronize(device, NULL), STATUS_OK);
    assert_int_equal(table->copy_to_host(device, back, (char *)segment + 512, sizeof back, NULL), STATUS_OK);
    assert_memory_equal(back, values, sizeof values);
    assert_int_equal(table->reset_peak(device, NULL), STATUS_OK);
    assert_int_equal(table->read_memory(device, &reading, NULL), STATUS_OK);
    assert_true(reading.process_valid);
    assert_int_equal(table->segment_free(device, segment, 8192, NULL), STATUS_OK);
    device_close(device);
}

static void inner_sees_what_it_would_see_alone(void **state)
{
    (void)state;
    struct text lines[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        struct device *traced = NULL;
        assert_int_equal(device_trace_wrap(device_open_or_skip("host"), device_trace_to_text, &lines[i], &traced, NULL),
                         STATUS_OK);
        struct passing_device *passing = calloc(1, sizeof *passing);
        assert_non_null(passing);
        passing_device_open(passing, traced, "passing");
        assert_ptr_equal(passing_device_inner(&passing->base), traced);
        if (i == 0) {
            free(passing);
        }
        calls_make(i == 0 ? traced : &passing->base);
    }
    assert_string_equal(text_string(&lines[1]), text_string(&lines[0]));
    assert_non_null(strstr(text_string(&lines[1]), "segment_free segment 0, 8192 -> ok\nclose\n"));
    text_release(&lines[0]);
    text_release(&lines[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_of_the_table_is_forgotten),
        cmocka_unit_test(what_is_optional_is_there_if_inner_has_it),
        cmocka_unit_test(inner_sees_what_it_would_see_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
