/* For tests that are about several GPUs, whatever EMULATED_GPUS says of all tests. */
#ifndef ASSAY_TESTS_CUDA_EMULATION_GPUS_NEED_H
#define ASSAY_TESTS_CUDA_EMULATION_GPUS_NEED_H

/* From here on this process and its children have at least two emulated GPUs. Called before any is opened. */
void gpus_need_two(void);

#endif
