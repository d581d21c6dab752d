/* Batch run: a series of tries (batch_series.h) carried out at once, by a runner that really tries each batch. */
#ifndef ASSAY_QUESTION_BATCH_RUN_H
#define ASSAY_QUESTION_BATCH_RUN_H

#include "harness/question/batch_series.h"

/* Who tries, and who hears of it. hint, ended: may be NULL. */
struct batch_runner {
    void *context;
    /* *line NULL with STATUS_OK: interrupted. */
    enum status_code (*attempt)(void *context, int64_t batch, struct json **line, struct status *error);
    /* The largest batch that is predicted to run, from what the lines so far tell of the device; 0: not known. */
    int64_t (*hint)(void *context, const struct json *line);
    void (*ended)(void *context, const struct batch_try *try_);
};

/* Carries out one policy. On success result is released with batch_result_release. Errors of the runner,
 * STATUS_OUT_OF_MEMORY; the tries so far stay in the record. */
enum status_code batch_run(const struct batch_request *request, const struct batch_runner *runner,
                           struct batch_record *record, struct batch_result *result, struct status *error);

#endif
