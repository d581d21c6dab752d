/* The constants as NVIDIA has them, where its headers are here. */
#include "tests/cuda_libraries/constants.h"

#include <stddef.h>

#ifdef HAS_NVIDIA_HEADERS
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

const struct constant constants_of_nvidia[] = {CONSTANTS(CONSTANT_ROW){NULL, 0}};
#else
const struct constant constants_of_nvidia[] = {{NULL, 0}};
#endif
