/* The shims: each call fails when it is told to, and nothing else changes; a trace is the calls, in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/device.h"
#include "harness/device/device_trace.h"
#include "harness/device/fault.h"
#include "tests/support/device_use.h"

enum { CALLS = 9, SEGMENT_BYTES = 4096 };

/* Call number index of the nine that can fail; a segment must be held for the later ones. */
static enum status_code call_make(struct device *device, int index, void **segment, struct status *error)
{
    const struct device_table *table = device->table;
    struct device_properties properties;
    struct device_reading reading;
    float value = 1.0f;
    const struct operation_call call = {
        .opcode = OPCODE_FILL,
        .tensor_count = 1,
        .tensors = {{.data = *segment, .dtype = DTYPE_FLOAT32, .rank = 1, .size = {4}, .stride = {1}}}};
    switch (index) {
    case 0:
        return table->properties(device, &properties, error);
    case 1:
        return table->segment_alloc(device, SEGMENT_BYTES, segment, error);
    case 2:
        return table->run(device, &call, error);
    case 3:
        return table->copy_from_host(device, *segment, &value, sizeof value, error);
    case 4:
        return table->synchronize(device, error);
    case 5:
        return table->copy_to_host(device, &value, (char *)*segment + 512, sizeof value, error);
    case 6:
        return table->reset_peak(device, error);
    case 7:
        return table->read_memory(device, &reading, error);
    default:
        return table->segment_free(device, *segment, SEGMENT_BYTES, error);
    }
}

static void each_call_fails_in_turn(void **state)
{
    (void)state;
    static const char *const names[CALLS] = {"properties",     "segment_alloc", "FILL",
                                             "copy_from_host", "synchronize",   "copy_to_host",
                                             "reset_peak",     "read_memory",   "segment_free"};
    for (int failing = 0; failing <= CALLS; failing++) {
        struct device *device = NULL;
        void *segment = NULL;
        assert_int_equal(device_fault_wrap(device_open_or_skip("host"), failing, &device, NULL), STATUS_OK);
        for (int index = 0; index < CALLS; index++) {
            struct status error = {0};
            enum status_code expected = STATUS_OK;
            if (index + 1 == failing) {
                char text[128];
                expected = index == 1 ? STATUS_OUT_OF_MEMORY : STATUS_DEVICE;
                assert_int_equal(call_make(device, index, &segment, &error), expected);
                snprintf(text, sizeof text, "host: call %d, %s, was made to fail", failing, names[index]);
                assert_string_equal(error.text, text);
                if (index == 1) {
                    break; /* without a segment the rest has nothing to work on */
                }
            } else {
                assert_int_equal(call_make(device, index, &segment, &error), expected);
            }
            assert_int_equal(device_fault_call_count(device), index + 1);
        }
        assert_int_equal(device_fault_segment_count(device), 0);
        device_close(device);
    }
}

static void a_trace_is_the_same_on_every_device(void **state)
{
    (void)state;
    static const char *const specs[] = {"meta", "host"};
    static const char *const answers[] = {"internal", "ok"}; /* meta has nothing to copy back */
    for (int i = 0; i < 2; i++) {
        struct text text = {0};
        struct device *device = NULL;
        void *segment = NULL;
        char expected[1024];
        assert_int_equal(device_trace_wrap(device_open_or_skip(specs[i]), device_trace_to_text, &text, &device, NULL),
                         STATUS_OK);
        for (int index = 0; index < CALLS; index++) {
            call_make(device, index, &segment, NULL);
        }
        device->table->segment_alloc(device, -1, &segment, NULL);
        device_close(device);
        snprintf(expected, sizeof expected,
                 "properties -> ok\n"
                 "segment_alloc 4096 -> ok, segment 0\n"
                 "run FILL -> float32 [4] -> ok\n"
                 "copy_from_host segment 0, 4 -> ok\n"
                 "synchronize -> ok\n"
                 "copy_to_host segment 0 + 512, 4 -> %s\n"
                 "reset_peak -> ok\n"
                 "read_memory -> ok\n"
                 "segment_free segment 0, 4096 -> ok\n"
                 "segment_alloc -1 -> internal\n"
                 "close\n",
                 answers[i]);
        assert_string_equal(text_string(&text), expected);
        text_release(&text);
    }
}

/* -- staging memory, which the host does not have */

static int staged_count;

static enum status_code own_staging_alloc(struct device *device, int64_t bytes, void **memory, struct status *error)
{
    (void)device;
    (void)error;
    *memory = malloc((size_t)bytes);
    staged_count++;
    return STATUS_OK;
}

static enum status_code own_staging_free(struct device *device, void *memory, int64_t bytes, struct status *error)
{
    (void)device;
    (void)bytes;
    (void)error;
    free(memory);
    staged_count--;
    return STATUS_OK;
}

static void staging_memory_fails_in_turn_and_is_written_down(void **state)
{
    (void)state;
    for (int failing = 0; failing <= 2; failing++) {
        struct text lines = {0};
        struct device *host = device_open_or_skip("host"), *traced = NULL, *device = NULL;
        struct device_table staging = *host->table;
        void *memory = NULL;
        assert_null(staging.staging_alloc);
        staging.staging_alloc = own_staging_alloc;
        staging.staging_free = own_staging_free;
        host->table = &staging;
        assert_int_equal(device_fault_wrap(host, failing, &traced, NULL), STATUS_OK);
        assert_int_equal(device_trace_wrap(traced, device_trace_to_text, &lines, &device, NULL), STATUS_OK);
        enum status_code taken = device->table->staging_alloc(device, 100, &memory, NULL);
        assert_int_equal(taken, failing == 1 ? STATUS_OUT_OF_MEMORY : STATUS_OK);
        if (taken == STATUS_OK) {
            assert_int_equal(device->table->staging_free(device, memory, 100, NULL),
                             failing == 2 ? STATUS_DEVICE : STATUS_OK);
        }
        assert_int_equal(staged_count, 0);
        assert_string_equal(text_string(&lines), failing == 1 ? "staging_alloc 100 -> out of memory\n"
                                                 : failing == 2
                                                     ? "staging_alloc 100 -> ok\nstaging_free 100 -> device\n"
                                                     : "staging_alloc 100 -> ok\nstaging_free 100 -> ok\n");
        device_close(device);
        text_release(&lines);
    }
}

static void own_convolutions(const struct device *device, struct device_convolutions *told)
{
    (void)device;
    *told = (struct device_convolutions){.own_call_count = 7};
}

/* A host has no library for convolutions; what has one is asked through any shim. */
static void what_computed_convolutions_is_told_through_them(void **state)
{
    (void)state;
    struct text lines = {0};
    struct device *host = device_open_or_skip("host"), *device = NULL;
    struct device_table telling = *host->table;
    struct device_convolutions told = {0};
    assert_null(telling.convolutions);
    telling.convolutions = own_convolutions;
    host->table = &telling;
    assert_int_equal(device_trace_wrap(host, device_trace_to_text, &lines, &device, NULL), STATUS_OK);
    device->table->convolutions(device, &told);
    assert_int_equal(told.own_call_count, 7);
    device_close(device);
    text_release(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(staging_memory_fails_in_turn_and_is_written_down),
        cmocka_unit_test(what_computed_convolutions_is_told_through_them),
        cmocka_unit_test(each_call_fails_in_turn),
        cmocka_unit_test(a_trace_is_the_same_on_every_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
