/* Process bind: a process kept on some cores, as those near its GPU (hardware.h says which these are). */
#ifndef ASSAY_HARDWARE_PROCESS_BIND_H
#define ASSAY_HARDWARE_PROCESS_BIND_H

#include <stdbool.h>

/* Lets the calling thread, and what it starts from now on, run on these cpus alone, as far as it may run on them now:
 * a container or a job keeps what it has. Memory that it touches first then comes from their NUMA nodes, as the kernel
 * does by itself. False, and all is as it was, if it may run on none of them or the kernel refuses. */
bool process_bind(const int *cpus, int count);

#endif
