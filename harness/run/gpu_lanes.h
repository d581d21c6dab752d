/* GPU lanes: all GPUs that a run sees, of which each measures cases beside the others. Internal to harness/run.
 *
 * The children of a lane see its GPU alone (CUDA_VISIBLE_DEVICES with its UUID), so that none makes a context on
 * another, and run on the cores that are nearest to it, whose memory the kernel then gives them. */
#ifndef ASSAY_RUN_GPU_LANES_H
#define ASSAY_RUN_GPU_LANES_H

#include "harness/base/arena.h"
#include "harness/run/gpu_lane.h"
#include "harness/run/run.h"
#include "harness/run/run_signals.h"

enum { GPU_LANES_MAXIMUM = 64 };

struct gpu_lanes {
    struct arena arena;
    struct gpu_lane lanes[GPU_LANES_MAXIMUM];
    struct json *answers[GPU_LANES_MAXIMUM]; /* what each has said of itself (device_claim_ask) */
    int count;                               /* 0: there is no GPU */
};

/* Asks in children which GPUs there are. STATUS_INVALID: they are not of one name, so that which of them a case is
 * measured on would decide its figures. STATUS_DEVICE: one of them gives no answer. STATUS_INTERRUPTED.
 * STATUS_IO, STATUS_OUT_OF_MEMORY. The caller releases *lanes. */
enum status_code gpu_lanes_find(const struct run_options *options, const struct run_signals *signals,
                                struct gpu_lanes *lanes, struct status *error);

void gpu_lanes_release(struct gpu_lanes *lanes); /* all zero is accepted */

#endif
