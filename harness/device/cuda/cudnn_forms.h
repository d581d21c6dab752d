/* The forms of convolutions that a device has met, and the engine of cuDNN that each was given: looking for one takes
 * milliseconds, so it is looked for once. */
#ifndef ASSAY_DEVICE_CUDA_CUDNN_FORMS_H
#define ASSAY_DEVICE_CUDA_CUDNN_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/device/cuda/cudnn_graph.h"
#include "harness/device/device.h"

enum { CUDNN_FORMS_MAXIMUM = 512 }; /* beyond, the oldest one makes room */

/* All zero is the state before the first convolution. */
struct cudnn_forms {
    struct cudnn_library library;
    bool tried;     /* it was opened, or could not be: then note says why */
    char note[256]; /* "": it was */
    char words[CUDNN_VERSION_BYTES];
    int64_t library_call_count, own_call_count;
    struct device_convolution *forms; /* CUDNN_FORMS_MAXIMUM, once there is one */
    struct cudnn_engine *engines;     /* beside them */
    int count, oldest;
};

/* Opens cuDNN on the current device with the first call. False: it is not there. */
bool cudnn_forms_open(struct cudnn_forms *forms);

/* The place of a form that is known; -1: it is not. */
int cudnn_forms_find(const struct cudnn_forms *forms, enum opcode opcode, const struct convolution_plan *plan);

/* Looks for an engine within the plan's workspace. Returns the place of the form; -1: the host has no memory for it. */
int cudnn_forms_add(struct cudnn_forms *forms, enum opcode opcode, const struct convolution_plan *plan);

/* The form goes on with the next engine that fits, because its own answered refusal as it ran. False: there is none. */
bool cudnn_forms_next(struct cudnn_forms *forms, int place, const struct convolution_plan *plan, int refusal);

/* Gives back what is cuDNN's, on the current device; its forms can still be told. */
void cudnn_forms_close(struct cudnn_forms *forms);
void cudnn_forms_release(struct cudnn_forms *forms); /* the rest; cuDNN's own is the driver's where it was not closed */

#endif
