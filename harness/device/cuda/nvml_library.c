/* NVML: loading it, finding our GPU, asking. What the answers mean for a measurement is in gpu_watch.c; temperatures
 * and clocks are not our business. */
#include "harness/device/cuda/nvml_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/cuda/toolkit_library.h"

_Static_assert(sizeof(struct nvml_memory) == 24, "the layout is NVIDIA's");

enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_PROCESSES_MAXIMUM = 4096,
    NVML_ENTRY_USED_BYTES_AT = 8, /* in each layout of an entry, the number of the process being the first */
    NVML_ENTRY_BYTES_MAXIMUM = 32,
    NVML_ENTRY_FILLER = 0xa5,
    NVML_UUID_BYTES = 96,
    NVML_INSTANCES_MAXIMUM = 64
};

/* The only instance that this process may see; NULL if there are several or none. */
static struct nvml_device *instance_only(const struct nvml_library *nvml)
{
    struct nvml_device *only = NULL, *found = NULL;
    unsigned count = 0, seen = 0;
    if (nvml->board == NULL || nvml->instance_count == NULL || nvml->instance_by_index == NULL ||
        nvml->instance_count(nvml->board, &count) != NVML_SUCCESS) {
        return NULL;
    }
    for (unsigned index = 0; index < count && index < NVML_INSTANCES_MAXIMUM; index++) {
        if (nvml->instance_by_index(nvml->board, index, &found) == NVML_SUCCESS) {
            only = found;
            seen++;
        }
    }
    return seen == 1 ? only : NULL;
}

static void device_find(struct nvml_library *nvml, const char *pci_bus_id, const char *uuid)
{
    char instance[NVML_UUID_BYTES];
    struct nvml_device *found = NULL;
    const char *digits = strchr(uuid, '-');
    if (nvml->device_by_bus(pci_bus_id, &found) == NVML_SUCCESS || nvml->device_by_uuid(uuid, &found) == NVML_SUCCESS) {
        nvml->board = found;
    }
    bool divided = nvml_mig_mode(nvml) == DEVICE_MODE_ON;
    if (nvml->board != NULL && !divided) { /* what the whole GPU holds says nothing of an instance */
        nvml->device = nvml->board;
        return;
    }
    snprintf(instance, sizeof instance, "MIG%s", digits != NULL ? digits : "");
    if (nvml->device_by_uuid(instance, &found) == NVML_SUCCESS) {
        nvml->device = found;
        nvml->is_instance = true;
    } else {
        nvml->device = instance_only(nvml);
    }
}

/* What older drivers and some GPUs do not have. Drivers before 510, and 535.98, list processes as _v2. */
static void questions_find(struct nvml_library *nvml)
{
    const struct {
        const char *name, *older;
        void *function_pointer;
    } rows[] = {
        {"nvmlDeviceGetMemoryInfo", NULL, &nvml->memory},
        {"nvmlDeviceGetEccMode", NULL, &nvml->ecc_mode},
        {"nvmlDeviceGetMigMode", NULL, &nvml->mig_mode},
        {"nvmlDeviceGetMaxMigDeviceCount", NULL, &nvml->instance_count},
        {"nvmlDeviceGetMigDeviceHandleByIndex", NULL, &nvml->instance_by_index},
        {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
         &nvml->compute_processes},
        {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",
         &nvml->graphics_processes},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!toolkit_symbol_find(nvml->library, rows[i].name, rows[i].function_pointer) && rows[i].older != NULL) {
            toolkit_symbol_find(nvml->library, rows[i].older, rows[i].function_pointer);
        }
    }
}

bool nvml_library_open(const char *pci_bus_id, const char *uuid, struct nvml_library *nvml)
{
    struct nvml_library opened = {0};
    const struct toolkit_symbol symbols[] = {
        {"nvmlInit_v2", &opened.init},
        {"nvmlShutdown", &opened.shutdown},
        {"nvmlSystemGetDriverVersion", &opened.driver_version},
        {"nvmlDeviceGetHandleByPciBusId_v2", &opened.device_by_bus},
        {"nvmlDeviceGetHandleByUUID", &opened.device_by_uuid},
    };
    if (toolkit_library_open("libnvidia-ml.so.1", symbols, sizeof symbols / sizeof symbols[0], &opened.library, NULL) !=
        STATUS_OK) {
        return false;
    }
    if (opened.init() != NVML_SUCCESS) {
        toolkit_library_close(opened.library);
        return false;
    }
    questions_find(&opened);
    device_find(&opened, pci_bus_id, uuid);
    *nvml = opened;
    return true;
}

void nvml_library_close(struct nvml_library *nvml)
{
    if (nvml->library != NULL) {
        nvml->shutdown();
        toolkit_library_close(nvml->library);
    }
    *nvml = (struct nvml_library){0};
}

