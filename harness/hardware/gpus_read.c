/* GPUs read: display controllers of GPU makers on the PCI bus, joined by bus id with what drivers told hwloc about them
 * (OS devices cuda*, nvml*, rsmi*, ze*). Those are a bonus: most builds of hwloc have none, some only nvml's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/hardware/topology_read.h"

static const struct maker {
    unsigned short pci_vendor;
    const char *name;
} makers[] = {{0x10de, "NVIDIA"}, {0x1002, "AMD"}, {0x8086, "Intel"}};

/* The OS devices that stand for a GPU: how their names begin, and what they call its memory (in KiB) and its uuid. */
static const struct driver {
    const char *prefix, *maker, *memory_info, *uuid_info;
} drivers[] = {
    {"cuda", "NVIDIA", "CUDAGlobalMemorySize", "NVIDIAUUID"},
    {"nvml", "NVIDIA", NULL, "NVIDIAUUID"},
    {"rsmi", "AMD", "RSMIVRAMSize", "AMDUUID"},
    {"ze", "Intel", "LevelZeroHBMSize", "LevelZeroUUID"},
};

static const struct driver *driver_of(const struct hwloc_obj *os_device)
{
    const char *name = os_device->name != NULL ? os_device->name : "";
    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++) {
        size_t length = strlen(drivers[i].prefix);
        /* A number follows; "ze0.1" is a part of a GPU. */
        if (strncmp(name, drivers[i].prefix, length) == 0 && name[length] != '\0' &&
            name[length + strspn(name + length, "0123456789")] == '\0') {
            return &drivers[i];
        }
    }
    return NULL;
}

static const char *maker_name(unsigned short pci_vendor)
{
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        if (makers[i].pci_vendor == pci_vendor) {
            return makers[i].name;
        }
    }
    return NULL;
}

/* VGA, 3D or other display controller. The makers keep out the video chips of management boards. */
static bool pci_is_gpu(const struct hwloc_obj *pci)
{
    unsigned short class_id = pci->attr->pcidev.class_id;
    return (class_id == 0x0300 || class_id == 0x0302 || class_id == 0x0380) &&
           maker_name(pci->attr->pcidev.vendor_id) != NULL;
}

static hwloc_obj_t pci_ancestor(hwloc_obj_t object)
{
    while (object != NULL && object->type != HWLOC_OBJ_PCI_DEVICE) {
        object = object->parent;
    }
    return object;
}

/* The nearest cpus and NUMA node: those of the first ancestor that is not an I/O object. */
static bool place_read(hwloc_topology_t topology, hwloc_obj_t object, struct arena *arena, struct hardware_gpu *gpu)
{
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, object);
    gpu->numa_node = HARDWARE_UNKNOWN;
    if (near != NULL && near->nodeset != NULL && hwloc_bitmap_weight(near->nodeset) == 1) {
        gpu->numa_node = hwloc_bitmap_first(near->nodeset);
    }
    return cpus_read(near != NULL ? near->cpuset : NULL, arena, &gpu->cpus);
}

/* hwloc's float is in GB/s and good for whole MB/s; 0 is its unknown. */
static int64_t link_read(float gigabytes_per_second)
{
    bool known = gigabytes_per_second > 0.0f && gigabytes_per_second < 1e6f;
    return known ? (int64_t)llround((double)gigabytes_per_second * 1e3) * 1000000 : HARDWARE_UNKNOWN;
}

static bool gpu_from_pci(hwloc_topology_t topology, hwloc_obj_t pci, struct arena *arena, struct hardware_gpu *gpu)
{
    const struct hwloc_pcidev_attr_s *attributes = &pci->attr->pcidev;
    const char *model = hwloc_obj_get_info_by_name(pci, "PCIDevice");
    *gpu = (struct hardware_gpu){
        .pci_bus_id = arena_format(arena, "%04x:%02x:%02x.%x", (unsigned)attributes->domain, (unsigned)attributes->bus,
                                   (unsigned)attributes->dev, (unsigned)attributes->func),
        .pci_id = arena_format(arena, "%04x:%04x", (unsigned)attributes->vendor_id, (unsigned)attributes->device_id),
        .vendor = maker_name(attributes->vendor_id),
        .model = model != NULL ? arena_copy(arena, model) : NULL,
        .memory_bytes = HARDWARE_UNKNOWN,
        .link_bytes_per_second = link_read(attributes->linkspeed),
    };
    return gpu->pci_bus_id != NULL && gpu->pci_id != NULL && place_read(topology, pci, arena, gpu);
}

static bool gpu_from_os_device(hwloc_topology_t topology, hwloc_obj_t os_device, struct arena *arena,
                               struct hardware_gpu *gpu)
{
    *gpu = (struct hardware_gpu){.memory_bytes = HARDWARE_UNKNOWN, .link_bytes_per_second = HARDWARE_UNKNOWN};
    return place_read(topology, os_device, arena, gpu);
}

