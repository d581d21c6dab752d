/* Ballast: exactly the room that was asked for is left, and whichever call of the device fails, nothing is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/device/ballast.h"
#include "harness/device/fault.h"
#include "harness/device/passing_device.h"
#include "tests/support/device_use.h"

enum { STEP = BALLAST_STEP_BYTES, DEVICE_STEPS = 37, CALLS_MAXIMUM = 100 };

static int64_t free_bytes(struct device *device)
{
    struct device_reading reading;
    assert_int_equal(device->table->read_memory(device, &reading, NULL), STATUS_OK);
    return reading.free_bytes;
}

static void the_room_is_exact(void **state)
{
    (void)state;
    for (int64_t steps = 0; steps <= DEVICE_STEPS; steps++) {
        struct device *device = device_open_or_skip("meta:mem=77595648B"); /* 37 steps and 1024 bytes */
        struct ballast ballast;
        assert_int_equal(ballast_take(device, steps * STEP + 511, &ballast, NULL), STATUS_OK);
        assert_int_equal(free_bytes(device), steps * STEP + 1024);
        assert_int_equal(ballast_release(&ballast, NULL), STATUS_OK);
        assert_int_equal(free_bytes(device), DEVICE_STEPS * (int64_t)STEP + 1024);
        device_close(device);
    }
}

static void no_room_is_told(void **state)
{
    (void)state;
    struct device *device = device_open_or_skip("meta:mem=77595648B");
    struct ballast ballast;
    struct status error = {0};
    assert_int_equal(ballast_take(device, (DEVICE_STEPS + 1) * (int64_t)STEP, &ballast, &error), STATUS_INVALID);
    assert_int_equal(free_bytes(device), DEVICE_STEPS * (int64_t)STEP + 1024);
    device_close(device);
}

/* A refusal where there is memory may leave more room than was asked for; everything is given back in any case. */
static void nothing_is_kept_whichever_call_fails(void **state)
{
    (void)state;
    bool is_through = false;
    for (int64_t failing = 1; failing < CALLS_MAXIMUM && !is_through; failing++) {
        struct device *device = NULL;
        struct ballast ballast;
        assert_int_equal(device_fault_wrap(device_open_or_skip("meta:mem=77595648B"), failing, &device, NULL),
                         STATUS_OK);
        enum status_code code = ballast_take(device, 5 * (int64_t)STEP, &ballast, NULL);
        if (code == STATUS_OK) {
            code = ballast_release(&ballast, NULL);
        }
        assert_int_equal(device_fault_segment_count(device), 0);
        is_through = code == STATUS_OK && device_fault_call_count(device) < failing;
        device_close(device);
    }
    assert_true(is_through);
}

static enum status_code little_is_free(struct device *device, struct device_reading *reading, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    enum status_code code = inner->table->read_memory(inner, reading, error);
    reading->free_bytes = 10 * (int64_t)STEP;
    return code;
}

/* A driver that lends the host's memory is not asked for all of it. */
static void borrowed_memory_is_not_taken(void **state)
{
    (void)state;
    struct passing_device passing;
    struct device *inner = device_open_or_skip("meta:mem=4GiB");
    const int64_t whole_bytes = free_bytes(inner);
    struct ballast ballast;
    struct status error = {0};
    passing_device_open(&passing, inner, "borrowing");
    passing.table.read_memory = little_is_free;
    assert_int_equal(ballast_take(&passing.base, 0, &ballast, &error), STATUS_DEVICE);
    assert_non_null(strstr(error.text, "gives more memory than the 20971520 bytes that it had free"));
    assert_int_equal(free_bytes(inner), whole_bytes);
    device_close(inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_room_is_exact),
        cmocka_unit_test(no_room_is_told),
        cmocka_unit_test(nothing_is_kept_whichever_call_fails),
        cmocka_unit_test(borrowed_memory_is_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
