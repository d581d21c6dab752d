/* Losses and gradients of models on the emulated GPU. */
#include "tests/conformance/test_model_gradients.c"
