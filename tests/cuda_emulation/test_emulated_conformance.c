/* Every operation in every dtype on the emulated GPU: the kernels, and cuBLAS by its definition. The real compiler, the
 * real cuBLAS and the driver have no part in this. */
#define CONFORMANCE_FIRST_DEVICE "cuda:0"

#include "tests/conformance/test_conformance.c"
