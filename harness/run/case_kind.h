/* Case kind: how a case is predicted and measured, by what its workload says. A kind is one file and one row of the
 * table. Internal to harness/run. */
#ifndef ASSAY_RUN_CASE_KIND_H
#define ASSAY_RUN_CASE_KIND_H

#include "harness/run/measuring.h"
#include "harness/run/prediction.h"

struct case_kind {
    bool (*applies)(const struct workload *workload);
    /* As prediction_make has it; estimates may be NULL: no object is made. */
    enum status_code (*predict)(const struct estimate_input *input, struct json **estimates,
                                struct prediction *prediction, struct status *error);
    /* In the child, on measuring->device: sends what it finds (measuring_send). An out of memory is measured too, and
     * returned. */
    enum status_code (*measure)(const struct measuring *measuring, struct status *error);
    /* If the case opens its devices itself: finds out what it stands on, in place of measuring_device_prepare.
     * measuring->device is NULL, constants of one device are not asked for, and measure is called although the main
     * device may not be here. NULL: none. */
    enum status_code (*look)(struct measuring *measuring, struct status *error);
    bool writes_files;    /* to the job's folder, which goes with the attempt however that ends */
    const char *unproved; /* why --prove says nothing of such a case; NULL: it does */
};

/* The first row that applies; the last one does to every case. */
const struct case_kind *case_kind_of(const struct workload *workload);

/* A batch that is looked for: what is predicted is the whole search, and what it ends with. */
extern const struct case_kind case_kind_search;

/* A model that is loaded from a checkpoint, in one place or several (case_placed.c). */
extern const struct case_kind case_kind_checkpoint;

/* A model that lies in several places. */
extern const struct case_kind case_kind_placed;

/* A tape on one device. */
extern const struct case_kind case_kind_replay;

#endif
