/* The convolution tests of the host on the emulated GPU: cuda_convolution.c with its kernels, and cuBLAS by its definition. */
#define PRODUCT_DEVICE "cuda:0"

#include "tests/device/test_host_convolution.c"
