/* Hardware: what this machine is made of, as far as it explains a measurement: processors, memory, GPUs and which cores
 * are near them. hwloc is the source of everything but the size of memory and the names of host and kernel.
 *
 * No GPU is touched: they are found as PCI devices, so that no context is created in a process that measures. What only
 * a driver knows (memory, uuid) is there if the topology has it as a bonus, else unknown. */
#ifndef ASSAY_HARDWARE_HARDWARE_H
#define ASSAY_HARDWARE_HARDWARE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/base/text.h"

/* In every number below; NULL is an unknown text. */
enum { HARDWARE_UNKNOWN = -1 };

/* A cpu is what the operating system numbers and binds to: a hardware thread. Lists are written as taskset takes them,
 * "0-3,8". */
struct hardware_cpus {
    const char *list; /* NULL: unknown */
    const int *numbers;
    int count; /* 0: unknown */
};

struct hardware_numa {
    int node;             /* the operating system's number */
    int64_t memory_bytes; /* unknown where the nodes together are far from the machine's memory: then they are wrong */
    struct hardware_cpus cpus;
};

struct hardware_cache {
    int level;        /* 1, 2, 3, ... */
    const char *type; /* "unified", "data", "instruction" */
    int count;
    int64_t total_bytes; /* of all of them */
};

struct hardware_gpu {
    const char *pci_bus_id; /* "0000:12:00.0"; NULL for a GPU that is not on a PCI bus */
    const char *pci_id;     /* vendor and device, "10de:2330" */
    const char *vendor;     /* "NVIDIA", "AMD", "Intel" */
    const char *model;
    const char *uuid;
    int64_t memory_bytes;
    int64_t link_bytes_per_second; /* of the PCI link as it is now, whole MB/s */
    int numa_node;                 /* the nearest; unknown if several are equally near */
    struct hardware_cpus cpus;     /* the nearest */
};

struct hardware {
    bool this_system;   /* false: a topology file of another machine */
    const char *source; /* the topology file, "this machine", or that hwloc's own variables made it up */
    const char *host, *kernel, *cpu_model;
    int64_t memory_bytes;
    const char *memory_source; /* "/proc/meminfo", or "topology" for another machine */
    int package_count, core_count, pu_count;
    struct hardware_numa *numa;
    int numa_count;
    struct hardware_cache *caches;
    int cache_count;
    struct hardware_gpu *gpus; /* in the order of the bus */
    int gpu_count;
};

/* Reads the topology file at path (hwloc's XML, version 2); NULL: the file that the environment variable HWLOC_XMLFILE
 * names, or else this machine. All memory of *hardware is the arena's. STATUS_IO where the file cannot be read,
 * STATUS_INVALID where it is no such topology. */
enum status_code hardware_read(const char *path, struct arena *arena, struct hardware *hardware, struct status *error);

/* The GPU with a bus id as CUDA, NVML or lspci write it: any case, a domain of 4 or 8 digits or none. NULL: not
 * here. */
const struct hardware_gpu *hardware_find_gpu(const struct hardware *hardware, const char *pci_bus_id);

/* {"host", "kernel", "cpu_model", "memory_bytes", "memory_source", "package_count", "core_count", "pu_count",
 *  "numa": [{"node", "memory_bytes", "cores"}], "caches": [{"level", "type", "count", "total_bytes"}],
 *  "gpus": [{"pci_bus_id", "pci_id", "vendor", "model", "memory_bytes", "uuid", "numa_node", "cores",
 *            "link_bytes_per_second"}], "this_system", "source"}
 * "cores" is a list of cpus as above. An unknown is null. NULL if memory ran out. */
struct json *hardware_to_json(const struct hardware *hardware);

/* Appends lines for people, at most 80 columns each, binary units. */
void hardware_to_text(const struct hardware *hardware, struct text *text);

#endif
