/* Planted races: kernels of one race each. Built into tests/cuda_emulation/watched/libplanted.so. */
#ifndef ASSAY_TESTS_CUDA_EMULATION_PLANTED_RACES_H
#define ASSAY_TESTS_CUDA_EMULATION_PLANTED_RACES_H

#include <stdbool.h>

enum { PLANTED_INTS = 256 };

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the kernel of that number, in its right form or with the race. Returns the error of the launch, "" without one;
 * NULL: there is no such kernel. */
const char *planted_run(int index, bool right);

#ifdef __cplusplus
}
#endif

#endif
