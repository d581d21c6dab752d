/* Device: where a tape is replayed. One const table of functions for each kind; to observe or break one, wrap it.
 *
 * Kinds: "meta" (nothing is allocated or computed), "host" (memory mapped and touched, OpenBLAS, row kernels), "cuda:N"
 * (a plug-in, opened on demand). A device that was not built or finds no driver answers open with STATUS_UNAVAILABLE
 * and one sentence with the remedy. */
#ifndef ASSAY_DEVICE_DEVICE_H
#define ASSAY_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/kernels/operation.h"
#include "harness/record/level.h"

struct device; /* each kind begins its own struct with a `struct device` */

struct device_properties {
    char kind[16];       /* "meta", "host", "cuda" */
    char name[128];      /* "NVIDIA H200", the CPU's model name */
    char target[16];     /* the row of tape/target.h that describes it: "sm_90", "host" */
    char pci_bus_id[32]; /* "" if there is none */
    char uuid[48];
    char driver[32], runtime[32];
    int64_t total_bytes; /* memory the device has or is bounded to; 0: unbounded (meta) */
    bool computes;       /* false for meta: run does nothing and memory must not be looked at */
    int thread_count;    /* of the host, which have buffers each; 0: a GPU, meta */
};

enum device_mode { DEVICE_MODE_UNKNOWN, DEVICE_MODE_OFF, DEVICE_MODE_ON };

/* What may have falsified a reading. It never changes a figure; what is made of it is in harness/run/validity.h. */
struct device_disturbance {
    bool foreign_valid;                  /* cuda: NVML lists the processes of the GPU, computing and graphics */
    int foreign_count;                   /* those that are not this one */
    int64_t foreign_pid;                 /* of one of them, as NVML numbers it; -1: not told */
    int64_t foreign_bytes;               /* of those that tell; -1: none does */
    int foreign_gone_count;              /* those that were there before our context, in the baseline, and have left */
    enum device_mode ecc_mode, mig_mode; /* cuda: as they are, not as they will be after the next restart */
    bool swap_valid;                     /* host: of this process, so not resident */
    int64_t swap_bytes;
    bool swapped_out_valid; /* host: by the whole machine since it was started */
    int64_t swapped_out_bytes;
};

/* Products that a library would not compute, as this GPU, these shapes or this workspace are not supported, and that
 * the next way computed: of a refusal of cublasLt cuBLAS, of one of cuBLAS a kernel of ours. */
enum { DECLINED_ROWS = 16 };
struct declined_products {
    enum opcode opcode;
    char library[16]; /* "cuBLAS", "cublasLt", "cuDNN" */
    char status[64];  /* what it said: "CUBLAS_STATUS_NOT_SUPPORTED"; of several that found no row "others" */
    int64_t count;
};

/* What the driver or the kernel counts. A figure that could not be taken is not valid, and never 0. */
struct device_reading {
    /* device_valid, device_bytes, device_peak_valid, device_peak_bytes, process_valid, ...
     * device: used on the whole device (cudaMemGetInfo total - free).
     * process: used by this process (NVML; host: RSS); its peak, of a host alone: highest RSS since the last reset.
     * cgroup, of a host alone: of all processes in this one's cgroup, files in the page cache included; its peak: since
     * the last reset, and not valid where the kernel does not tell it apart. */
    LEVEL_READINGS(levels);
    /* cuda: used on the whole device before this process made its context; the same in each reading. */
    bool baseline_valid;
    int64_t baseline_bytes;
    /* What this process loaded, as far as it could be told apart. cuda: since the context was made, the growth of
     * device_bytes around the first call of each form (opcode, dtypes, number of inputs); library: of products and
     * convolutions, handles and the kernels beside them included; kernel: of all others. host: library is the growth of
     * RSS around loading OpenBLAS, making its buffers and starting the threads, which happens while the device is
     * opened. */
    bool kernel_valid;
    int64_t kernel_bytes;
    bool library_valid;
    int64_t library_bytes;
    struct device_disturbance disturbance;
    struct declined_products declined[DECLINED_ROWS]; /* cuda, since it was opened; those with a count, then none */
    bool free_valid; /* left to be taken; host: of a bound, or of what kernel and cgroup have; within ulimit */
    int64_t free_bytes;
};

