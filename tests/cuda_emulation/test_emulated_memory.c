/* The test of a GPU's memory on the emulated GPU: the plug-in's own calls of cudaMalloc, and those of an emulated
 * cuBLAS that was given no workspace. */
#define TEST_GPU "cuda:0"

#include "tests/replay/test_device_memory.c"
