/* Gate baselines: what --baseline names, read and joined. */
#ifndef ASSAY_CLI_GATE_BASELINES_H
#define ASSAY_CLI_GATE_BASELINES_H

#include "harness/base/text.h"
#include "harness/cli/command.h"
#include "harness/gate/gate_baseline.h"

/* All zero: none. */
struct gate_baselines {
    struct run_figures runs[GATE_BASELINES_MAXIMUM];
    int count;
    struct run_figures merged; /* of several */
    struct text words;         /* "results/monday", "the median of 3 runs (a, b, c)" */
};

/* Reads every --baseline: a folder of records, or median:DIR,DIR,... Several of them are joined by their median.
 * STATUS_INVALID names what is wrong with a word, and STATUS_IO what cannot be read. *baselines is released by the
 * caller, also after an error. */
enum status_code gate_baselines_read(const struct arguments *arguments, struct gate_baselines *baselines,
                                     struct status *error);

/* What the run is held against; NULL: nothing. */
const struct run_figures *gate_baselines_figures(const struct gate_baselines *baselines);

void gate_baselines_release(struct gate_baselines *baselines);

#endif
