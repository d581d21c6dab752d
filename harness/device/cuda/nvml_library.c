/* NVML: loading it, and finding this process in its list. Temperatures and clocks are not our business. */
#include "harness/device/cuda/nvml_library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* nvmlProcessInfo_t as nvmlDeviceGetComputeRunningProcesses_v2 and _v3 fill it; documented by NVIDIA. */
struct nvml_process {
    unsigned pid;
    unsigned long long used_bytes; /* all ones: not told */
    unsigned gpu_instance;
    unsigned compute_instance;
};

_Static_assert(sizeof(struct nvml_process) == 24, "the layout is NVIDIA's");

enum { NVML_SUCCESS = 0, NVML_ERROR_INSUFFICIENT_SIZE = 7, NVML_PROCESSES_MAXIMUM = 4096 };

/* POSIX: the bytes of the address that dlsym returns are the function pointer. */
static bool symbol_find(void *library, const char *name, void *function_pointer)
{
    void *symbol = dlsym(library, name);
    memcpy(function_pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool nvml_start(struct nvml_library *nvml, const char *pci_bus_id)
{
    int (*init)(void) = NULL;
    int (*device_by_bus)(const char *pci_bus_id, struct nvml_device **device) = NULL;
    if (!symbol_find(nvml->library, "nvmlInit_v2", &init) ||
        !symbol_find(nvml->library, "nvmlShutdown", &nvml->shutdown) ||
        !symbol_find(nvml->library, "nvmlSystemGetDriverVersion", &nvml->system_driver_version) ||
        !symbol_find(nvml->library, "nvmlDeviceGetHandleByPciBusId_v2", &device_by_bus)) {
        return false;
    }
    /* Drivers before 510 have _v2, with the same layout. */
    if (!symbol_find(nvml->library, "nvmlDeviceGetComputeRunningProcesses_v3", &nvml->device_compute_processes) &&
        !symbol_find(nvml->library, "nvmlDeviceGetComputeRunningProcesses_v2", &nvml->device_compute_processes)) {
        return false;
    }
    if (init() != NVML_SUCCESS) {
        return false;
    }
    if (device_by_bus(pci_bus_id, &nvml->device) != NVML_SUCCESS) {
        nvml->shutdown();
        return false;
    }
    return true;
}

bool nvml_library_open(const char *pci_bus_id, struct nvml_library *nvml)
{
    struct nvml_library opened = {.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (opened.library == NULL) {
        return false;
    }
    if (!nvml_start(&opened, pci_bus_id)) {
        dlclose(opened.library);
        return false;
    }
    *nvml = opened;
    return true;
}

void nvml_library_close(struct nvml_library *nvml)
{
    if (nvml->library != NULL) {
        nvml->shutdown();
        dlclose(nvml->library);
    }
    *nvml = (struct nvml_library){0};
}

bool nvml_driver_version(const struct nvml_library *nvml, char *version, unsigned bytes)
{
    char told[96] = ""; /* NVML asks for at least 80 bytes */
    if (nvml->library == NULL || nvml->system_driver_version(told, sizeof told) != NVML_SUCCESS ||
        strlen(told) >= bytes) {
        return false;
    }
    memcpy(version, told, strlen(told) + 1);
    return true;
}

/* The list, in memory that the caller frees; NULL where it is not told. It may grow between two questions. */
static struct nvml_process *nvml_processes_list(const struct nvml_library *nvml, unsigned *count)
{
    for (unsigned capacity = 64; capacity <= NVML_PROCESSES_MAXIMUM; capacity *= 4) {
        struct nvml_process *processes = calloc(capacity, sizeof *processes);
        *count = capacity;
        int answer =
            processes != NULL ? nvml->device_compute_processes(nvml->device, count, processes) : NVML_SUCCESS + 1;
        if (answer == NVML_SUCCESS && *count <= capacity) {
            return processes;
        }
        free(processes);
        if (answer != NVML_ERROR_INSUFFICIENT_SIZE) {
            return NULL;
        }
    }
    return NULL;
}

bool nvml_process_bytes(const struct nvml_library *nvml, int64_t held_bytes, int64_t *bytes)
{
    unsigned count = 0;
    bool found = false;
    struct nvml_process *processes = nvml->library != NULL ? nvml_processes_list(nvml, &count) : NULL;
    for (unsigned i = 0; processes != NULL && i < count; i++) {
        /* INT64_MAX also sorts out "not told", which is all ones. */
        if (processes[i].pid == (unsigned)getpid() && processes[i].used_bytes <= (unsigned long long)INT64_MAX &&
            (int64_t)processes[i].used_bytes >= held_bytes) {
            *bytes = (int64_t)processes[i].used_bytes;
            found = true;
        }
    }
    free(processes);
    return found;
}
