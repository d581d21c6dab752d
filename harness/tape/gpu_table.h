/* GPUs by the names that people and nvidia-smi give them, with the memory that their driver reports.
 *
 * The figure is nvidia-smi's total in MiB, as somebody published it. It is not all that a program can have: the driver
 * keeps some for itself (a T4 of 15,360 MiB shows PyTorch 14.75 GiB), and a context takes more
 * (harness/question/overhead.h). */
#ifndef ASSAY_TAPE_GPU_TABLE_H
#define ASSAY_TAPE_GPU_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/base/text.h"

enum { GPU_ALIASES_MAXIMUM = 4 };

struct gpu {
    const char *name;                         /* as nvidia-smi prints it: "NVIDIA H100 80GB HBM3" */
    const char *aliases[GPU_ALIASES_MAXIMUM]; /* other names of the same memory, without the maker; NULL ends them */
    const char *target;                       /* row of tape/target.h */
    int64_t memory_mib;                       /* as nvidia-smi (of AMD's: amd-smi) prints it */
    int multiprocessor_count;                 /* on which the context depends (context_table.h); 0: not known */
    const char *source;                       /* where the memory was published */
};

/* Row number index, NULL past the end. */
const struct gpu *gpu_at(int index);

/* Bytes of its memory: memory_mib * 2^20. */
int64_t gpu_memory_bytes(const struct gpu *gpu);

/* "NVIDIA H200", "H200", "h200", "a100-40gb", "rtx 4090": letters and digits count, their case, the maker and what
 * stands between them do not. A name that several have, such as "A100", or that begins one, is STATUS_INVALID with the
 * whole names; one that nobody has is STATUS_INVALID with the nearest and all. */
enum status_code gpu_find(const char *name, const struct gpu **gpu, struct status *error);

/* The same for a name that somebody typed. option: what a size follows in the option that takes one in place of a name,
 * "--memory " or "--max-memory 0="; refusals name it. NULL: the command has none. */
enum status_code gpu_find_typed(const char *name, const char *option, const struct gpu **gpu, struct status *error);

/* Whether it is one of AMD's, for whose libraries there is no class of devices of their own: target is then the
 * nearest. */
bool gpu_is_amd(const struct gpu *gpu);

/* Appends "nvidia-smi: 24564 MiB, https://...": where the figure is from. */
void gpu_memory_words(const struct gpu *gpu, struct text *text);

/* The class of devices (target.h) of a GPU, or of all whose names begin so, if it is one: "A100" is sm_80, with 40
 * or 80 GB. NULL: nobody has the name, they are of several classes, or it is one of AMD's. */
const char *gpu_target(const char *name);

#endif
