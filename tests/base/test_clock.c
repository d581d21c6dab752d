/* Clock: its two readings are of one clock, which never goes back. */
#include "harness/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void both_readings_are_of_one_clock(void **state)
{
    (void)state;
    int64_t before_ns = clock_ns();
    for (int i = 0; i < 10000; i++) {
        double seconds = clock_seconds();
        int64_t after_ns = clock_ns();
        assert_true(after_ns >= before_ns);
        /* A double holds seconds since the machine was started to within a microsecond for centuries. */
        assert_true(seconds >= (double)before_ns / 1e9 - 1e-6 && seconds <= (double)after_ns / 1e9 + 1e-6);
        before_ns = after_ns;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_readings_are_of_one_clock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
