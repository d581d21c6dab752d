/* Process limits: what the kernel lets this process have of the machine: cores, memory, locked memory. */
#ifndef ASSAY_HARDWARE_PROCESS_LIMITS_H
#define ASSAY_HARDWARE_PROCESS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct process_limits {
    int online_cores;     /* of the machine, hardware threads */
    int allowed_cores;    /* that this process may run on */
    double quota_cores;   /* that its container may use at a time; 0: no limit */
    int64_t memory_bytes; /* that its container may have; 0: no limit */
    int64_t locked_bytes; /* ulimit -l; -1: no limit */
    bool is_container;    /* a container, as far as it leaves a trace */
};

/* root: "" for this machine; a folder that has proc/self/cgroup, sys/fs/cgroup and run/ for a test. */
void process_limits_read(const char *root, struct process_limits *limits);

#endif
