/* GPU watch: telling ourselves from others in NVML's list. Asking NVML is in nvml_library.c. */
#include "harness/device/cuda/gpu_watch.h"

#include <stdlib.h>
#include <unistd.h>

#include "harness/base/size.h"

void gpu_watch_begin(const struct nvml_library *nvml, bool has_context, struct gpu_watch *watch)
{
    *watch = (struct gpu_watch){.has_context = has_context};
    watch->free_known = nvml_free_bytes(nvml, &watch->free_bytes);
    watch->before = has_context ? NULL : nvml_processes_list(nvml, &watch->before_count); /* we would be among them */
}

void gpu_watch_end(struct gpu_watch *watch)
{
    free(watch->before);
    *watch = (struct gpu_watch){0};
}

void gpu_watch_baseline(const struct gpu_watch *watch, int64_t total_bytes, struct device_reading *reading)
{
    int64_t used_bytes = total_bytes - watch->free_bytes;
    reading->baseline_valid = watch->free_known && !watch->has_context && used_bytes >= -GPU_WATCH_EXCESS_BYTES;
    reading->baseline_bytes = reading->baseline_valid && used_bytes > 0 ? used_bytes : 0;
}

/* Who is on the GPU holds something. Drivers that translate the numbers of processes for a container, but not where
 * they look up what a number holds (560), say 0. */
static bool bytes_told(const struct nvml_process *process)
{
    return process->used_bytes > 0 && process->used_bytes <= (unsigned long long)INT64_MAX;
}

static bool pid_is_among(const struct nvml_process *processes, int count, unsigned pid)
{
    bool found = false;
    for (int i = 0; i < count; i++) {
        found = found || processes[i].pid == pid;
    }
    return found;
}

static bool was_before(const struct gpu_watch *watch, unsigned pid)
{
    return watch->before != NULL && pid_is_among(watch->before, watch->before_count, pid);
}

static int gone_count(const struct gpu_watch *watch, const struct nvml_process *processes, int count)
{
    int gone = 0;
    for (int i = 0; watch->before != NULL && i < watch->before_count; i++) {
        gone += pid_is_among(processes, count, watch->before[i].pid) ? 0 : 1;
    }
    return gone;
}

/* Which of the processes is ours, or may be; -1: none. Where it is told, it is remembered. */
static int own_find(struct gpu_watch *watch, const struct nvml_process *processes, int count, int64_t held_bytes)
{
    int newcomers = 0, chosen = -1;
    for (int i = 0; i < count; i++) {
        bool enough = !bytes_told(&processes[i]) || (int64_t)processes[i].used_bytes >= held_bytes;
        bool same = watch->own_known ? processes[i].pid == watch->own_pid : processes[i].pid == (unsigned)getpid();
        if (was_before(watch, processes[i].pid) || !enough) {
            continue;
        }
        if (same) {
            watch->own_known = true;
            watch->own_pid = processes[i].pid;
            return i;
        }
        newcomers++;
        chosen = i;
    }
    if (watch->own_known) { /* it is there no longer */
        return -1;
    }
    if (newcomers == 1 && watch->before != NULL) {
        watch->own_known = true;
        watch->own_pid = processes[chosen].pid;
    }
    return chosen;
}

static void foreign_sum(const struct nvml_process *processes, int count, int own,
                        struct device_disturbance *disturbance)
{
    int64_t sum = -1;
    for (int i = 0; i < count; i++) {
        if (i == own) {
            continue;
        }
        if (disturbance->foreign_count++ == 0) {
            disturbance->foreign_pid = (int64_t)processes[i].pid;
        }
        if (bytes_told(&processes[i]) && !size_add(sum < 0 ? 0 : sum, (int64_t)processes[i].used_bytes, &sum)) {
            sum = INT64_MAX;
        }
    }
    disturbance->foreign_bytes = sum;
    disturbance->foreign_valid = count > 0; /* an empty list although we are on the GPU tells of nobody */
}

void gpu_watch_read(struct gpu_watch *watch, const struct nvml_library *nvml, int64_t held_bytes,
                    struct device_reading *reading)
{
    int count = 0;
    struct device_disturbance *disturbance = &reading->disturbance;
    struct nvml_process *processes = nvml_processes_list(nvml, &count);
    disturbance->ecc_mode = nvml_ecc_mode(nvml);
    disturbance->mig_mode = nvml_mig_mode(nvml);
    if (processes == NULL) {
        return;
    }
    int own = own_find(watch, processes, count, held_bytes);
    foreign_sum(processes, count, own, disturbance);
    disturbance->foreign_gone_count = gone_count(watch, processes, count);
    if (own >= 0 && watch->own_known && bytes_told(&processes[own])) {
        reading->process_valid = true;
        reading->process_bytes = (int64_t)processes[own].used_bytes;
    } else if (own >= 0 && !watch->own_known) { /* which of them are the others is not told */
        disturbance->foreign_pid = disturbance->foreign_bytes = -1;
    }
    free(processes);
}
