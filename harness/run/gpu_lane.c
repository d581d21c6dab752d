/* GPU lane: the environment and the cores of a child. CUDA reads the one when it starts; the parent never starts it. */
#include "harness/run/gpu_lane.h"

#include <stdlib.h>

#include "harness/hardware/process_bind.h"

const char *gpu_lane_enter(const struct gpu_lane *lane)
{
    if (lane->cpu_count > 0) {
        (void)process_bind(lane->cpus, lane->cpu_count); /* it measures the same elsewhere, and slower */
    }
    return lane->uuid != NULL && setenv("CUDA_VISIBLE_DEVICES", lane->uuid, 1) == 0 ? "cuda" : lane->spec;
}
