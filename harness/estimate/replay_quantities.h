/* Replay quantities: the figures of a replay as those of an estimate. Of a model on one device they are the estimator
 * replay's; of one that lies in several places each place has its own. */
#ifndef ASSAY_ESTIMATE_REPLAY_QUANTITIES_H
#define ASSAY_ESTIMATE_REPLAY_QUANTITIES_H

#include "harness/estimate/estimate.h"
#include "harness/replay/replay.h"

/* Peaks, stages, categories, causes. */
void estimate_add_replay(struct estimate *estimate, const struct replay_result *result);
/* Of a case that does not run: its peaks are unknown. The caller adds a note. */
void estimate_add_no_peaks(struct estimate *estimate);

#endif
