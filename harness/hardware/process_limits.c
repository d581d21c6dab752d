/* Process limits: affinity and ulimit by system calls, a container's by the files of its cgroup and of those above. */
#include "harness/hardware/process_limits.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LINE_BYTES = 512 };

static bool line_read(const char *path, char line[LINE_BYTES])
{
    FILE *file = fopen(path, "r");
    bool read = file != NULL && fgets(line, LINE_BYTES, file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    return read;
}

/* The path of this process below the mount: of version 2 in the line "0::", of version 1 in that of its controller. */
static bool cgroup_path_find(const char *root, const char *controller, char path[LINE_BYTES])
{
    char name[PATH_MAX], line[LINE_BYTES];
    bool found = false;
    snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
    FILE *file = fopen(name, "r");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        char *controllers = strchr(line, ':');
        char *below = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (below == NULL) {
            continue;
        }
        *below = '\0';
        size_t length = strlen(controller);
        const char *at = strstr(controllers + 1, controller);
        found = length == 0 ? controllers[1] == '\0' : at != NULL && (at[length] == '\0' || at[length] == ',');
        if (found) {
            below[1 + strcspn(below + 1, "\n")] = '\0';
            snprintf(path, LINE_BYTES, "%s", strcmp(below + 1, "/") == 0 ? "" : below + 1);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/* Calls look with the file of this name in the cgroup and in each above it, up to the mount. A container often sees its
 * own cgroup as the mount, whatever the path says. */
static void cgroups_climb(const char *mount, char *below, const char *file,
                          void (*look)(const char *line, void *limits), void *limits)
{
    for (;;) {
        char path[PATH_MAX + 2 * LINE_BYTES], line[LINE_BYTES];
        snprintf(path, sizeof path, "%s%s/%s", mount, below, file);
        if (line_read(path, line)) {
            look(line, limits);
        }
        char *slash = strrchr(below, '/');
        if (slash == NULL) {
            return;
        }
        *slash = '\0';
    }
}

/* "max", "34359738368"; version 1 writes a number near 2^63 for no limit. */
static void memory_look(const char *line, void *context)
{
    struct process_limits *limits = context;
    long long bytes = strtoll(line, NULL, 10);
    if (bytes > 0 && bytes < LLONG_MAX / 2 && (limits->memory_bytes == 0 || bytes < limits->memory_bytes)) {
        limits->memory_bytes = bytes;
    }
}

static void quota_note(struct process_limits *limits, double quota, double period)
{
    double cores = quota > 0 && period > 0 ? quota / period : 0;
    if (cores > 0 && (limits->quota_cores <= 0 || cores < limits->quota_cores)) {
        limits->quota_cores = cores;
    }
}

/* "max 100000", "200000 100000". */
static void cores_look(const char *line, void *context)
{
    char *end = NULL;
    double quota = strtod(line, &end);
    quota_note(context, end != line ? quota : 0, strtod(end, NULL));
}

/* Version 1 has quota and period in two files, and the period is 100,000 us but where somebody changed it. */
static void old_quota_look(const char *line, void *context)
{
    quota_note(context, strtod(line, NULL), 100000);
}

static void container_read(const char *root, struct process_limits *limits)
{
    static const char *const traces[] = {"/.dockerenv", "/run/.containerenv",
                                         "/var/run/secrets/kubernetes.io/serviceaccount"};
    static const struct {
        const char *controller, *mount, *file;
        void (*look)(const char *line, void *limits);
    } rows[] = {{"", "/sys/fs/cgroup", "memory.max", memory_look},
                {"", "/sys/fs/cgroup", "cpu.max", cores_look},
                {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", memory_look},
                {"cpu", "/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", old_quota_look}};
    char path[PATH_MAX], below[LINE_BYTES];
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++) {
        snprintf(path, sizeof path, "%s%s", root, traces[i]);
        limits->is_container = limits->is_container || access(path, F_OK) == 0;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(path, sizeof path, "%s%s", root, rows[i].mount);
        if (cgroup_path_find(root, rows[i].controller, below)) {
            cgroups_climb(path, below, rows[i].file, rows[i].look, limits);
        }
    }
}

void process_limits_read(const char *root, struct process_limits *limits)
{
    cpu_set_t allowed;
    struct rlimit locked;
    *limits = (struct process_limits){.locked_bytes = -1};
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    limits->online_cores = online > 0 ? (int)online : 1;
    limits->allowed_cores =
        sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : limits->online_cores;
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY) {
        limits->locked_bytes = (int64_t)locked.rlim_cur;
    }
    container_read(root, limits);
}
