/* GPU watch: what a GPU held before our context was made, who else is on it, and which of its processes is ours. */
#ifndef ASSAY_DEVICE_CUDA_GPU_WATCH_H
#define ASSAY_DEVICE_CUDA_GPU_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/device/cuda/nvml_library.h"

/* By how much NVML's free memory may be above all that cudaMemGetInfo counts, and the GPU is still taken to be empty:
 * the two do not count the same to the last byte on every driver. Beyond it they count different things. */
enum { GPU_WATCH_EXCESS_BYTES = 16 << 20 };

struct gpu_watch {
    bool has_context; /* from the beginning: what was there before our context is not known */
    bool free_known;
    int64_t free_bytes;          /* before our context */
    struct nvml_process *before; /* the processes then; NULL: not known */
    int before_count;
    bool own_known;   /* which process is ours, once it could be told */
    unsigned own_pid; /* as NVML numbers it */
};

/* Called before the context is made. has_context: this process made it with a device that it opened earlier. */
void gpu_watch_begin(const struct nvml_library *nvml, bool has_context, struct gpu_watch *watch);
void gpu_watch_end(struct gpu_watch *watch); /* one that was never begun is accepted */

/* baseline_* of *reading: total_bytes (of cudaMemGetInfo) less what was free before. The two libraries differ in what
 * they call used, because one of them counts what the driver keeps for itself; of what is free both say the same. */
void gpu_watch_baseline(const struct gpu_watch *watch, int64_t total_bytes, struct device_reading *reading);

/* process_*, foreign_* and the modes of *reading. Ours is the process with our id that was not there before and has at
 * least held_bytes, what we surely hold; else, where a container numbers processes differently, the only such one that
 * came; and then it stays. Where several came at once, all but one of them are others for sure, and neither ours nor
 * theirs are told. */
void gpu_watch_read(struct gpu_watch *watch, const struct nvml_library *nvml, int64_t held_bytes,
                    struct device_reading *reading);

#endif
