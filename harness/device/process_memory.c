/* Process memory: which files of /proc are asked, and in which order. */
#include "harness/device/process_memory.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/base/size.h"
#include "harness/device/kernel_file.h"

static const char *proc_path(const char *root, const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/proc/%s", root, name);
    return path;
}

/* smaps_rollup walks the page tables and is exact; the counters behind VmRSS lag by some pages for each core. */
bool process_resident_read(const char *root, int64_t *bytes)
{
    char path[PATH_MAX];
    return kernel_field_read(proc_path(root, "self/smaps_rollup", path), "Rss", bytes) ||
           kernel_field_read(proc_path(root, "self/status", path), "VmRSS", bytes);
}

bool process_resident_peak_read(const char *root, int64_t *bytes)
{
    char path[PATH_MAX];
    return kernel_field_read(proc_path(root, "self/status", path), "VmHWM", bytes);
}

bool process_resident_peak_reset(const char *root)
{
    char path[PATH_MAX];
    int file = open(proc_path(root, "self/clear_refs", path), O_WRONLY | O_CLOEXEC);
    bool reset = file >= 0 && write(file, "5", 1) == 1;
    if (file >= 0) {
        close(file);
    }
    return reset;
}

void process_swap_read(const char *root, int64_t page_bytes, struct device_disturbance *disturbance)
{
    char path[PATH_MAX];
    int64_t pages = 0;
    disturbance->swap_valid =
        kernel_field_read(proc_path(root, "self/status", path), "VmSwap", &disturbance->swap_bytes);
    disturbance->swapped_out_valid = kernel_count_read(proc_path(root, "vmstat", path), "pswpout", &pages) &&
                                     size_multiply(pages, page_bytes, &disturbance->swapped_out_bytes);
}

/* Lowers *bytes to what one limit leaves beside what is taken, a line of /proc/self/status. */
static bool limit_apply(const char *root, __rlimit_resource_t resource, const char *taken_name, int64_t *bytes)
{
    struct rlimit limit;
    int64_t taken_bytes = 0;
    char path[PATH_MAX];
    if (getrlimit(resource, &limit) != 0) {
        return false;
    }
    if (limit.rlim_cur > INT64_MAX) { /* RLIM_INFINITY among others */
        return true;
    }
    if (!kernel_field_read(proc_path(root, "self/status", path), taken_name, &taken_bytes)) {
        return false;
    }
    int64_t left_bytes = (int64_t)limit.rlim_cur > taken_bytes ? (int64_t)limit.rlim_cur - taken_bytes : 0;
    *bytes = left_bytes < *bytes ? left_bytes : *bytes;
    return true;
}

bool process_limits_apply(const char *root, int64_t *bytes)
{
    return limit_apply(root, RLIMIT_AS, "VmSize", bytes) && limit_apply(root, RLIMIT_DATA, "VmData", bytes);
}
