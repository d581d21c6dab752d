/* Clock: see clock.h. It knows no date. */
#include "harness/base/clock.h"

#include <time.h>

static struct timespec time_read(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now;
}

int64_t clock_ns(void)
{
    struct timespec now = time_read();
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

double clock_seconds(void)
{
    struct timespec now = time_read();
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
