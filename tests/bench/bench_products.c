/* Matrix products, attention and convolutions, as a share of the rate at which the device multiplies at its best: on
 * the host OpenBLAS's own sgemm on as many threads, elsewhere the device's own large square product. On the host the
 * same library multiplies in both; what is measured is what cutting into tiles, conversion and biases add or save. */
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/device/openblas.h"
#include "tests/bench/bench_parts.h"
#include "tests/bench/product_case.h"

/* A tensor of a call has an area; the largest tensor is that of the scores of 48 heads. */
enum {
    AREA_COUNT = 9,
    AREA_FLOATS = 48 * 512 * 512,
    HOST_SIDE = 1024,
    CUDA_SIDE = 4096,
    QUICK_SIDE = 64,
    QUICK_DIVISOR = 16
};

struct product_bench {
    const struct bench_device *on;
    struct openblas openblas; /* of the host */
    void (*set_num_threads)(int);
    int thread_count;
    int64_t area_bytes;
    char *memory;
    float *areas[AREA_COUNT];
};

static enum status_code openblas_prepare(struct product_bench *bench, struct status *error)
{
    enum status_code code = openblas_open(bench->thread_count, &bench->openblas, error);
    if (code != STATUS_OK) {
        return code;
    }
    void *symbol = dlsym(bench->openblas.library, "openblas_set_num_threads");
    memcpy(&bench->set_num_threads, &symbol, sizeof symbol);
    return symbol != NULL ? STATUS_OK
                          : status_set(error, STATUS_UNAVAILABLE, "OpenBLAS has no openblas_set_num_threads");
}

/* Numbers that are ordinary in each dtype: 0x3d803d80 is 1/16 twice in bfloat16, and a number near it in float32. */
static enum status_code areas_fill(const struct product_bench *bench, struct status *error)
{
    struct device *device = bench->on->device;
    const uint32_t pattern = UINT32_C(0x3d803d80);
    uint32_t *staged = malloc((size_t)bench->area_bytes);
    if (staged == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a matrix");
    }
    for (int64_t i = 0; i < AREA_FLOATS; i++) {
        staged[i] = pattern;
    }
    enum status_code code = STATUS_OK;
    for (int i = 0; i < AREA_COUNT && code == STATUS_OK; i++) {
        code = device->table->copy_from_host(device, bench->areas[i], staged, bench->area_bytes, error);
    }
    free(staged);
    return code;
}

static enum status_code areas_open(struct product_bench *bench, struct status *error)
{
    struct device *device = bench->on->device;
    void *memory = NULL;
    bench->area_bytes = (int64_t)sizeof(float) * AREA_FLOATS;
    enum status_code code = device->table->segment_alloc(device, AREA_COUNT * bench->area_bytes, &memory, error);
    bench->memory = memory;
    for (int i = 0; i < AREA_COUNT && code == STATUS_OK; i++) {
        bench->areas[i] = (float *)(void *)(bench->memory + bench->area_bytes * i);
    }
    return code;
}

static enum status_code bench_open(const struct bench_device *on, struct product_bench *bench, struct status *error)
{
    *bench = (struct product_bench){.on = on, .thread_count = bench_thread_count()};
    enum status_code code = on->is_host ? openblas_prepare(bench, error) : STATUS_OK;
    return code == STATUS_OK ? areas_open(bench, error) : code;
}

static void bench_close(struct product_bench *bench)
{
    struct status ignored = {0};
    struct device *device = bench->on->device;
    if (bench->memory != NULL) {
        device->table->segment_free(device, bench->memory, AREA_COUNT * bench->area_bytes, &ignored);
    }
    if (bench->set_num_threads != NULL) {
        bench->set_num_threads(1);
    }
    openblas_close(&bench->openblas);
}

static struct tensor matrix_make(const struct product_case *product, enum dtype dtype, float *data, int rows,
                                 int columns, bool transposed)
{
    struct tensor tensor = {.data = data, .dtype = dtype, .rank = 3, .size = {product->batch, rows, columns}};
    tensor.stride[0] = (int64_t)rows * columns;
    tensor.stride[1] = transposed ? 1 : columns;
    tensor.stride[2] = transposed ? rows : 1;
    return tensor;
}

