/* Search predict: what a child does that is asked which batches of a case run, by replay. It opens no device. Internal
 * to harness/run.
 *
 * Sends "prediction": {"limit": the largest batch that runs, null if it was not asked for, "runs": [for each batch
 * that was asked for true, false, or null if the two numbers of bytes say different things]}. */
#ifndef ASSAY_RUN_SEARCH_PREDICT_H
#define ASSAY_RUN_SEARCH_PREDICT_H

#include "harness/run/run.h"

void search_predict(void *context, const struct case_job *job, int file);

#endif
