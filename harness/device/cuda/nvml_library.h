/* NVML, opened on demand with prototypes of our own: what the driver counts for each process, and the driver's version.
 * It comes with the driver. */
#ifndef ASSAY_DEVICE_CUDA_NVML_LIBRARY_H
#define ASSAY_DEVICE_CUDA_NVML_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

struct nvml_device;  /* opaque, NVML's */
struct nvml_process; /* the layout is in nvml_library.c */

struct nvml_library {
    void *library; /* NULL: not there, and nothing below may be called */
    struct nvml_device *device;
    int (*shutdown)(void);
    int (*system_driver_version)(char *version, unsigned bytes);
    int (*device_compute_processes)(struct nvml_device *device, unsigned *count, struct nvml_process *processes);
};

/* Opens NVML for the GPU with this PCI bus id ("0000:3B:00.0"). False where library, GPU or symbol is not there. */
bool nvml_library_open(const char *pci_bus_id, struct nvml_library *nvml);
void nvml_library_close(struct nvml_library *nvml); /* one that was never opened is accepted */

/* The driver's version ("580.65.06"); false where it is not told. */
bool nvml_driver_version(const struct nvml_library *nvml, char *version, unsigned bytes);

/* Bytes that this process holds on the device, its context included. False where NVML does not tell: in a container the
 * driver may list the processes under numbers of another namespace, or none. held_bytes: what the process surely holds; a
 * listed figure below it is that of another process with the same number. */
bool nvml_process_bytes(const struct nvml_library *nvml, int64_t held_bytes, int64_t *bytes);

#endif
