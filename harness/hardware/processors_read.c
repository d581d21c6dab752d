/* Processors read: packages, cores, NUMA nodes and caches of a topology. Not their use: binding is the caller's. */
#include <stdlib.h>

#include "harness/base/size.h"
#include "harness/hardware/topology_read.h"

static enum status_code processors_no_memory(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to describe its processors");
}

bool cpus_read(hwloc_const_bitmap_t set, struct arena *arena, struct hardware_cpus *cpus)
{
    int count = set != NULL ? hwloc_bitmap_weight(set) : 0;
    if (count <= 0) { /* -1: a set without end */
        *cpus = (struct hardware_cpus){0};
        return true;
    }
    char *list = NULL;
    int *numbers = arena_alloc(arena, (size_t)count * sizeof *numbers);
    if (numbers == NULL || hwloc_bitmap_list_asprintf(&list, set) < 0) {
        return false;
    }
    int cpu = -1;
    for (int i = 0; i < count; i++) {
        cpu = hwloc_bitmap_next(set, cpu);
        numbers[i] = cpu;
    }
    *cpus = (struct hardware_cpus){.list = arena_copy(arena, list), .numbers = numbers, .count = count};
    free(list);
    return cpus->list != NULL;
}

static int objects_count(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(topology, type);
    return count > 0 ? count : HARDWARE_UNKNOWN;
}

/* The nodes' figures are kept only if they account for the machine's memory: at least nine tenths of it. */
static void numa_memory_judge(struct hardware *hardware)
{
    int64_t sum = 0;
    bool added = true;
    for (int i = 0; i < hardware->numa_count && added; i++) {
        added = size_add(sum, hardware->numa[i].memory_bytes, &sum);
    }
    if (added && hardware->memory_bytes > 0 && sum / 9 >= hardware->memory_bytes / 10) {
        return;
    }
    for (int i = 0; i < hardware->numa_count; i++) {
        hardware->numa[i].memory_bytes = hardware->numa_count == 1 ? hardware->memory_bytes : HARDWARE_UNKNOWN;
    }
}

static enum status_code numa_read(hwloc_topology_t topology, struct arena *arena, struct hardware *hardware,
                                  struct status *error)
{
    int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    if (count <= 0) {
        return STATUS_OK;
    }
    hardware->numa = arena_alloc(arena, (size_t)count * sizeof *hardware->numa);
    if (hardware->numa == NULL) {
        return processors_no_memory(error);
    }
    for (int i = 0; i < count; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)i);
        struct hardware_numa *numa = &hardware->numa[i];
        uint64_t bytes = object->attr->numanode.local_memory;
        numa->node = (int)object->os_index;
        numa->memory_bytes = bytes <= INT64_MAX ? (int64_t)bytes : HARDWARE_UNKNOWN;
        if (!cpus_read(object->cpuset, arena, &numa->cpus)) {
            return processors_no_memory(error);
        }
    }
    hardware->numa_count = count;
    numa_memory_judge(hardware);
    return STATUS_OK;
}

static const char *cache_type_name(hwloc_obj_cache_type_t type)
{
    return type == HWLOC_OBJ_CACHE_DATA ? "data" : type == HWLOC_OBJ_CACHE_INSTRUCTION ? "instruction" : "unified";
}

static int64_t caches_total_bytes(hwloc_topology_t topology, hwloc_obj_type_t type, int count)
{
    int64_t total_bytes = 0;
    for (int i = 0; i < count; i++) {
        uint64_t bytes = hwloc_get_obj_by_type(topology, type, (unsigned)i)->attr->cache.size;
        if (bytes == 0 || bytes > INT64_MAX || !size_add(total_bytes, (int64_t)bytes, &total_bytes)) {
            return HARDWARE_UNKNOWN;
        }
    }
    return total_bytes;
}

static enum status_code caches_read(hwloc_topology_t topology, struct arena *arena, struct hardware *hardware,
                                    struct status *error)
{
    enum { KIND_COUNT = HWLOC_OBJ_L3ICACHE - HWLOC_OBJ_L1CACHE + 1 };
    hardware->caches = arena_alloc(arena, KIND_COUNT * sizeof *hardware->caches);
    if (hardware->caches == NULL) {
        return processors_no_memory(error);
    }
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        hwloc_obj_type_t type = (hwloc_obj_type_t)((int)HWLOC_OBJ_L1CACHE + kind);
        int count = hwloc_get_nbobjs_by_type(topology, type);
        if (count > 0) {
            hwloc_obj_t first = hwloc_get_obj_by_type(topology, type, 0);
            hardware->caches[hardware->cache_count++] = (struct hardware_cache){
                .level = (int)first->attr->cache.depth,
                .type = cache_type_name(first->attr->cache.type),
                .count = count,
                .total_bytes = caches_total_bytes(topology, type, count),
            };
        }
    }
    return STATUS_OK;
}

enum status_code processors_read(hwloc_topology_t topology, struct arena *arena, struct hardware *hardware,
                                 struct status *error)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package != NULL ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    if (model == NULL) {
        model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "CPUModel");
    }
    hardware->cpu_model = model != NULL ? arena_copy(arena, model) : NULL;
    hardware->package_count = objects_count(topology, HWLOC_OBJ_PACKAGE);
    hardware->core_count = objects_count(topology, HWLOC_OBJ_CORE);
    hardware->pu_count = objects_count(topology, HWLOC_OBJ_PU);
    enum status_code code = numa_read(topology, arena, hardware, error);
    return code == STATUS_OK ? caches_read(topology, arena, hardware, error) : code;
}
