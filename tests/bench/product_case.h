/* Product cases: the rows of `make bench` of operations that multiply. */
#ifndef ASSAY_TESTS_BENCH_PRODUCT_CASE_H
#define ASSAY_TESTS_BENCH_PRODUCT_CASE_H

#include "harness/kernels/operation.h"

/* A product [batch, m, k] x [batch, k, n]; or, of `heads` heads in m rows, n columns and width k, an attention; or, of
 * `batch` images of m pixels, a square number, a convolution of window 3, stride 1, padding 1 from k channels to n. */
struct product_case {
    const char *what;
    enum opcode opcode;
    enum dtype dtype;
    bool b_transposed; /* weights of a linear layer lie as [n, k] */
    int batch, m, n, k;
    int heads;
    double dropout;
};

extern const struct product_case product_cases[];
extern const int product_case_count;

/* Whether it is a product of two matrices, of any dtype. */
bool product_is_plain(enum opcode opcode);
bool product_is_convolution(enum opcode opcode);

/* Multiplications and additions: of a product or a convolution, of the two products of attention, of the five of its
 * backward. */
double product_operation_count(const struct product_case *product);

#endif
