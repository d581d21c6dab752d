/* GPU lane: one of the GPUs that measure cases beside each other, as its children know it. Internal to harness/run. */
#ifndef ASSAY_RUN_GPU_LANE_H
#define ASSAY_RUN_GPU_LANE_H

struct gpu_lane {
    const char *spec; /* "cuda:2": of the parent, which sees all of them */
    const char *uuid; /* as the driver writes it; NULL: the children see every GPU, and take it by its number */
    const int *cpus;  /* the nearest, as the operating system numbers them */
    int cpu_count;    /* 0: not known, or everywhere alike */
};

/* In a child of the lane, before anything asks for a device: what it sees, and where it runs. Returns the spec by which
 * it finds its GPU. */
const char *gpu_lane_enter(const struct gpu_lane *lane);

#endif
