/* Process bind: the wish and what is allowed, met. */
#include "harness/hardware/process_bind.h"

#include <sched.h>
#include <stddef.h>

enum { CPUS_MAXIMUM = 8192 };

/* The smallest set that the kernel is content with: it refuses one with fewer cpus than it knows. */
static cpu_set_t *allowed_read(size_t *bytes)
{
    for (int cpus = CPU_SETSIZE; cpus <= CPUS_MAXIMUM; cpus *= 2) {
        cpu_set_t *allowed = CPU_ALLOC((size_t)cpus);
        *bytes = CPU_ALLOC_SIZE((size_t)cpus);
        if (allowed == NULL || sched_getaffinity(0, *bytes, allowed) == 0) {
            return allowed;
        }
        CPU_FREE(allowed);
    }
    return NULL;
}

bool process_bind(const int *cpus, int count)
{
    size_t bytes = 0;
    cpu_set_t *allowed = allowed_read(&bytes);
    cpu_set_t *wanted = allowed != NULL ? CPU_ALLOC(8 * bytes) : NULL;
    bool is_bound = false;
    if (wanted != NULL) {
        CPU_ZERO_S(bytes, wanted);
        for (int i = 0; i < count; i++) {
            if (cpus[i] >= 0 && (size_t)cpus[i] < 8 * bytes && CPU_ISSET_S((size_t)cpus[i], bytes, allowed)) {
                CPU_SET_S((size_t)cpus[i], bytes, wanted);
            }
        }
        is_bound = CPU_COUNT_S(bytes, wanted) > 0 && sched_setaffinity(0, bytes, wanted) == 0;
        CPU_FREE(wanted);
    }
    if (allowed != NULL) {
        CPU_FREE(allowed);
    }
    return is_bound;
}
