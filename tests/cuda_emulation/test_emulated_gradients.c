/* Losses and gradients of models on the emulated GPUs. */
#define TEST_GPUS "cuda:0", "cuda:1"

#include "tests/conformance/test_model_gradients.c"
