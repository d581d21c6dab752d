/* OpenBLAS: the one door to it. Opened on demand with prototypes of our own, so that a process that only predicts never
 * loads a matrix library. One thread: callers run tiles in parallel and call from several threads at once. */
#ifndef ASSAY_DEVICE_OPENBLAS_H
#define ASSAY_DEVICE_OPENBLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"

struct openblas {
    void *library;
    void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                  int lda, const float *b, int ldb, float beta, float *c, int ldc);
    char version[32]; /* "OpenBLAS 0.3.21" */
};

/* Row-major float32: c [m, n] = alpha a b + beta c, where a [m, k] is read at column * lda + row if transposed. */
struct sgemm {
    bool a_transposed, b_transposed;
    int m, n, k;
    float alpha, beta;
    const float *a, *b;
    float *c;
    int lda, ldb, ldc;
};

/* Loads libopenblas and maps the buffers for thread_count concurrent callers. STATUS_UNAVAILABLE with the remedy if
 * it is not installed; STATUS_OUT_OF_MEMORY if its buffers cannot be mapped. */
enum status_code openblas_open(int thread_count, struct openblas *openblas, struct status *error);
void openblas_close(struct openblas *openblas);

/* c is not read where beta = 0. m or n = 0 is allowed. */
void openblas_sgemm(const struct openblas *openblas, const struct sgemm *product);

#endif