/* [batch, heads, rows, width] as it lies in memory of [batch, rows, heads, width]. */
static struct tensor heads_make(const struct product_case *product, float *data, int rows)
{
    int64_t width = product->k, heads = product->heads;
    struct tensor tensor = {
        .data = data, .dtype = product->dtype, .rank = 4, .size = {product->batch, heads, rows, width}};
    tensor.stride[0] = rows * heads * width;
    tensor.stride[1] = width;
    tensor.stride[2] = heads * width;
    tensor.stride[3] = 1;
    return tensor;
}

static struct tensor lse_make(const struct product_case *product, float *data)
{
    struct tensor tensor = {
        .data = data, .dtype = DTYPE_FLOAT32, .rank = 3, .size = {product->batch, product->heads, product->m}};
    tensor.stride[0] = (int64_t)product->heads * product->m;
    tensor.stride[1] = product->m;
    tensor.stride[2] = 1;
    return tensor;
}

/* a, b, for float8 a scale of each -> out, which is int32 of int8, float32 of float8. */
static void matmul_make(const struct product_bench *bench, const struct product_case *product,
                        struct operation_call *call)
{
    enum dtype sums = product->dtype == DTYPE_INT8            ? DTYPE_INT32
                      : product->dtype == DTYPE_FLOAT8_E4M3FN ? DTYPE_FLOAT32
                                                              : product->dtype;
    *call = (struct operation_call){.opcode = product->opcode, .input_count = opcode_input_count(product->opcode)};
    call->tensor_count = call->input_count + 1;
    call->attributes.f[0] = 1.0;
    call->tensors[0] = matrix_make(product, product->dtype, bench->areas[0], product->m, product->k, false);
    call->tensors[1] =
        matrix_make(product, product->dtype, bench->areas[1], product->k, product->n, product->b_transposed);
    for (int t = 2; t < call->input_count; t++) {
        call->tensors[t] = (struct tensor){bench->areas[t + 1], DTYPE_FLOAT32, 1, {1}, {1}};
    }
    call->tensors[call->input_count] = matrix_make(product, sums, bench->areas[2], product->m, product->n, false);
}

static struct tensor images_make(enum dtype dtype, float *data, int count, int channels, int side)
{
    struct tensor tensor = {.data = data, .dtype = dtype, .rank = 4, .size = {count, channels, side, side}};
    tensor.stride[0] = (int64_t)channels * side * side;
    tensor.stride[1] = (int64_t)side * side;
    tensor.stride[2] = side;
    tensor.stride[3] = 1;
    return tensor;
}

/* a, weight -> out; grad, weight -> grad a; grad, a -> grad weight: each with a workspace before the output. */
static void convolution_make(const struct product_bench *bench, const struct product_case *product,
                             struct operation_call *call)
{
    int side = (int)lround(sqrt(product->m));
    struct tensor a = images_make(product->dtype, bench->areas[0], product->batch, product->k, side);
    struct tensor out = images_make(product->dtype, bench->areas[1], product->batch, product->n, side);
    struct tensor weight = images_make(product->dtype, bench->areas[2], product->n, product->k, 3);
    bool forward = product->opcode == OPCODE_CONVOLUTION,
         of_weight = product->opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
    *call = (struct operation_call){.opcode = product->opcode, .input_count = 3, .tensor_count = 4};
    call->attributes.i[0] = 1;
    call->attributes.i[1] = 1;
    call->tensors[0] = forward ? a : out;
    call->tensors[1] = of_weight ? a : weight;
    call->tensors[2] = (struct tensor){bench->areas[3], DTYPE_BOOL, 1, {bench->area_bytes}, {1}};
    call->tensors[3] = forward ? out : of_weight ? weight : a;
}