bool nvml_driver_version(const struct nvml_library *nvml, char *version, unsigned bytes)
{
    char told[96] = ""; /* NVML asks for at least 80 bytes */
    if (nvml->library == NULL || nvml->driver_version(told, sizeof told) != NVML_SUCCESS || strlen(told) >= bytes) {
        return false;
    }
    memcpy(version, told, strlen(told) + 1);
    return true;
}

bool nvml_free_bytes(const struct nvml_library *nvml, int64_t *bytes)
{
    struct nvml_memory memory = {0};
    if (nvml->device == NULL || nvml->memory == NULL || nvml->memory(nvml->device, &memory) != NVML_SUCCESS ||
        memory.free_bytes > (unsigned long long)INT64_MAX) {
        return false;
    }
    *bytes = (int64_t)memory.free_bytes;
    return true;
}

enum device_mode nvml_ecc_mode(const struct nvml_library *nvml)
{
    int current = 0, pending = 0;
    if (nvml->board == NULL || nvml->ecc_mode == NULL ||
        nvml->ecc_mode(nvml->board, &current, &pending) != NVML_SUCCESS) {
        return DEVICE_MODE_UNKNOWN;
    }
    return current != 0 ? DEVICE_MODE_ON : DEVICE_MODE_OFF;
}

enum device_mode nvml_mig_mode(const struct nvml_library *nvml)
{
    unsigned current = 0, pending = 0;
    if (nvml->board == NULL || nvml->mig_mode == NULL ||
        nvml->mig_mode(nvml->board, &current, &pending) != NVML_SUCCESS) {
        return DEVICE_MODE_UNKNOWN;
    }
    return current != 0 ? DEVICE_MODE_ON : DEVICE_MODE_OFF;
}

typedef int (*processes_function)(struct nvml_device *device, unsigned *count, void *entries);

/* Drivers 535.43 to 535.86 fill entries of 32 bytes under the name for which all others fill 24, and some fill the 16
 * of the first version. What they wrote over tells which; an end that is none of these says nothing. */
static size_t entry_bytes_find(const unsigned char *entries, size_t bytes, size_t count)
{
    static const size_t known[] = {16, 24, 32};
    while (bytes > 0 && entries[bytes - 1] == NVML_ENTRY_FILLER) {
        bytes--;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (bytes == count * known[i]) {
            return known[i];
        }
    }
    return 24;
}

static struct nvml_process *entries_read(const unsigned char *entries, size_t bytes, size_t count)
{
    size_t entry_bytes = entry_bytes_find(entries, bytes, count);
    struct nvml_process *processes = calloc(count + 1, sizeof *processes);
    for (size_t i = 0; processes != NULL && i < count; i++) {
        const unsigned char *entry = entries + i * entry_bytes;
        memcpy(&processes[i].pid, entry, sizeof processes[i].pid);
        memcpy(&processes[i].used_bytes, entry + NVML_ENTRY_USED_BYTES_AT, sizeof processes[i].used_bytes);
    }
    return processes;
}

/* One of the two lists; NULL where it is not told. It may grow between two questions. */
static struct nvml_process *list_ask(processes_function ask, struct nvml_device *device, unsigned *count)
{
    for (unsigned capacity = 64; capacity <= NVML_PROCESSES_MAXIMUM; capacity *= 4) {
        size_t bytes = capacity * (size_t)NVML_ENTRY_BYTES_MAXIMUM;
        unsigned char *entries = malloc(bytes);
        if (entries == NULL) {
            return NULL;
        }
        memset(entries, NVML_ENTRY_FILLER, bytes);
        *count = capacity;
        int answer = ask(device, count, entries);
        bool fits = answer == NVML_SUCCESS && *count <= capacity;
        struct nvml_process *processes = fits ? entries_read(entries, bytes, *count) : NULL;
        free(entries);
        if (fits || answer != NVML_ERROR_INSUFFICIENT_SIZE) {
            return processes;
        }
    }
    return NULL;
}

/* A process that computes and draws is in both lists. */
static bool list_has(const struct nvml_process *processes, unsigned count, unsigned pid)
{
    bool found = false;
    for (unsigned i = 0; i < count; i++) {
        found = found || processes[i].pid == pid;
    }
    return found;
}

struct nvml_process *nvml_processes_list(const struct nvml_library *nvml, int *count)
{
    unsigned told = 0, more = 0;
    struct nvml_process *processes = NULL, *others = NULL, *all = NULL;
    if (nvml->device == NULL || nvml->compute_processes == NULL) {
        return NULL;
    }
    processes = list_ask(nvml->compute_processes, nvml->device, &told);
    if (processes == NULL) {
        return NULL;
    }
    others = nvml->graphics_processes != NULL ? list_ask(nvml->graphics_processes, nvml->device, &more) : NULL;
    all = others != NULL ? realloc(processes, ((size_t)told + more + 1) * sizeof *all) : NULL;
    processes = all != NULL ? all : processes;
    for (unsigned i = 0; all != NULL && i < more; i++) {
        if (!list_has(processes, told, others[i].pid)) {
            processes[told++] = others[i];
        }
    }
    free(others);
    *count = (int)told;
    return processes;
}
