/* Row kernels of the host, each beside memcpy: the share of memcpy's bandwidth that the kernel reaches on what it must
 * read and write. Both run on the same number of threads, one directly after the other, so that what else the machine
 * does falls on both. */
#include <stdlib.h>
#include <string.h>

#include "harness/kernels/host.h"
#include "tests/bench/bench_row.h"

/* One tensor is 32 MiB of float32: more than any cache near a core. */
enum { ROWS = 8192, COLUMNS = 1024, TENSORS_MAXIMUM = 5 };

static const size_t tensor_bytes = (size_t)ROWS * COLUMNS * sizeof(float);

/* What a tensor of a call is, one letter each: f float32, h bfloat16, b bool, all [ROWS, COLUMNS]; r float32 [ROWS];
 * c float32 [COLUMNS]. The inputs come first. A capital: an output that is read too. */
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
    {"GELU", OPCODE_GELU, "ff", {.f = {0}}},
    {"GELU, tanh form", OPCODE_GELU, "ff", {.i = {1}}},
    {"GELU_BACKWARD", OPCODE_GELU_BACKWARD, "fff", {.f = {0}}},
    {"SILU", OPCODE_SILU, "ff", {.f = {0}}},
    {"DROPOUT", OPCODE_DROPOUT, "ffb", {.f = {0.1}, .i = {1}}},
    {"SOFTMAX", OPCODE_SOFTMAX, "ff", {.f = {0}}},
    {"SOFTMAX_BACKWARD", OPCODE_SOFTMAX_BACKWARD, "fff", {.f = {0}}},
    {"LAYERNORM", OPCODE_LAYERNORM, "fccfrr", {.f = {1e-5}}},
    {"LAYERNORM_BACKWARD", OPCODE_LAYERNORM_BACKWARD, "ffrrcfcc", {.f = {0}}},
    {"ADAM", OPCODE_ADAM, "fFFF", {.f = {1e-4, 0.9, 0.999, 1e-8, 0.01}, .i = {1, 1}}},
    {"RANDOM_NORMAL", OPCODE_RANDOM_NORMAL, "f", {.f = {0.0, 1.0}, .i = {1}}},
};

static struct tensor tensor_make(char kind, void *data)
{
    struct tensor tensor = {.data = data, .dtype = DTYPE_FLOAT32, .rank = 2, .size = {ROWS, COLUMNS}};
    tensor.stride[0] = COLUMNS;
    tensor.stride[1] = 1;
    if (kind == 'r' || kind == 'c') {
        tensor.rank = 1;
        tensor.size[0] = kind == 'r' ? ROWS : COLUMNS;
        tensor.stride[0] = 1;
    } else if (kind == 'h') {
        tensor.dtype = DTYPE_BFLOAT16;
    } else if (kind == 'b') {
        tensor.dtype = DTYPE_BOOL;
    }
    return tensor;
}

static int64_t tensor_traffic(const struct tensor *tensor, char kind)
{
    int64_t bytes = dtype_bytes(tensor->dtype);
    for (int i = 0; i < tensor->rank; i++) {
        bytes *= tensor->size[i];
    }
    return kind == 'F' ? 2 * bytes : bytes;
}

/* The call, and how many bytes it must move. areas: memory of tensor_bytes for each tensor. */
static int64_t call_make(const struct kernel_case *kernel, int input_count, char *const *areas,
                         struct operation_call *call)
{
    int64_t traffic = 0;
    *call =
        (struct operation_call){.opcode = kernel->opcode, .input_count = input_count, .attributes = kernel->attributes};
    int full = 0; /* tensors of full size have an area each; the short ones share the last */
    size_t offset = 0;
    for (const char *kind = kernel->tensors; *kind != '\0'; kind++) {
        bool is_short = *kind == 'r' || *kind == 'c';
        char *data = is_short ? areas[TENSORS_MAXIMUM - 1] + offset : areas[full];
        offset += is_short ? (size_t)ROWS * sizeof(float) : 0;
        full += !is_short;
        struct tensor *tensor = &call->tensors[call->tensor_count++];
        *tensor = tensor_make(*kind, data);
        traffic += tensor_traffic(tensor, *kind);
    }
    return traffic;
}

/* Copies an area by as many threads as the kernels use. */
static void area_copy(char *to, const char *from)
{
    int thread_count = bench_thread_count();
    size_t part = tensor_bytes / (size_t)thread_count;
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < thread_count; i++) {
        size_t first = part * (size_t)i;
        memcpy(to + first, from + first, i + 1 < thread_count ? part : tensor_bytes - first);
    }
}

/* Uniform in [0.5, 1.5): no subnormal numbers, no negative second moments. */
static void area_fill(char *area, unsigned seed)
{
    float *numbers = (float *)(void *)area;
    uint32_t state = seed;
    for (size_t i = 0; i < tensor_bytes / sizeof(float); i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = 0.5f + (float)(state >> 8) / 16777216.0f;
    }
}

static enum status_code kernel_measure(const struct kernel_case *kernel, char *const *areas, struct bench_tally *tally,
                                       struct status *error)
{
    static const int inputs[OPCODE_COUNT] = {
#define INPUT_COUNT(name, in, out) [OPCODE_##name] = in,
        OPERATION_TABLE(INPUT_COUNT)
#undef INPUT_COUNT
    };
    struct operation_call call;
    struct bench_row row = bench_row_open(kernel->what, "of memcpy", 0);
    for (int i = 0; i < TENSORS_MAXIMUM; i++) {
        area_fill(areas[i], (unsigned)i);
    }
    double traffic = (double)call_make(kernel, inputs[kernel->opcode], areas, &call);
    for (int i = 0; i < BENCH_RUNS; i++) {
        double begin = bench_seconds();
        area_copy(areas[TENSORS_MAXIMUM], areas[0]);
        double middle = bench_seconds();
        const char *fault = kernel_host_run(&call);
        double end = bench_seconds();
        if (fault != NULL) {
            return status_set(error, STATUS_INTERNAL, "%s", fault);
        }
        double copied = 2.0 * (double)tensor_bytes / (middle - begin);
        bench_row_add(&row, traffic / (end - middle) / copied);
    }
    bench_row_print(&row, tally);
    return STATUS_OK;
}

void bench_kernels(struct bench_tally *tally)
{
    char *areas[TENSORS_MAXIMUM + 1] = {NULL};
    struct status error = {0};
    char *memory = malloc(tensor_bytes * (TENSORS_MAXIMUM + 1));
    if (memory == NULL) {
        status_set(&error, STATUS_OUT_OF_MEMORY, "no memory for six tensors of 32 MiB");
        bench_row_fail("row kernels", &error, tally);
        return;
    }
    for (int i = 0; i <= TENSORS_MAXIMUM; i++) {
        areas[i] = memory + tensor_bytes * (size_t)i;
    }
    area_fill(areas[TENSORS_MAXIMUM], 1); /* so that its pages are there */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (kernel_measure(&cases[i], areas, tally, &error) != STATUS_OK) {
            bench_row_fail(cases[i].what, &error, tally);
        }
    }
    free(memory);
}
