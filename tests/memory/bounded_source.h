/* A segment source of host memory with a bound, for tests: it counts what it gave and fails a call on demand. */
#ifndef ASSAY_TESTS_BOUNDED_SOURCE_H
#define ASSAY_TESTS_BOUNDED_SOURCE_H

#include <stdint.h>

#include "harness/memory/allocator.h"

struct bounded_source {
    int64_t capacity_bytes; /* beyond it: STATUS_OUT_OF_MEMORY */
    int64_t held_bytes, held_count;
    int64_t call_count;
    int64_t failing_call; /* counted from 1; 0: none. It answers STATUS_DEVICE and does nothing */
};

struct segment_source bounded_source(struct bounded_source *source);

#endif
