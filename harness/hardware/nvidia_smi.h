/* nvidia-smi: the one door to that program. It tells of modes that only an administrator changes, and of GPUs without a
 * plug-in. It may be missing, and it may hang with its driver. */
#ifndef ASSAY_HARDWARE_NVIDIA_SMI_H
#define ASSAY_HARDWARE_NVIDIA_SMI_H

#include <stdbool.h>
#include <stdint.h>

enum { NVIDIA_SMI_GPUS_MAXIMUM = 64, NVIDIA_SMI_SECONDS = 20 };

enum smi_mode { SMI_MODE_UNKNOWN, SMI_MODE_OFF, SMI_MODE_ON };

struct smi_gpu {
    int index;                                           /* as nvidia-smi counts, which is not always as CUDA does */
    char uuid[64], name[96], driver[32], capability[16]; /* "9.0" */
    enum smi_mode persistence, mig;
    char compute_mode[32]; /* "Default", "Exclusive_Process", "Prohibited" */
    int64_t used_mib;      /* -1: not told */
};

struct nvidia_smi {
    bool is_there;       /* there is such a program on PATH */
    bool answered;       /* and it listed GPUs */
    char complaint[160]; /* why it did not; "" */
    int gpu_count;
    struct smi_gpu gpus[NVIDIA_SMI_GPUS_MAXIMUM];
};

/* Asks, and waits at most NVIDIA_SMI_SECONDS. */
void nvidia_smi_ask(struct nvidia_smi *smi);

#endif
