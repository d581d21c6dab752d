/* GPU nodes: through which files of /dev an NVIDIA driver could be reached from here. Opens none of them but to see
 * whether it may. */
#ifndef ASSAY_HARDWARE_GPU_NODES_H
#define ASSAY_HARDWARE_GPU_NODES_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_nodes {
    int gpu_count;    /* /dev/nvidia0, ...; of WSL2, which has no such file, 1 */
    bool is_wsl;      /* /dev/dxg, which is any maker's, and NVIDIA's driver of Windows beside it */
    bool has_control; /* /dev/nvidiactl */
    bool has_uvm;     /* /dev/nvidia-uvm */
    int closed_count; /* of all of them, those that this user may not open */
    char closed[64];  /* the first of these; "" */
    bool has_module;  /* the kernel has NVIDIA's driver: /proc/driver/nvidia */
    char module[64];  /* its version; "": not known */
    bool is_hidden;   /* CUDA_VISIBLE_DEVICES is set, and shows none: empty, or beginning with -1 */
};

/* root: "" for this machine; a folder that has dev/ and proc/ for a test. visible: CUDA_VISIBLE_DEVICES, NULL: not
 * set. */
void gpu_nodes_read(const char *root, const char *visible, struct gpu_nodes *nodes);

/* Whether a GPU is there for programs that are started here, be it that it can be used or not. */
bool gpu_nodes_show_one(const struct gpu_nodes *nodes);

#endif
