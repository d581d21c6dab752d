/* Module table: how many bytes the kernels of PyTorch's libraries are, by its release and the class of the GPU. A
 * driver that loads modules eagerly (CUDA_MODULE_LOADING=EAGER, or one before 515, which knows nothing else) loads all
 * kernels of a library with it; a lazy one loads a kernel when it first runs.
 *
 * The bytes are those of the libraries' files (peers/pytorch/library_code.jsonl). On an H100 with PyTorch 2.11, EAGER
 * takes 734 MiB more than LAZY before the first tensor, where the files have 710, and 222 MiB more when a convolution
 * has run, where they have 226. */
#ifndef ASSAY_TAPE_MODULE_TABLE_H
#define ASSAY_TAPE_MODULE_TABLE_H

#include <stdint.h>

struct module_row {
    const char *torch; /* the release that was looked at, as "2.4.1" */
    int release;       /* 2004 */
    int major;         /* of the class: GPUs run modules of their own major number */
    const char *target;
    int64_t context_bytes;     /* loaded when CUDA begins: libtorch_cuda and NCCL */
    int64_t product_bytes;     /* with the first product: cuBLAS and cuBLASLt */
    int64_t convolution_bytes; /* with the first convolution: cuDNN */
};

/* Row number index, NULL past the end. */
const struct module_row *module_row_at(int index);

/* The row of that class, of the newest release that is no newer; of the oldest if all are. release: 2004 for 2.4,
 * INT_MAX for the newest. A class that no release has: that of the nearest major number below. Never NULL. */
const struct module_row *module_row_of(int release, int capability);

#endif
