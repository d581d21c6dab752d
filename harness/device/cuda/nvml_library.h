/* NVML, opened on demand with prototypes of our own: what the driver counts for the GPU and for each process, its
 * modes, and the driver's version. It comes with the driver, and can be asked without a context. */
#ifndef ASSAY_DEVICE_CUDA_NVML_LIBRARY_H
#define ASSAY_DEVICE_CUDA_NVML_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/device/device.h"

struct nvml_device; /* opaque, NVML's */

/* What every layout of nvmlProcessInfo_t has. */
struct nvml_process {
    unsigned pid;                  /* as the driver numbers it: in a container perhaps in another namespace than ours */
    unsigned long long used_bytes; /* all ones, or in some containers 0: not told */
};

/* nvmlMemory_t; documented by NVIDIA. */
struct nvml_memory {
    unsigned long long total_bytes, free_bytes, used_bytes;
};

/* A pointer is NULL if this NVML has no such function. */
struct nvml_library {
    void *library;              /* NULL: not there, and nothing below may be called */
    struct nvml_device *board;  /* the GPU, which has the modes; NULL: not found */
    struct nvml_device *device; /* the GPU or, in MIG mode, our instance of it; NULL: not found */
    bool is_instance;           /* device was found by the UUID of an instance */
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver_version)(char *version, unsigned bytes);
    int (*device_by_bus)(const char *pci_bus_id, struct nvml_device **device);
    int (*device_by_uuid)(const char *uuid, struct nvml_device **device);
    int (*memory)(struct nvml_device *device, struct nvml_memory *memory);
    int (*ecc_mode)(struct nvml_device *device, int *current, int *pending);
    int (*instance_count)(struct nvml_device *board, unsigned *count); /* the most that there can be */
    int (*instance_by_index)(struct nvml_device *board, unsigned index, struct nvml_device **instance);
    int (*mig_mode)(struct nvml_device *device, unsigned *current, unsigned *pending);
    int (*compute_processes)(struct nvml_device *device, unsigned *count, void *entries);
    int (*graphics_processes)(struct nvml_device *device, unsigned *count, void *entries);
};

/* Opens NVML for the GPU with this PCI bus id ("0000:3B:00.0"), else for that with this UUID ("GPU-5fa2..."). In MIG
 * mode ours is the instance with "MIG-" and the same digits; where CUDA told those of the whole GPU, the only instance
 * that is to be seen. False if the library is not there or does not start;
 * a GPU that is not found leaves board and device NULL. */
bool nvml_library_open(const char *pci_bus_id, const char *uuid, struct nvml_library *nvml);
void nvml_library_close(struct nvml_library *nvml); /* one that was never opened is accepted */

/* Each is false, or unknown, where NVML does not tell, as in a container that hides it. */

/* The driver's version ("580.65.06"). */
bool nvml_driver_version(const struct nvml_library *nvml, char *version, unsigned bytes);
/* Free on the device, or on our instance of it. */
bool nvml_free_bytes(const struct nvml_library *nvml, int64_t *bytes);
enum device_mode nvml_ecc_mode(const struct nvml_library *nvml);
enum device_mode nvml_mig_mode(const struct nvml_library *nvml);

/* The processes of the device, computing and graphics, each once, in memory that the caller frees; NULL if they are
 * not told. */
struct nvml_process *nvml_processes_list(const struct nvml_library *nvml, int *count);

#endif
