/* Tensors with any strides over buffers that show stray writes, and products in double precision straight from their
 * definitions. Helpers of the tests in this folder. */
#ifndef ASSAY_TESTS_DEVICE_PRODUCT_REFERENCE_H
#define ASSAY_TESTS_DEVICE_PRODUCT_REFERENCE_H

#include <stdint.h>

#include "harness/kernels/operation.h"

/* A tensor in a buffer of its own. */
struct test_tensor {
    struct tensor tensor;
    double *before;        /* the whole buffer as it was filled */
    int64_t element_count; /* of the buffer, gaps included */
};

/* order: dimensions from the one with the smallest stride to the one with the largest; a dimension d with
 * broadcast[d] gets stride 0. gap elements are left after each run of the first dimension. Filled with multiples of
 * 1/64 from -1 to 1, which every floating dtype holds exactly. */
struct test_tensor test_tensor_new(enum dtype dtype, int rank, const int64_t *size, const int *order,
                                   const int *broadcast, int64_t gap, uint64_t *seed);
struct test_tensor test_tensor_dense(enum dtype dtype, int rank, const int64_t *size, uint64_t *seed);
void test_tensor_release(struct test_tensor *tensor);

/* Scratch memory with fences, poisoned. Release fails the test where a fence was written. */
struct test_workspace {
    struct tensor tensor;
    unsigned char *memory;
    int64_t bytes;
};

struct test_workspace test_workspace_new(int64_t bytes);
void test_workspace_release(struct test_workspace *workspace, const char *label);

/* Puts one more input behind those that the call has. */
void call_input_insert(struct operation_call *call, const struct tensor *tensor);

/* Set-up and tear-down of cmocka: *state is the device of that spec. */
int product_device_open(const char *spec, void **state);
int product_device_close(void **state);

uint64_t random_next(uint64_t *seed);
int64_t random_below(uint64_t *seed, int64_t bound);

double element_read(const void *data, enum dtype dtype, int64_t index);
void element_write(void *data, enum dtype dtype, int64_t index, double value); /* the value must be exact */

/* Fails the test where an element of out is further from expected[k] (k counts dense, row-major) than rounding of its
 * dtype and of a float32 sum of term_count terms allow, or where a gap was written. */
void test_tensor_expect(const struct test_tensor *out, const double *expected, int64_t term_count, const char *label);

/* New arrays, dense row-major, of the elements of the out tensor; released by the caller. before: of the out. */
double *matmul_reference(const struct operation_call *call, const struct test_tensor *out);
double *convolution_reference(const struct operation_call *call);

#endif
