/* Matrix products and attention, as a share of the rate at which the device multiplies at its best: on the host
 * OpenBLAS's own sgemm on as many threads, elsewhere the device's own large square product. On the host the same library
 * multiplies in both; what is measured is what cutting into tiles, conversion and biases add or save. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/openblas.h"
#include "tests/bench/bench_parts.h"

/* A MATMUL [batch, m, k] x [batch, k, n]; or, of `heads` heads in m rows, n columns and width k, an attention. */
struct product_case {
    const char *what;
    enum opcode opcode;
    enum dtype dtype;
    bool b_transposed; /* weights of a linear layer lie as [n, k] */
    int batch, m, n, k;
    int heads;
    double dropout;
};

static const struct product_case cases[] = {
    {"MATMUL float32 1024 x 1024 x 1024", OPCODE_MATMUL, DTYPE_FLOAT32, false, 1, 1024, 1024, 1024, 0, 0},
    {"MATMUL float32, linear layer 2048 x 3072 x 768", OPCODE_MATMUL, DTYPE_FLOAT32, true, 1, 2048, 3072, 768, 0, 0},
    {"MATMUL float32, scores of 48 heads 512 x 512 x 64", OPCODE_MATMUL, DTYPE_FLOAT32, true, 48, 512, 512, 64, 0, 0},
    {"MATMUL bfloat16, linear layer 2048 x 3072 x 768", OPCODE_MATMUL, DTYPE_BFLOAT16, true, 1, 2048, 3072, 768, 0, 0},
    {"ATTENTION float32, 4 x 12 heads 512 x 512 x 64", OPCODE_ATTENTION, DTYPE_FLOAT32, false, 4, 512, 512, 64, 12, 0},
    {"ATTENTION float32, the same, dropout", OPCODE_ATTENTION, DTYPE_FLOAT32, false, 4, 512, 512, 64, 12, 0.1},
    {"ATTENTION_BACKWARD float32, the same, dropout", OPCODE_ATTENTION_BACKWARD, DTYPE_FLOAT32, false, 4, 512, 512, 64,
     12, 0.1},
    {"ATTENTION bfloat16, the same", OPCODE_ATTENTION, DTYPE_BFLOAT16, false, 4, 512, 512, 64, 12, 0},
    {"ATTENTION_BACKWARD bfloat16, the same", OPCODE_ATTENTION_BACKWARD, DTYPE_BFLOAT16, false, 4, 512, 512, 64, 12, 0},
};

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

static struct tensor matrix_make(const struct product_case *product, float *data, int rows, int columns,
                                 bool transposed)
{
    struct tensor tensor = {.data = data, .dtype = product->dtype, .rank = 3, .size = {product->batch, rows, columns}};
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

static void matmul_make(const struct product_bench *bench, const struct product_case *product,
                        struct operation_call *call)
{
    *call = (struct operation_call){.opcode = OPCODE_MATMUL, .input_count = 2, .tensor_count = 3};
    call->attributes.f[0] = 1.0;
    call->tensors[0] = matrix_make(product, bench->areas[0], product->m, product->k, false);
    call->tensors[1] = matrix_make(product, bench->areas[1], product->k, product->n, product->b_transposed);
    call->tensors[2] = matrix_make(product, bench->areas[2], product->m, product->n, false);
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

/* Multiplications and additions: of a product, of the two products of attention, of the five of its backward. */
static double operation_count(const struct product_case *product)
{
    double count = 2.0 * product->batch * product->m * product->n * product->k;
    double factor = product->opcode == OPCODE_ATTENTION ? 2 : product->opcode == OPCODE_ATTENTION_BACKWARD ? 5 : 1;
    return factor * count * (product->heads > 0 ? product->heads : 1);
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

/* Operations a second at the device's best: sgemm of the product's own shape on the host (of a square one for
 * attention), a large square product elsewhere. */
static enum status_code best_rate(const struct product_bench *bench, const struct product_case *product, double *rate,
                                  struct status *error)
{
    int side = bench->on->quick ? QUICK_SIDE : bench->on->is_host ? HOST_SIDE : CUDA_SIDE;
    const struct product_case square = {"", OPCODE_MATMUL, product->dtype, false, 1, side, side, side, 0, 0};
    double seconds = 0;
    if (bench->on->is_host) {
        const struct product_case *reference = product->opcode == OPCODE_MATMUL ? product : &square;
        bench->set_num_threads(bench->thread_count);
        double begin = bench_seconds();
        product_direct(bench, reference);
        *rate = operation_count(reference) / (bench_seconds() - begin);
        bench->set_num_threads(1);
        return STATUS_OK;
    }
    struct operation_call call;
    matmul_make(bench, &square, &call);
    enum status_code code = bench_call_time(bench->on, &call, &seconds, error);
    *rate = operation_count(&square) / seconds;
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
    if (product->opcode == OPCODE_MATMUL) {
        matmul_make(bench, product, &call);
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
            bench_row_add(&row, operation_count(product) / seconds / rate);
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
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && opened == STATUS_OK; i++) {
        struct product_case product = cases[i];
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
