/* Row kernels, each beside the device's own copy (memcpy on the host): the share of its bandwidth that the kernel
 * reaches on what it must read and write. On the host both run on the same number of threads. The two take turns, so
 * that what else the machine does falls on both. */
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench_parts.h"

/* One tensor is 32 MiB of float32: more than any cache near a core. Quick: 64 KiB. */
enum { ROWS = 8192, COLUMNS = 1024, QUICK_ROWS = 16, AREA_COUNT = 6, CHANNELS = 64, SHORT_TENSORS_MAXIMUM = 8 };

static const double goal_on_host = 0.5, goal_on_cuda = 0.7;

/* What a tensor of a call is, one letter each. Of `rows` rows: f float32, h bfloat16, b bool [rows, COLUMNS]; r float32
 * [rows]; i and t int64 [rows], ids below `rows` and below COLUMNS. c float32 [COLUMNS], l float32 [1, COLUMNS], k float32 [CHANNELS], s float32
 * [1]. As images: n float32 [rows / 256, CHANNELS, 64, 64] and, pooled, p float32 and q int64 [.., 32, 32]. The inputs
 * come first. F: an output that is read too. */
struct kernel_case {
    const char *what;
    enum opcode opcode;
    const char *tensors;
    struct operation_attributes attributes;
};

static const struct kernel_case cases[] = {
    {"COPY float32 to float32", OPCODE_COPY, "ff", {.f = {0}}},
    {"COPY float32 to bfloat16", OPCODE_COPY, "fh", {.f = {0}}},
    {"ADD", OPCODE_ADD, "fff", {.f = {1.0}}},
    {"MULTIPLY", OPCODE_MULTIPLY, "fff", {.f = {0}}},
    {"AFFINE", OPCODE_AFFINE, "ff", {.f = {0.5, 1.0}}},
    {"POWER, exponent 2", OPCODE_POWER, "ff", {.f = {2.0}}},
    {"SQUARE_ROOT", OPCODE_SQUARE_ROOT, "ff", {.f = {0}}},
    {"RECIPROCAL_ROOT", OPCODE_RECIPROCAL_ROOT, "ff", {.f = {0}}},
    {"TANH", OPCODE_TANH, "ff", {.f = {0}}},
    {"TANH_BACKWARD", OPCODE_TANH_BACKWARD, "fff", {.f = {0}}},
    {"RELU", OPCODE_RELU, "ff", {.f = {0}}},
    {"RELU_BACKWARD", OPCODE_RELU_BACKWARD, "fff", {.f = {0}}},
    {"GELU", OPCODE_GELU, "ff", {.f = {0}}},
    {"GELU, tanh form", OPCODE_GELU, "ff", {.i = {1}}},
    {"GELU_BACKWARD", OPCODE_GELU_BACKWARD, "fff", {.f = {0}}},
    {"GELU_BACKWARD, tanh form", OPCODE_GELU_BACKWARD, "fff", {.i = {1}}},
    {"SILU", OPCODE_SILU, "ff", {.f = {0}}},
    {"SILU_BACKWARD", OPCODE_SILU_BACKWARD, "fff", {.f = {0}}},
    {"DROPOUT", OPCODE_DROPOUT, "ffb", {.f = {0.1}, .i = {1}}},
    {"DROPOUT_BACKWARD", OPCODE_DROPOUT_BACKWARD, "fbf", {.f = {1.1}}},
    {"SUM, gradient of a bias", OPCODE_SUM, "fl", {.f = {1.0}}},
    {"SOFTMAX", OPCODE_SOFTMAX, "ff", {.f = {0}}},
    {"SOFTMAX_BACKWARD", OPCODE_SOFTMAX_BACKWARD, "fff", {.f = {0}}},
    {"LOG_SOFTMAX", OPCODE_LOG_SOFTMAX, "ff", {.f = {0}}},
    {"LOG_SOFTMAX_BACKWARD", OPCODE_LOG_SOFTMAX_BACKWARD, "fff", {.f = {0}}},
    {"NLL_LOSS_BACKWARD", OPCODE_NLL_LOSS_BACKWARD, "stsf", {.f = {0}}},
    {"LAYERNORM", OPCODE_LAYERNORM, "fccfrr", {.f = {1e-5}}},
    {"LAYERNORM_BACKWARD", OPCODE_LAYERNORM_BACKWARD, "ffrrcfcc", {.f = {0}}},
    {"BATCHNORM, training", OPCODE_BATCHNORM, "nkkkknkk", {.f = {1e-5, 0.1}, .i = {1}}},
    {"BATCHNORM_BACKWARD", OPCODE_BATCHNORM_BACKWARD, "nnkkknkk", {.f = {0}}},
    {"EMBEDDING", OPCODE_EMBEDDING, "fif", {.f = {0}}},
    {"EMBEDDING_BACKWARD", OPCODE_EMBEDDING_BACKWARD, "fif", {.i = {-1}}},
    {"MAX_POOL", OPCODE_MAX_POOL, "npq", {.i = {3, 2, 1}}},
    {"MAX_POOL_BACKWARD", OPCODE_MAX_POOL_BACKWARD, "pqn", {.i = {3, 2, 1}}},
    {"ADAM", OPCODE_ADAM, "fFFF", {.f = {1e-4, 0.9, 0.999, 1e-8, 0.01}, .i = {1, 1}}},
    {"SGD_MOMENTUM", OPCODE_SGD_MOMENTUM, "fFF", {.f = {1e-4, 0.9}}},
    {"UNSCALE", OPCODE_UNSCALE, "Fs", {.f = {1.0}}},
    {"FILL", OPCODE_FILL, "f", {.f = {0}}},
    {"RANDOM_NORMAL", OPCODE_RANDOM_NORMAL, "f", {.f = {0.0, 1.0}, .i = {1}}},
};

