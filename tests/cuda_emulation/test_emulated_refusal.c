/* The refusals of products of the host on the emulated GPU. */
#define PRODUCT_DEVICE "cuda:0"

#include "tests/device/test_product_refusal.c"