/* "83034112" or, in hwloc 3, "83034112KiB". */
static int64_t kibibytes_read(const char *text)
{
    char *end = NULL;
    int64_t bytes = HARDWARE_UNKNOWN;
    long long kibibytes = text[0] >= '0' && text[0] <= '9' ? strtoll(text, &end, 10) : 0;
    if (end == NULL || (*end != '\0' && strcmp(end, "KiB") != 0) || kibibytes <= 0) {
        return HARDWARE_UNKNOWN;
    }
    return size_multiply(kibibytes, 1024, &bytes) ? bytes : HARDWARE_UNKNOWN;
}

/* What a driver knows replaces what the bus said. */
static void driver_add(hwloc_obj_t os_device, const struct driver *driver, struct arena *arena,
                       struct hardware_gpu *gpu)
{
    const char *model = hwloc_obj_get_info_by_name(os_device, "GPUModel");
    const char *uuid = hwloc_obj_get_info_by_name(os_device, driver->uuid_info);
    const char *memory =
        driver->memory_info != NULL ? hwloc_obj_get_info_by_name(os_device, driver->memory_info) : NULL;
    if (gpu->vendor == NULL) {
        gpu->vendor = driver->maker;
    }
    if (model != NULL) {
        gpu->model = arena_copy(arena, model);
    }
    if (uuid != NULL) {
        gpu->uuid = arena_copy(arena, uuid);
    }
    if (memory != NULL) {
        gpu->memory_bytes = kibibytes_read(memory);
    }
}

/* Which object each GPU was made from: a PCI device, or an OS device that has none above it. */
struct gpu_list {
    struct hardware_gpu *gpus;
    hwloc_obj_t *origins;
    int count;
};

static int gpu_find(const struct gpu_list *list, const struct hwloc_obj *origin)
{
    for (int i = 0; i < list->count; i++) {
        if (list->origins[i] == origin) {
            return i;
        }
    }
    return -1;
}

static bool gpu_append(hwloc_topology_t topology, hwloc_obj_t origin, struct arena *arena, struct gpu_list *list)
{
    struct hardware_gpu *gpu = &list->gpus[list->count];
    bool made = origin->type == HWLOC_OBJ_PCI_DEVICE ? gpu_from_pci(topology, origin, arena, gpu)
                                                     : gpu_from_os_device(topology, origin, arena, gpu);
    list->origins[list->count] = origin;
    list->count += made;
    return made;
}

static bool pci_devices_read(hwloc_topology_t topology, struct arena *arena, struct gpu_list *list)
{
    bool read = true;
    for (hwloc_obj_t pci = hwloc_get_next_pcidev(topology, NULL); pci != NULL && read;
         pci = hwloc_get_next_pcidev(topology, pci)) {
        if (pci_is_gpu(pci)) {
            read = gpu_append(topology, pci, arena, list);
        }
    }
    return read;
}

static bool os_devices_read(hwloc_topology_t topology, struct arena *arena, struct gpu_list *list)
{
    bool read = true;
    const struct driver *off_bus = NULL; /* two drivers would tell of the same GPU, and nothing joins them */
    for (hwloc_obj_t os = hwloc_get_next_osdev(topology, NULL); os != NULL && read;
         os = hwloc_get_next_osdev(topology, os)) {
        const struct driver *driver = driver_of(os);
        hwloc_obj_t pci = pci_ancestor(os);
        if (driver == NULL || (pci == NULL && off_bus != NULL && off_bus != driver)) {
            continue;
        }
        off_bus = pci == NULL ? driver : off_bus;
        hwloc_obj_t origin = pci != NULL ? pci : os;
        int index = gpu_find(list, origin);
        if (index < 0) {
            index = list->count;
            read = gpu_append(topology, origin, arena, list);
        }
        if (read) {
            driver_add(os, driver, arena, &list->gpus[index]);
        }
    }
    return read;
}

enum status_code gpus_read(hwloc_topology_t topology, struct arena *arena, struct hardware *hardware,
                           struct status *error)
{
    int pci_count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PCI_DEVICE);
    int os_count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_OS_DEVICE);
    size_t most = (size_t)(pci_count > 0 ? pci_count : 0) + (size_t)(os_count > 0 ? os_count : 0);
    struct gpu_list list = {
        .gpus = arena_alloc(arena, most * sizeof *list.gpus),
        .origins = arena_alloc(arena, most * sizeof(hwloc_obj_t)),
    };
    if (list.gpus == NULL || list.origins == NULL || !pci_devices_read(topology, arena, &list) ||
        !os_devices_read(topology, arena, &list)) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to describe its GPUs");
    }
    hardware->gpus = list.gpus;
    hardware->gpu_count = list.count;
    return STATUS_OK;
}