/* Areas of memory, each of one full tensor. The last holds the short tensors of a call, the first is never written by
 * the copy that is compared with, which goes from there to the one before the last. */
struct kernel_bench {
    const struct bench_device *on;
    int64_t rows;
    int64_t area_bytes, short_bytes; /* short_bytes: of one of the short tensors */
    char *memory;                    /* on the device */
    char *areas[AREA_COUNT];
    char *staged; /* area_bytes on the host, as an area begins */
};

static struct tensor tensor_of_shape(void *data, enum dtype dtype, int rank, const int64_t *sizes)
{
    struct tensor tensor = {.data = data, .dtype = dtype, .rank = rank};
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        tensor.size[d] = sizes[d];
        tensor.stride[d] = stride;
        stride *= sizes[d];
    }
    return tensor;
}

static struct tensor tensor_make(char kind, int64_t rows, void *data)
{
    const int64_t matrix[] = {rows, COLUMNS}, line[] = {1, COLUMNS}, channels = CHANNELS, one = 1;
    const int64_t images[] = {rows * COLUMNS / (CHANNELS * 64 * 64), CHANNELS, 64, 64};
    const int64_t pooled[] = {images[0], CHANNELS, 32, 32};
    switch (kind) {
    case 'h':
        return tensor_of_shape(data, DTYPE_BFLOAT16, 2, matrix);
    case 'b':
        return tensor_of_shape(data, DTYPE_BOOL, 2, matrix);
    case 'r':
        return tensor_of_shape(data, DTYPE_FLOAT32, 1, &rows);
    case 'i':
    case 't':
        return tensor_of_shape(data, DTYPE_INT64, 1, &rows);
    case 'c':
        return tensor_of_shape(data, DTYPE_FLOAT32, 1, &line[1]);
    case 'l':
        return tensor_of_shape(data, DTYPE_FLOAT32, 2, line);
    case 'k':
        return tensor_of_shape(data, DTYPE_FLOAT32, 1, &channels);
    case 's':
        return tensor_of_shape(data, DTYPE_FLOAT32, 1, &one);
    case 'n':
        return tensor_of_shape(data, DTYPE_FLOAT32, 4, images);
    case 'p':
        return tensor_of_shape(data, DTYPE_FLOAT32, 4, pooled);
    case 'q':
        return tensor_of_shape(data, DTYPE_INT64, 4, pooled);
    default:
        return tensor_of_shape(data, DTYPE_FLOAT32, 2, matrix);
    }
}

