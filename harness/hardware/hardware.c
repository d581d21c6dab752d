/* Hardware: opens the topology and reads what is not in it. Not here: processors and NUMA nodes (processors_read.c),
 * GPUs (gpus_read.c), output (hardware_text.c). */
#include "harness/hardware/hardware.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/base/size.h"
#include "harness/hardware/topology_read.h"

/* Discovery must not create GPU contexts: these parts of hwloc ask drivers. A part that is not built is refused, which
 * is as good. It is set for this topology alone, where the environment would be set for everybody. */
static void drivers_exclude(hwloc_topology_t topology)
{
    static const char *const parts[] = {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, parts[i]);
    }
}

static enum status_code topology_file_error(const char *path, struct status *error)
{
    return status_set(error, STATUS_INVALID,
                      "%s: not a topology in hwloc's XML of version 2; write one with lstopo --of xml", path);
}

/* A topology file is set by its path: hwloc passes over one that it cannot read if the environment names it. */
static enum status_code topology_configure(hwloc_topology_t topology, const char *path, struct status *error)
{
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (path == NULL) {
        drivers_exclude(topology);
        return STATUS_OK;
    }
    if (access(path, R_OK) != 0) {
        return status_set(error, STATUS_IO, "%s: %s", path, strerror(errno));
    }
    return hwloc_topology_set_xml(topology, path) == 0 ? STATUS_OK : topology_file_error(path, error);
}

static enum status_code topology_open(const char *path, hwloc_topology_t *topology, struct status *error)
{
    hwloc_topology_t opened = NULL;
    if (hwloc_topology_init(&opened) != 0) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "hwloc cannot start: %s", strerror(errno));
    }
    enum status_code code = topology_configure(opened, path, error);
    if (code == STATUS_OK && hwloc_topology_load(opened) != 0) {
        code = path != NULL ? topology_file_error(path, error)
                            : status_set(error, STATUS_IO, "hwloc cannot read this machine: %s", strerror(errno));
    }
    if (code != STATUS_OK) {
        hwloc_topology_destroy(opened);
        return code;
    }
    *topology = opened;
    return STATUS_OK;
}

/* MemTotal of /proc/meminfo. hwloc's sum over NUMA nodes is too small where the kernel initialises memory lazily. */
static int64_t meminfo_total_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL) {
        return HARDWARE_UNKNOWN;
    }
    char line[256];
    int64_t bytes = HARDWARE_UNKNOWN;
    long long kibibytes = 0;
    while (bytes == HARDWARE_UNKNOWN && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemTotal: %lld kB", &kibibytes) == 1 && !size_multiply(kibibytes, 1024, &bytes)) {
            break;
        }
    }
    fclose(file);
    return bytes;
}

static const char *text_keep(struct arena *arena, const char *text)
{
    return text != NULL ? arena_copy(arena, text) : NULL;
}

static void this_machine_read(struct arena *arena, struct hardware *hardware)
{
    struct utsname names;
    hardware->memory_bytes = meminfo_total_bytes();
    hardware->memory_source = "/proc/meminfo";
    if (uname(&names) == 0) {
        hardware->host = arena_copy(arena, names.nodename);
        hardware->kernel = arena_format(arena, "%s %s", names.sysname, names.release);
    }
}

static void other_machine_read(hwloc_topology_t topology, struct arena *arena, struct hardware *hardware)
{
    hwloc_obj_t root = hwloc_get_root_obj(topology);
    const char *system = hwloc_obj_get_info_by_name(root, "OSName");
    const char *release = hwloc_obj_get_info_by_name(root, "OSRelease");
    bool has_memory = root->total_memory > 0 && root->total_memory <= INT64_MAX;
    hardware->memory_bytes = has_memory ? (int64_t)root->total_memory : HARDWARE_UNKNOWN;
    hardware->memory_source = "topology";
    hardware->host = text_keep(arena, hwloc_obj_get_info_by_name(root, "HostName"));
    if (system != NULL && release != NULL) {
        hardware->kernel = arena_format(arena, "%s %s", system, release);
    }
}

enum status_code hardware_read(const char *path, struct arena *arena, struct hardware *hardware, struct status *error)
{
    const char *named = path != NULL ? path : getenv("HWLOC_XMLFILE");
    const char *file = named != NULL && named[0] != '\0' ? named : NULL;
    hwloc_topology_t topology = NULL;
    struct hardware found = {0};
    enum status_code code = topology_open(file, &topology, error);
    if (code != STATUS_OK) {
        return code;
    }
    found.this_system = hwloc_topology_is_thissystem(topology) != 0;
    found.source = file != NULL        ? arena_copy(arena, file)
                   : found.this_system ? "this machine"
                                       : "HWLOC_* of the environment";
    if (found.this_system) {
        this_machine_read(arena, &found);
    } else {
        other_machine_read(topology, arena, &found);
    }
    code = processors_read(topology, arena, &found, error);
    if (code == STATUS_OK) {
        code = gpus_read(topology, arena, &found, error);
    }
    hwloc_topology_destroy(topology);
    if (code == STATUS_OK) {
        *hardware = found;
    }
    return code;
}

/* Reads "[domain:]bus:device.function", all of it, as one number. */
static bool bus_id_parse(const char *text, uint64_t *id)
{
    unsigned domain = 0, bus, device, function;
    int used = 0;
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) != 4) {
        domain = 0;
        used = 0;
        if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &used) != 3) {
            return false;
        }
    }
    *id = ((uint64_t)domain << 32) | (bus << 16) | (device << 8) | function;
    return used > 0 && text[used] == '\0';
}

const struct hardware_gpu *hardware_find_gpu(const struct hardware *hardware, const char *pci_bus_id)
{
    uint64_t wanted, present;
    if (!bus_id_parse(pci_bus_id, &wanted)) {
        return NULL;
    }
    for (int i = 0; i < hardware->gpu_count; i++) {
        const char *text = hardware->gpus[i].pci_bus_id;
        if (text != NULL && bus_id_parse(text, &present) && present == wanted) {
            return &hardware->gpus[i];
        }
    }
    return NULL;
}