/* What is told of a device that is not open. */
struct device_identity {
    char kind[16];
    char name[128], pci_bus_id[32], uuid[48]; /* of a GPU; "" elsewhere */
    char driver[32], runtime[32];             /* as in the properties, of a GPU */
    char target[16];                          /* as in the properties, of a GPU */
    int64_t total_bytes;                      /* of a GPU; 0 elsewhere */
    char libraries[64];                       /* of products, of a GPU: "cuBLAS 12.8.4"; "": not there, or not told */
    char convolution_library[32];             /* of a GPU: "cuDNN 9.19.0"; "": not there, or left out */
    char convolution_note[256];               /* of a GPU: why it is not there; "": it is */
    bool free_valid;                          /* as in a reading; of a GPU by NVML; meta: the bound */
    int64_t free_bytes;
};

/* One form of convolutions, and which engine of a library computes it. */
struct device_convolution {
    enum opcode opcode;
    enum dtype dtype;
    int64_t images, channels, height, width, filters, kernel, stride, padding;
    int64_t given_bytes;                         /* the workspace of the calls */
    int64_t engine, workspace_bytes;             /* as the library numbers it; -1 and 0: none fits, own kernels do it */
    int64_t first_engine, first_workspace_bytes; /* the first that is ready; -1 and 0: none is */
    char refusal[64]; /* the library's word for what it first refused on the way; "": it refused nothing */
    int64_t call_count;
};

/* How a device computed its convolutions so far. */
struct device_convolutions {
    char library[32]; /* "cuDNN 9.19.0"; "": none, or none was asked yet */
    char note[256];   /* why there is none; "": there is, or none was asked yet */
    int64_t library_call_count, own_call_count;
    const struct device_convolution *forms; /* the last of them, where they are many; until the next call */
    int form_count;
};

struct device_table {
    const char *kind;
    /* Required. */
    void (*close)(struct device *device);
    enum status_code (*properties)(struct device *device, struct device_properties *properties, struct status *error);
    enum status_code (*segment_alloc)(struct device *device, int64_t bytes, void **address, struct status *error);
    enum status_code (*segment_free)(struct device *device, void *address, int64_t bytes, struct status *error);
    enum status_code (*run)(struct device *device, const struct operation_call *call, struct status *error);
    enum status_code (*copy_to_host)(struct device *device, void *host, const void *address, int64_t bytes,
                                     struct status *error);
    enum status_code (*copy_from_host)(struct device *device, void *address, const void *host, int64_t bytes,
                                       struct status *error);
    enum status_code (*synchronize)(struct device *device, struct status *error);
    enum status_code (*read_memory)(struct device *device, struct device_reading *reading, struct status *error);
    /* Optional; NULL: nothing to do. Starts a new peak for process_peak_bytes and cgroup_peak_bytes. */
    enum status_code (*reset_peak)(struct device *device, struct status *error);
    /* Optional, both or neither; NULL: plain memory is as good. Memory of the host from which and to which copies are
     * fastest, also those of the other devices of this kind; cuda: pinned. STATUS_OUT_OF_MEMORY if the host gives no
     * such memory, which says nothing of the rest of it: see staging.h, which callers take. */
    enum status_code (*staging_alloc)(struct device *device, int64_t bytes, void **memory, struct status *error);
    enum status_code (*staging_free)(struct device *device, void *memory, int64_t bytes, struct status *error);
    /* Optional; NULL: it has no library for convolutions. */
    void (*convolutions)(const struct device *device, struct device_convolutions *told);
};

struct device {
    const struct device_table *table;
};

/* Opens "auto", "meta", "meta:mem=80GiB", "host", "host:mem=512MiB", "cuda", "cuda:1". "auto" is the first GPU that
 * opens, else the host. A GPU must be opened only in the process that measures. */
enum status_code device_open(const char *spec, struct device **device, struct status *error);
void device_close(struct device *device); /* NULL is accepted */

/* Which device a spec stands for and what it has free, without opening it: of a GPU no context is made and no memory
 * taken, but its driver is started in this process, so ask in a child. Errors as those of device_open; a device that is
 * named here may still not open. */
enum status_code device_identify(const char *spec, struct device_identity *identity, struct status *error);

/* Where the plug-in of GPUs is that would be opened; false: nowhere, and *path is the first folder that was looked
 * into. */
bool device_plugin_find(char *path, size_t path_bytes);

/* Loads it, and looks whether it was built from the sources of this program; no driver is asked. STATUS_UNAVAILABLE
 * with the remedy. */
enum status_code device_plugin_check(struct status *error);

#endif
