/* Selection on the host: rows are dealt to threads. If an id holds for a whole row, the row is copied as it lies. */
#include "harness/kernels/body_rows.h"
#include "harness/kernels/body_select.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"
#include "harness/kernels/host_walk.h"

#include <string.h>

/* A row is searched in pieces whose largest elements are kept, so that only the piece in which an element was found is
 * read again for the next: some vectors long, and not long to search in. */
enum { PIECE = 128 };

HOST_CLONES
static void pieces_rank(const float *a, int64_t columns, float *maxima)
{
    for (int64_t first = 0; first < columns; first += PIECE) {
        int64_t end = columns - first < PIECE ? columns : first + PIECE;
        float largest = -INFINITY;
        BODY_SIMD(reduction(max : largest))
        for (int64_t k = first; k < end; k++) {
            float value = ranked_value(a[k]);
            largest = value > largest ? value : largest;
        }
        maxima[first / PIECE] = largest;
    }
}

/* The largest of a piece's elements that come after the one of this value at `place`; -infinity if none does. */
HOST_CLONES
static float piece_largest_after(const float *a, int32_t count, float last, int32_t place)
{
    float largest = -INFINITY;
    BODY_SIMD(reduction(max : largest))
    for (int32_t k = 0; k < count; k++) {
        float value = ranked_value(a[k]);
        float bound = k > place ? value : -INFINITY; /* what equals the last comes after it only further on */
        float candidate = value < last ? value : (value == last ? bound : -INFINITY);
        largest = candidate > largest ? candidate : largest;
    }
    return largest;
}

/* The element that follows `last`. maxima: of each piece, the largest of what comes after the element before `last`.
 * A piece of which nothing is left counts as -infinity, and the search goes through it to the next. */
static struct ranked row_next(const float *a, int64_t columns, float *maxima, struct ranked last)
{
    if (last.index >= 0) {
        int64_t first = last.index / PIECE * PIECE;
        int64_t count = columns - first < PIECE ? columns - first : PIECE;
        maxima[first / PIECE] =
            piece_largest_after(a + first, (int32_t)count, last.value, (int32_t)(last.index - first));
    }
    int64_t best = 0;
    for (int64_t piece = 1; piece * PIECE < columns; piece++) {
        best = maxima[piece] > maxima[best] ? piece : best;
    }
    struct ranked next = {maxima[best], best * PIECE};
    while (!(ranked_value(a[next.index]) == next.value && ranked_follows(next.value, next.index, last))) {
        next.index++;
    }
    return next;
}

const char *host_top_k(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0];
    const struct tensor *values = call->opcode == OPCODE_TOP_K ? &call->tensors[call->input_count] : NULL;
    const struct tensor *indices = &call->tensors[call->tensor_count - 1];
    struct rows rows = rows_of(a);
    int64_t count = values != NULL ? rows_of(values).columns : 1;
    struct host_scratch scratch;
    if (!host_scratch_open(&scratch, rows.columns + rows.columns / PIECE + 1)) {
        return host_no_memory;
    }
    HOST_PARALLEL_FOR(rows.count * rows.columns >= PARALLEL_ELEMENTS)
    for (int64_t row = 0; row < rows.count; row++) {
        float *maxima = host_scratch_part(&scratch) + rows.columns;
        struct span span = span_read(a, row * rows.columns, 1, rows.columns, host_scratch_part(&scratch));
        pieces_rank(span.data, rows.columns, maxima);
        struct ranked last = ranked_first();
        for (int64_t k = 0; k < count; k++) {
            last = row_next(span.data, rows.columns, maxima, last);
            ((int64_t *)indices->data)[row * count + k] = last.index;
            if (values != NULL) {
                float_store(values->data, values->dtype, row * count + k, span_get(span, last.index));
            }
        }
    }
    host_scratch_close(&scratch);
    return NULL;
}

static const char *gather_ids_check(const int64_t *ids, struct gather_shape shape, int64_t groups)
{
    for (int64_t k = 0; k < groups * shape.picked * shape.columns; k++) {
        int64_t rest = k / shape.columns;
        int64_t id = ids[rest / shape.picked * shape.ids_step[0] + rest % shape.picked * shape.ids_step[1] +
                         k % shape.columns * shape.ids_step[2]];
        if (id < 0 || id >= shape.rows) {
            return "an id is not a row of what is gathered from";
        }
    }
    return NULL;
}

/* With one id for each row an "element" is the whole row. */
static void gather_rows_run(const int64_t *ids, struct gather_shape shape, int64_t count, int64_t bytes,
                            const char *from, char *to)
{
    HOST_PARALLEL_FOR(count * bytes >= PARALLEL_ELEMENTS)
    for (int64_t k = 0; k < count; k++) {
        memcpy(to + k * bytes, from + gather_source(ids, shape, k) * bytes, (size_t)bytes);
    }
}

const char *host_gather(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *ids = &call->tensors[1], *out = &call->tensors[2];
    int64_t count = tensor_element_count(out), bytes = dtype_bytes(a->dtype);
    struct gather_shape shape = {.rows = a->size[1], .picked = out->size[1], .columns = out->size[2]};
    if (count == 0) {
        return NULL;
    }
    memcpy(shape.ids_step, ids->stride, sizeof shape.ids_step);
    if (shape.ids_step[2] == 0) {
        bytes *= shape.columns;
        count /= shape.columns;
        shape.columns = 1;
    }
    const char *wrong = gather_ids_check(ids->data, shape, a->size[0]);
    if (wrong == NULL) {
        gather_rows_run(ids->data, shape, count, bytes, a->data, out->data);
    }
    return wrong;
}

const char *host_token_positions(const struct operation_call *call)
{
    struct rows rows = rows_of(&call->tensors[0]);
    const int64_t *ids = call->tensors[0].data, *i = call->attributes.i;
    int64_t *out = call->tensors[1].data;
    for (int64_t row = 0; row < rows.count; row++) {
        token_positions_span(ids + row * rows.columns, out + row * rows.columns, 0, rows.columns,
                             (struct position_rule){i[0], i[1], i[2]});
    }
    return NULL;
}

static void divide_piece(void *context, const struct walk *walk, const struct walk_piece *piece)
{
    const struct operation_call *call = context;
    const int64_t *from = (const int64_t *)call->tensors[0].data + piece->offset[0];
    int64_t *to = (int64_t *)call->tensors[1].data + piece->offset[1];
    int64_t divisor = call->attributes.i[0];
    for (int64_t k = 0; k < piece->count; k++) {
        int64_t a = from[k * walk_step(walk, 0)];
        bool quotient = call->opcode == OPCODE_QUOTIENT;
        to[k * walk_step(walk, 1)] = quotient ? integer_quotient(a, divisor) : integer_remainder(a, divisor);
    }
}

const char *host_divide(const struct operation_call *call)
{
    struct operation_call divide = *call;
    struct walk walk = walk_of_call(call);
    host_walk_run(&walk, divide_piece, &divide);
    return NULL;
}
