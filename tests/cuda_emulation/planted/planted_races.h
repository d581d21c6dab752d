/* Planted races: kernels of one race each. Built into tests/cuda_emulation/watched/libplanted.so. */
#ifndef ASSAY_TESTS_CUDA_EMULATION_PLANTED_RACES_H
#define ASSAY_TESTS_CUDA_EMULATION_PLANTED_RACES_H

#include <stdbool.h>

enum { PLANTED_INTS = 256, PLANTED_BLOCKS = 8, PLANTED_THREADS = 64 };

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the kernel of that number, in its right form or with the race. Returns the error of the launch, "" without one;
 * NULL: there is no such kernel. */
const char *planted_run(int index, bool right);

/* Runs a kernel of PLANTED_BLOCKS blocks of PLANTED_THREADS threads. turns: for each thread of each block, when it
 * came, from 1; 0: its block did not run. */
void planted_turns(int *turns);

#ifdef __cplusplus
}
#endif

#endif