static bool kind_is_short(char kind)
{
    return strchr("ritcksl", kind) != NULL;
}

/* The call, and how many bytes it must move. */
static int64_t call_make(const struct kernel_bench *bench, const struct kernel_case *kernel,
                         struct operation_call *call)
{
    int64_t traffic = 0;
    int full_count = 0, short_count = 0;
    *call = (struct operation_call){
        .opcode = kernel->opcode, .input_count = opcode_input_count(kernel->opcode), .attributes = kernel->attributes};
    for (const char *kind = kernel->tensors; *kind != '\0'; kind++) {
        char *data = kind_is_short(*kind) ? bench->areas[AREA_COUNT - 1] + bench->short_bytes * short_count++
                                          : bench->areas[full_count++];
        struct tensor *tensor = &call->tensors[call->tensor_count++];
        *tensor = tensor_make(*kind, bench->rows, data);
        int64_t bytes = tensor_element_count(tensor) * dtype_bytes(tensor->dtype);
        traffic += *kind == 'F' ? 2 * bytes : bytes;
    }
    return traffic;
}

/* Uniform in [0.5, 1.5): no subnormal numbers, no negative second moments. */
static void floats_fill(float *numbers, int64_t count, unsigned seed)
{
    uint32_t state = seed;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = 0.5f + (float)(state >> 8) / 16777216.0f;
    }
}

/* One tensor as it is before the call: places in a plane, ids, bytes of 0 and 1, or numbers near 1. */
static void tensor_stage(const struct kernel_bench *bench, char kind, const struct tensor *tensor, unsigned seed)
{
    int64_t *integers = (int64_t *)(void *)bench->staged;
    int64_t count = tensor_element_count(tensor);
    switch (kind) {
    case 'q':
        for (int64_t k = 0; k < count; k++) {
            integers[k] =
                k / 32 % 32 * 2 * 64 + k % 32 * 2; /* the middle of a window of kernel 3, stride 2, padding 1 */
        }
        break;
    case 'i':
    case 't':
        for (int64_t k = 0; k < count; k++) {
            integers[k] = k * 4241 % (kind == 'i' ? bench->rows : COLUMNS);
        }
        break;
    case 'b':
        for (int64_t k = 0; k < count; k++) {
            bench->staged[k] = k % 7 != 0;
        }
        break;
    default:
        floats_fill((float *)(void *)bench->staged, count * dtype_bytes(tensor->dtype) / (int64_t)sizeof(float), seed);
    }
}

/* Outputs too: those that are read, and so that the pages of all are there. */
static enum status_code tensors_fill(const struct kernel_bench *bench, const struct kernel_case *kernel,
                                     const struct operation_call *call, struct status *error)
{
    struct device *device = bench->on->device;
    enum status_code code = STATUS_OK;
    for (int t = 0; t < call->tensor_count && code == STATUS_OK; t++) {
        const struct tensor *tensor = &call->tensors[t];
        tensor_stage(bench, kernel->tensors[t], tensor, (unsigned)t);
        code = device->table->copy_from_host(device, tensor->data, bench->staged,
                                             tensor_element_count(tensor) * dtype_bytes(tensor->dtype), error);
    }
    return code;
}

/* Copies an area by as many threads as the kernels use. */
static void area_copy(char *to, const char *from, size_t bytes)
{
    int thread_count = bench_thread_count();
    size_t part = bytes / (size_t)thread_count;
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < thread_count; i++) {
        size_t first = part * (size_t)i;
        memcpy(to + first, from + first, i + 1 < thread_count ? part : bytes - first);
    }
}