/* q, k, v -> out, lse; or grad out, q, k, v, out, lse -> grad q, grad k, grad v. */
static void attention_make(const struct product_bench *bench, const struct product_case *product,
                           struct operation_call *call)
{
    bool backward = product->opcode == OPCODE_ATTENTION_BACKWARD;
    const char *tensors = backward ? "qqkkqlqkk" : "qkkql"; /* q: m rows, k: n rows, l: lse */
    *call = (struct operation_call){.opcode = product->opcode,
                                    .input_count = opcode_input_count(product->opcode),
                                    .tensor_count = (int)strlen(tensors)};
    call->attributes.f[0] = 0.125;
    call->attributes.f[1] = product->dropout;
    for (int t = 0; t < call->tensor_count; t++) {
        int rows = tensors[t] == 'q' ? product->m : product->n;
        call->tensors[t] =
            tensors[t] == 'l' ? lse_make(product, bench->areas[t]) : heads_make(product, bench->areas[t], rows);
    }
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
                                   .a = bench->areas[0] + (ptrdiff_t)i * product->m * product->k,
                                   .b = bench->areas[1] + (ptrdiff_t)i * product->k * product->n,
                                   .c = bench->areas[2] + (ptrdiff_t)i * product->m * product->n,
                                   .lda = product->k,
                                   .ldb = product->b_transposed ? product->k : product->n,
                                   .ldc = product->n};
        openblas_sgemm(&bench->openblas, &call);
    }
}

/* Operations a second at the device's best: sgemm of the product's own shape on the host (of a square one where it is
 * not one of matrices), a large square product elsewhere, in bfloat16 where the operands are of 8 bits. */
static enum status_code best_rate(const struct product_bench *bench, const struct product_case *product, double *rate,
                                  struct status *error)
{
    int side = bench->on->quick ? QUICK_SIDE : bench->on->is_host ? HOST_SIDE : CUDA_SIDE;
    enum dtype dtype = dtype_bytes(product->dtype) > 1 ? product->dtype : DTYPE_BFLOAT16;
    const struct product_case square = {"", OPCODE_MATMUL, dtype, false, 1, side, side, side, 0, 0};
    double seconds = 0;
    if (bench->on->is_host) {
        const struct product_case *reference = product_is_plain(product->opcode) ? product : &square;
        bench->set_num_threads(bench->thread_count);
        double begin = clock_seconds();
        product_direct(bench, reference);
        *rate = product_operation_count(reference) / (clock_seconds() - begin);
        bench->set_num_threads(1);
        return STATUS_OK;
    }
    struct operation_call call;
    matmul_make(bench, &square, &call);
    enum status_code code = bench_call_time(bench->on, &call, &seconds, error);
    *rate = product_operation_count(&square) / seconds;
    return code;
}

static enum status_code product_measure(const struct product_bench *bench, const struct product_case *product,
                                        struct bench_tally *tally, struct status *error)
{
    struct bench_row row =
        bench_row_open(product->what, bench->on->is_host ? "of OpenBLAS sgemm" : "of its square product");
    struct operation_call call;
    double rate = 0, seconds = 0;
    enum status_code code;
    if (product_is_plain(product->opcode)) {
        matmul_make(bench, product, &call);
    } else if (product_is_convolution(product->opcode)) {
        convolution_make(bench, product, &call);
    } else {
        attention_make(bench, product, &call);
    }
    code = areas_fill(bench, error);
    for (int i = -1; i < BENCH_RUNS && code == STATUS_OK; i++) { /* the first is not counted */
        code = best_rate(bench, product, &rate, error);
        if (code == STATUS_OK) {
            code = bench_call_time(bench->on, &call, &seconds, error);
        }
        if (i >= 0) {
            bench_row_add(&row, product_operation_count(product) / seconds / rate);
        }
    }
    if (code == STATUS_OK) {
        bench_row_print(&row, tally);
    }
    return code;
}

void bench_products(const struct bench_device *on, struct bench_tally *tally)
{
    struct product_bench bench;
    struct status error = {0};
    enum status_code opened = bench_open(on, &bench, &error);
    if (opened != STATUS_OK) {
        bench_row_fail("matrix products", &error, tally);
    }
    for (int i = 0; i < product_case_count && opened == STATUS_OK; i++) {
        struct product_case product = product_cases[i];
        if (on->quick) {
            product.m /= QUICK_DIVISOR;
            product.n /= QUICK_DIVISOR;
        }
        if (product_measure(&bench, &product, tally, &error) != STATUS_OK) {
            bench_row_fail(product.what, &error, tally);
        }
    }
    bench_close(&bench);
}
