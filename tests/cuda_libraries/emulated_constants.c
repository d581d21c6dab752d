/* The constants as the emulation has them; the Makefile has its headers found first. */
#include "tests/cuda_libraries/constants.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

const struct constant constants_of_the_emulation[] = {CONSTANTS(CONSTANT_ROW){NULL, 0}};