enum status_code bench_call_time(const struct bench_device *on, const struct operation_call *call, double *seconds,
                                 struct status *error)
{
    double begin = bench_seconds();
    enum status_code code = on->device->table->run(on->device, call, error);
    if (code == STATUS_OK) {
        code = on->device->table->synchronize(on->device, error);
    }
    *seconds = bench_seconds() - begin;
    return code;
}

/* Seconds of the copy of one area to another: memcpy, or the device's own COPY. */
static enum status_code copy_time(const struct kernel_bench *bench, double *seconds, struct status *error)
{
    struct operation_call copy = {.opcode = OPCODE_COPY, .input_count = 1, .tensor_count = 2};
    char *to = bench->areas[AREA_COUNT - 2];
    if (bench->on->is_host) {
        double begin = bench_seconds();
        area_copy(to, bench->areas[0], (size_t)bench->area_bytes);
        *seconds = bench_seconds() - begin;
        return STATUS_OK;
    }
    copy.tensors[0] = tensor_make('f', bench->rows, bench->areas[0]);
    copy.tensors[1] = tensor_make('f', bench->rows, to);
    return bench_call_time(bench->on, &copy, seconds, error);
}

static enum status_code kernel_measure(const struct kernel_bench *bench, const struct kernel_case *kernel,
                                       struct bench_tally *tally, struct status *error)
{
    struct operation_call call;
    struct bench_row row = bench_row_open(kernel->what, bench->on->is_host ? "of memcpy" : "of its COPY");
    row.at_least = bench->on->is_host ? goal_on_host : goal_on_cuda;
    double traffic = (double)call_make(bench, kernel, &call);
    double copy_seconds = 0, kernel_seconds = 0;
    enum status_code code = tensors_fill(bench, kernel, &call, error);
    for (int i = -1; i < BENCH_RUNS && code == STATUS_OK; i++) { /* the first is not counted */
        code = copy_time(bench, &copy_seconds, error);
        if (code == STATUS_OK) {
            code = bench_call_time(bench->on, &call, &kernel_seconds, error);
        }
        if (i >= 0) {
            bench_row_add(&row, traffic / kernel_seconds / (2.0 * (double)bench->area_bytes / copy_seconds));
        }
    }
    if (code == STATUS_OK) {
        bench_row_print(&row, tally);
    }
    return code;
}

static enum status_code bench_open(const struct bench_device *on, struct kernel_bench *bench, struct status *error)
{
    *bench = (struct kernel_bench){.on = on, .rows = on->quick ? QUICK_ROWS * QUICK_ROWS : ROWS};
    bench->area_bytes = bench->rows * COLUMNS * (int64_t)sizeof(float);
    bench->short_bytes = bench->area_bytes / SHORT_TENSORS_MAXIMUM;
    bench->staged = malloc((size_t)bench->area_bytes);
    if (bench->staged == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a tensor of %d rows", (int)bench->rows);
    }
    void *memory = NULL;
    enum status_code code =
        on->device->table->segment_alloc(on->device, AREA_COUNT * bench->area_bytes, &memory, error);
    bench->memory = memory;
    for (int i = 0; i < AREA_COUNT && code == STATUS_OK; i++) {
        bench->areas[i] = bench->memory + bench->area_bytes * i;
    }
    return code;
}

static void bench_close(struct kernel_bench *bench)
{
    struct status ignored = {0};
    struct device *device = bench->on->device;
    if (bench->memory != NULL) {
        device->table->segment_free(device, bench->memory, AREA_COUNT * bench->area_bytes, &ignored);
    }
    free(bench->staged);
}

void bench_kernels(const struct bench_device *on, struct bench_tally *tally)
{
    struct kernel_bench bench;
    struct status error = {0};
    if (bench_open(on, &bench, &error) == STATUS_OK) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            if (kernel_measure(&bench, &cases[i], tally, &error) != STATUS_OK) {
                bench_row_fail(cases[i].what, &error, tally);
            }
        }
    } else {
        bench_row_fail("row kernels", &error, tally);
    }
    bench_close(&bench);
}
