/* Measuring: what a child holds while it works on a case: its model and its device. Internal to harness/run. */
#ifndef ASSAY_RUN_MEASURING_H
#define ASSAY_RUN_MEASURING_H

#include "harness/device/device_spec.h"
#include "harness/run/measurement.h"
#include "harness/run/run.h"
#include "harness/tape/target.h"
#include "models/find/model.h"
#include "models/skeleton/skeleton.h"

/* All zero but job and file, until it is prepared; measuring_release after that, whatever came of it. */
struct measuring {
    const struct case_job *job;
    int file;
    struct model model;
    struct skeleton skeleton;
    struct device *device;        /* NULL if it did not open */
    char spec[DEVICE_SPEC_BYTES]; /* of the device, with the suite's bound */
    int64_t memory_bytes;         /* that bounds the prediction; 0: none */
    struct measurement_place place;
    const struct target *target;
    struct constants found;            /* under the reference folder */
    const struct constants *constants; /* that the predictions use; NULL: none */
    struct status unopened;            /* why not */
};

enum status_code measuring_model_prepare(struct measuring *measuring, struct status *error);

/* The device, and the row of targets that the tape is built for: the suite's, else the one that describes the device. A
 * device that does not open is no error: measuring->unopened says why. */
enum status_code measuring_device_prepare(struct measuring *measuring, struct status *error);

/* The same for a case that opens its devices itself: spec is the main one, and is not opened for it; measuring->device
 * stays NULL. */
enum status_code measuring_device_look(struct measuring *measuring, const char *spec, struct status *error);

/* Of a GPU what is known without a context, which would take memory of it; any other device is opened, and closed
 * again. */
void device_properties_look(const char *spec, const struct device_identity *identity,
                            struct device_properties *properties);

/* Sends object (NULL: memory ran out) and releases it. */
enum status_code measuring_send(const struct measuring *measuring, struct json *object, struct status *error);

/* The last word of a child: "status", and the cause if code is not STATUS_OK. If it cannot be sent, the parent
 * sees a child without a result. */
void measuring_status_send(const struct measuring *measuring, enum status_code code, const struct status *cause);

void measuring_release(struct measuring *measuring);

#endif
