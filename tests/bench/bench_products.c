/* Matrix products of the host device, each beside OpenBLAS's own sgemm on as many threads: 1.00 is as fast. The same
 * library multiplies in both; what is measured is what cutting into tiles, conversion and biases add or save. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/device.h"
#include "harness/device/openblas.h"
#include "tests/bench/bench_row.h"

struct product_case {
    const char *what;
    enum dtype dtype;
    bool b_transposed; /* weights of a linear layer lie as [n, k] */
    int batch, m, n, k;
};

static const struct product_case cases[] = {
    {"MATMUL float32 1024 x 1024 x 1024", DTYPE_FLOAT32, false, 1, 1024, 1024, 1024},
    {"MATMUL float32, linear layer 2048 x 3072 x 768", DTYPE_FLOAT32, true, 1, 2048, 3072, 768},
    {"MATMUL float32, scores of 48 heads 512 x 512 x 64", DTYPE_FLOAT32, true, 48, 512, 512, 64},
    {"MATMUL bfloat16, linear layer 2048 x 3072 x 768", DTYPE_BFLOAT16, true, 1, 2048, 3072, 768},
};

enum { AREA_FLOATS = 48 * 512 * 512 }; /* the largest of all matrices */

struct product_bench {
    struct device *device;
    struct openblas openblas;
    void (*set_num_threads)(int);
    int thread_count;
    float *a, *b, *c; /* AREA_FLOATS each */
};

static enum status_code bench_open(struct product_bench *bench, struct status *error)
{
    bench->thread_count = bench_thread_count();
    enum status_code code = device_open("host", &bench->device, error);
    if (code == STATUS_OK) {
        code = openblas_open(bench->thread_count, &bench->openblas, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    void *symbol = dlsym(bench->openblas.library, "openblas_set_num_threads");
    memcpy(&bench->set_num_threads, &symbol, sizeof symbol);
    if (symbol == NULL) {
        return status_set(error, STATUS_UNAVAILABLE, "OpenBLAS has no openblas_set_num_threads");
    }
    bench->a = malloc(3 * sizeof(float) * AREA_FLOATS);
    if (bench->a == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for three matrices");
    }
    bench->b = bench->a + AREA_FLOATS;
    bench->c = bench->b + AREA_FLOATS;
    /* 1.0 twice in bfloat16, and an ordinary number near 1 in float32. */
    uint32_t pattern = UINT32_C(0x3f803f80);
    for (size_t i = 0; i < 3 * (size_t)AREA_FLOATS; i++) {
        memcpy(bench->a + i, &pattern, sizeof pattern);
    }
    return STATUS_OK;
}

static void bench_close(struct product_bench *bench)
{
    free(bench->a);
    openblas_close(&bench->openblas);
    device_close(bench->device);
}

static struct tensor matrix_make(const struct product_case *product, float *data, int rows, int columns,
                                 bool transposed)
{
    struct tensor tensor = {.data = data, .dtype = product->dtype, .rank = 3, .size = {product->batch, rows, columns}};
    tensor.stride[0] = (int64_t)rows * columns;
    tensor.stride[1] = transposed ? 1 : columns;
    tensor.stride[2] = transposed ? rows : 1;
    return tensor;
}

/* OpenBLAS on its own threads, one call for each matrix of the batch, always in float32. */
static void product_direct(const struct product_bench *bench, const struct product_case *product)
{
    for (int i = 0; i < product->batch; i++) {
        const struct sgemm call = {.b_transposed = product->b_transposed,
                                   .m = product->m,
                                   .n = product->n,
                                   .k = product->k,
                                   .alpha = 1.0f,
                                   .a = bench->a + (ptrdiff_t)i * product->m * product->k,
                                   .b = bench->b + (ptrdiff_t)i * product->k * product->n,
                                   .c = bench->c + (ptrdiff_t)i * product->m * product->n,
                                   .lda = product->k,
                                   .ldb = product->b_transposed ? product->k : product->n,
                                   .ldc = product->n};
        openblas_sgemm(&bench->openblas, &call);
    }
}

static enum status_code product_measure(const struct product_bench *bench, const struct product_case *product,
                                        struct bench_tally *tally, struct status *error)
{
    struct bench_row row = bench_row_open(product->what, "of OpenBLAS sgemm", 0);
    struct operation_call call = {.opcode = OPCODE_MATMUL, .input_count = 2, .tensor_count = 3};
    call.attributes.f[0] = 1.0;
    call.tensors[0] = matrix_make(product, bench->a, product->m, product->k, false);
    call.tensors[1] = matrix_make(product, bench->b, product->k, product->n, product->b_transposed);
    call.tensors[2] = matrix_make(product, bench->c, product->m, product->n, false);
    for (int i = 0; i < BENCH_RUNS; i++) {
        bench->set_num_threads(bench->thread_count);
        double begin = bench_seconds();
        product_direct(bench, product);
        double direct_seconds = bench_seconds() - begin;
        bench->set_num_threads(1);
        begin = bench_seconds();
        enum status_code code = bench->device->table->run(bench->device, &call, error);
        if (code != STATUS_OK) {
            return code;
        }
        bench_row_add(&row, direct_seconds / (bench_seconds() - begin));
    }
    bench_row_print(&row, tally);
    return STATUS_OK;
}

void bench_products(struct bench_tally *tally)
{
    struct product_bench bench = {0};
    struct status error = {0};
    if (bench_open(&bench, &error) == STATUS_OK) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            if (product_measure(&bench, &cases[i], tally, &error) != STATUS_OK) {
                bench_row_fail(cases[i].what, &error, tally);
            }
        }
    } else {
        bench_row_fail("matrix products", &error, tally);
    }
    bench_close(&bench);
}
