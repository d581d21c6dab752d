/* Cgroup: what the kernel counts for the cgroup that this process is in. Internal to harness/device.
 *
 * The count is of all processes there, with the files that they have in the page cache: an upper bound of what a
 * container is charged for, and no footprint of one process. Nothing is written but a reset of the peak that is this
 * open file's alone (cgroup v2, Linux 6.12 or newer); the peak of v1 belongs to everybody. */
#ifndef ASSAY_DEVICE_CGROUP_H
#define ASSAY_DEVICE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup {
    char folder[PATH_MAX];     /* "": none was found */
    size_t top_folder_length;  /* of its part that is the mount */
    bool is_unified;           /* version 2 */
    int usage_file, peak_file; /* -1: not there */
    /* Starts a new peak for those who read through file; false if the kernel has no such thing. */
    bool (*peak_reset)(int file);
    bool peak_is_new;   /* the last begin could reset it */
    bool highest_known; /* it could not, and this was the highest ever until then */
    int64_t highest_bytes;
};

/* root: "" for this machine; tests have a folder with proc/self/cgroup, proc/self/mountinfo and what they name. Where
 * the memory controller, the mount or a file is missing, the figures are unknown. */
void cgroup_open(const char *root, struct cgroup *cgroup);
void cgroup_close(struct cgroup *cgroup);

/* False: unknown. */
bool cgroup_usage_read(const struct cgroup *cgroup, int64_t *bytes);

/* What the limits of this cgroup and of those above it leave before the kernel kills: the limit less what is used, of
 * which files in the page cache can be dropped. INT64_MAX where there is no limit. False: unknown. */
bool cgroup_room_read(const struct cgroup *cgroup, int64_t *bytes);

/* From here on peaks are new. Where the kernel keeps one peak for ever, that of a stretch is known only if it rose
 * above all that had been before. */
void cgroup_peak_begin(struct cgroup *cgroup);
bool cgroup_peak_read(const struct cgroup *cgroup, int64_t *bytes);

#endif
