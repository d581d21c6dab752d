/* Softmax, log-softmax and their backward on the host: one row at a time, rows dealt to threads. */
#include "harness/kernels/body_rows.h"
#include "harness/kernels/body_softmax.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

/* First and second input (the same for the forward operations), and the output. */
typedef void row_function(struct span a, struct span b, struct span out, int64_t columns);

HOST_CLONES
static void softmax_loop(struct span a, struct span b, struct span out, int64_t columns)
{
    (void)b;
    softmax_row(team_of_one, row_of(a, columns), row_of(out, columns));
}

HOST_CLONES
static void log_softmax_loop(struct span a, struct span b, struct span out, int64_t columns)
{
    (void)b;
    log_softmax_row(team_of_one, row_of(a, columns), row_of(out, columns));
}

HOST_CLONES
static void softmax_backward_loop(struct span grad, struct span result, struct span out, int64_t columns)
{
    softmax_backward_row(team_of_one, row_of(grad, columns), row_of(result, columns), row_of(out, columns));
}

HOST_CLONES
static void log_softmax_backward_loop(struct span grad, struct span result, struct span out, int64_t columns)
{
    log_softmax_backward_row(team_of_one, row_of(grad, columns), row_of(result, columns), row_of(out, columns));
}

static const char *rows_run(const struct operation_call *call, row_function *function)
{
    const struct tensor *tensors = call->tensors;
    const struct tensor *out = &tensors[call->input_count];
    const struct tensor *second = &tensors[call->input_count - 1];
    struct rows rows = rows_of(out);
    int64_t columns = rows.columns;
    struct host_scratch scratch;
    if (!host_scratch_open(&scratch, 3 * columns)) {
        return host_no_memory;
    }
    HOST_PARALLEL_FOR(rows.count * columns >= PARALLEL_ELEMENTS)
    for (int64_t row = 0; row < rows.count; row++) {
        float *part = host_scratch_part(&scratch);
        int64_t at = row * columns;
        struct span a = span_read(&tensors[0], at, 1, columns, part);
        struct span b = call->input_count > 1 ? span_read(second, at, 1, columns, part + columns) : a;
        struct span to = span_target(out, at, 1, part + 2 * columns);
        function(a, b, to, columns);
        span_write(to, out, at, 1, columns);
    }
    host_scratch_close(&scratch);
    return NULL;
}

const char *host_softmax(const struct operation_call *call)
{
    return rows_run(call, softmax_loop);
}

const char *host_log_softmax(const struct operation_call *call)
{
    return rows_run(call, log_softmax_loop);
}

const char *host_softmax_backward(const struct operation_call *call)
{
    return rows_run(call, softmax_backward_loop);
}

const char *host_log_softmax_backward(const struct operation_call *call)
{
    return rows_run(call, log_softmax_backward_loop);
}
