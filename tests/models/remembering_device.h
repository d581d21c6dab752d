/* A device that computes and remembers the last thing that it computed. */
#ifndef ASSAY_TESTS_MODELS_REMEMBERING_DEVICE_H
#define ASSAY_TESTS_MODELS_REMEMBERING_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/device/passing_device.h"

/* The bytes of the last dense output of any operation; several devices may share one. The test frees bytes. */
struct last_output {
    unsigned char *bytes;
    int64_t count;
    /* Of every ARGMAX, the scores and what was chosen, in order: a sum that tells them apart; and how many there
     * were. */
    uint64_t choices;
    int choice_count;
};

struct remembering {
    struct passing_device passing;
    struct last_output *last;
};

/* inner stays the caller's to close; device is neither copied nor moved meanwhile. */
void remembering_wrap(struct remembering *device, struct device *inner, struct last_output *last);

/* Whether both are there, and the same to the bit. */
bool last_outputs_equal(const struct last_output *a, const struct last_output *b);

#endif
