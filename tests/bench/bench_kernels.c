/* Row kernels, each beside the device's own copy (memcpy on the host): the share of its bandwidth that the kernel
 * reaches on what it must read and write. On the host both run on the same number of threads. The two take turns, so
 * that what else the machine does falls on both. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "tests/bench/bench_parts.h"
#include "tests/bench/kernel_case.h"

/* One tensor is 32 MiB of float32: more than any cache near a core. Quick: 1 MiB. */
enum { ROWS = 8192, QUICK_ROWS = KERNEL_ROWS_DIVISOR, AREA_COUNT = 6, SHORT_TENSORS_MAXIMUM = 8 };

static const double goal_on_host = 0.5, goal_on_cuda = 0.7;

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

/* The call, and how many bytes it must move. */
static int64_t call_make(const struct kernel_bench *bench, const struct kernel_case *kernel,
                         struct operation_call *call)
{
    int64_t traffic = 0;
    int full_count = 0, short_count = 0;
    *call = (struct operation_call){.opcode = kernel->opcode,
                                    .input_count = (int)strlen(kernel->tensors) -
                                                   opcode_output_count(kernel->opcode), /* optional ones included */
                                    .attributes = kernel->attributes};
    for (const char *kind = kernel->tensors; *kind != '\0'; kind++) {
        char *data = kernel_tensor_is_short(*kind) ? bench->areas[AREA_COUNT - 1] + bench->short_bytes * short_count++
                                                   : bench->areas[full_count++];
        call->tensors[call->tensor_count++] = kernel_tensor(*kind, bench->rows, data);
        traffic += kernel_tensor_traffic(*kind, bench->rows);
    }
    return traffic;
}

/* Outputs too: those that are read, and so that the pages of all are there. */
static enum status_code tensors_fill(const struct kernel_bench *bench, const struct kernel_case *kernel,
                                     const struct operation_call *call, struct status *error)
{
    struct device *device = bench->on->device;
    enum status_code code = STATUS_OK;
    for (int t = 0; t < call->tensor_count && code == STATUS_OK; t++) {
        int64_t bytes = 0;
        kernel_tensor_stage(kernel->tensors[t], bench->rows, (unsigned)t, bench->staged, &bytes);
        code = device->table->copy_from_host(device, call->tensors[t].data, bench->staged, bytes, error);
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
    double begin = clock_seconds();
    enum status_code code = on->device->table->run(on->device, call, error);
    if (code == STATUS_OK) {
        code = on->device->table->synchronize(on->device, error);
    }
    *seconds = clock_seconds() - begin;
    return code;
}

/* Seconds of the copy of one area to another: memcpy, or the device's own COPY. */
static enum status_code copy_time(const struct kernel_bench *bench, double *seconds, struct status *error)
{
    struct operation_call copy = {.opcode = OPCODE_COPY, .input_count = 1, .tensor_count = 2};
    char *to = bench->areas[AREA_COUNT - 2];
    if (bench->on->is_host) {
        double begin = clock_seconds();
        area_copy(to, bench->areas[0], (size_t)bench->area_bytes);
        *seconds = clock_seconds() - begin;
        return STATUS_OK;
    }
    copy.tensors[0] = kernel_tensor('f', bench->rows, bench->areas[0]);
    copy.tensors[1] = kernel_tensor('f', bench->rows, to);
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
    *bench = (struct kernel_bench){.on = on, .rows = on->quick ? QUICK_ROWS : ROWS};
    bench->area_bytes = bench->rows * KERNEL_COLUMNS * (int64_t)sizeof(float);
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
        for (int i = 0; i < kernel_case_count; i++) {
            if (kernel_measure(&bench, &kernel_cases[i], tally, &error) != STATUS_OK) {
                bench_row_fail(kernel_cases[i].what, &error, tally);
            }
        }
    } else {
        bench_row_fail("row kernels", &error, tally);
    }
    bench_close(&bench);
}
