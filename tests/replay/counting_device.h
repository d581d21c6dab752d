/* A device for tests of the replay: it counts what it gave, fails a call on demand and computes FILL and nothing else.
 */
#ifndef ASSAY_TESTS_COUNTING_DEVICE_H
#define ASSAY_TESTS_COUNTING_DEVICE_H

#include "harness/device/device.h"

struct counting_device {
    struct device base;
    bool computes;          /* with it memory is real; without it addresses lead nowhere and readings are not valid */
    int64_t capacity_bytes; /* beyond it: STATUS_OUT_OF_MEMORY */
    int64_t held_bytes, held_count;
    int64_t call_count;
    int64_t failing_call; /* counted from 1; 0: none. It answers failing_code and does nothing */
    enum status_code failing_code;
    int64_t run_count, reset_count;
    int64_t copied_in_bytes, copied_out_bytes;
    struct operation_call last_call;
};

struct counting_device counting_device(bool computes);

#endif
