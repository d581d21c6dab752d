/* History baselines: the runs of a history that a run is held against. */
#ifndef ASSAY_CLI_HISTORY_BASELINES_H
#define ASSAY_CLI_HISTORY_BASELINES_H

#include "harness/cli/gate_baselines.h"

/* Each adds what it finds in the history of --history (as `assay history` has it) to *baselines. That a history has no
 * such run is no error: baselines->lacking says it. What began before the run, or in its second, is of a suite of its
 * name, on its device and not a part or a copy of it counts; of these those that passed (harness/gate/gate_chain.h). */
baseline_reader history_latest_read;   /* word "": the newest */
baseline_reader history_newest_read;   /* "7": so many of the newest, or as many as there are */
baseline_reader history_run_read;      /* "5f3c8e": the one whose run_id begins so, whatever it is of */
baseline_reader history_ancestor_read; /* "": of the nearest commit before that which assay was built from, passed or
                                          not: what the commits between have changed is asked for */

#endif
