/* Operations that only write: fills, random numbers, sequences and masks, on the host. */
#include <string.h>

#include "harness/kernels/body_create.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_walk.h"

struct fill_job {
    const struct tensor *out;
    char element[sizeof(int64_t)]; /* the value in the dtype of the tensor */
};

/* Copies of one element, side by side. If all its bytes are equal, as those of 0 are, memset is faster: it need not
 * fetch a line of which nothing will be left. */
HOST_CLONES
static void elements_fill(void *to, const char *element, int bytes, int64_t count)
{
    uint16_t two = 0, *twos = to;
    uint32_t four = 0, *fours = to;
    uint64_t eight = 0, *eights = to;
    if (memcmp(element, element + 1, (size_t)bytes - 1) == 0) {
        memset(to, *element, (size_t)(count * bytes));
        return;
    }
    switch (bytes) {
    case 2:
        memcpy(&two, element, sizeof two);
        BODY_SIMD()
        for (int64_t k = 0; k < count; k++) {
            twos[k] = two;
        }
        break;
    case 4:
        memcpy(&four, element, sizeof four);
        BODY_SIMD()
        for (int64_t k = 0; k < count; k++) {
            fours[k] = four;
        }
        break;
    default:
        memcpy(&eight, element, sizeof eight);
        BODY_SIMD()
        for (int64_t k = 0; k < count; k++) {
            eights[k] = eight;
        }
    }
}

static void fill_piece(void *context, const struct walk *walk, const struct walk_piece *piece)
{
    const struct fill_job *job = context;
    int bytes = dtype_bytes(job->out->dtype);
    int64_t step = walk_step(walk, 0) * bytes;
    char *to = tensor_at(job->out, piece->offset[0]);
    if (step == bytes) {
        elements_fill(to, job->element, bytes, piece->count);
        return;
    }
    for (int64_t k = 0; k < piece->count; k++) {
        memcpy(to + k * step, job->element, (size_t)bytes);
    }
}

/* Nothing is read or kept, so that longer pieces than those of a walk are better. */
static void dense_fill(const struct fill_job *job)
{
    enum { PIECE = 16 * SPAN_ELEMENTS };
    int64_t count = tensor_element_count(job->out);
    int bytes = dtype_bytes(job->out->dtype);
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int64_t first = 0; first < count; first += PIECE) {
        elements_fill(tensor_at(job->out, first), job->element, bytes, count - first < PIECE ? count - first : PIECE);
    }
}

const char *host_fill(const struct operation_call *call)
{
    struct fill_job job = {.out = &call->tensors[0]};
    struct walk walk = walk_of_call(call);
    float_store(job.element, job.out->dtype, 0, (float)call->attributes.f[0]);
    if (job.out->dtype == DTYPE_INT64) {
        int64_t integer = (int64_t)call->attributes.f[0];
        memcpy(job.element, &integer, sizeof integer);
    }
    if (tensor_is_dense(job.out)) {
        dense_fill(&job);
    } else {
        host_walk_run(&walk, fill_piece, &job);
    }
    return NULL;
}

struct normal {
    struct random_key key;
    float mean, deviation;
};

/* Elements 2j and 2j + 1 at a time, 2 * pairs of them; first is even. */
HOST_CLONES
static void normal_pairs(struct normal normal, uint64_t first, float *out, int32_t pairs)
{
    struct random_key key = normal.key;
    BODY_SIMD()
    for (int32_t k = 0; k < pairs; k++) {
        uint32_t offset = 2u * (uint32_t)k;
        float radius = normal.deviation * normal_radius(random_bits_after(key, first, offset));
        float turn = normal_turn(random_bits_after(key, first, offset | 1u));
        out[2 * k] = normal.mean + radius * body_cosine_of_turn(turn);
        out[2 * k + 1] = normal.mean + radius * body_sine_of_turn(turn);
    }
}

static void normal_span(const struct tensor *out, struct normal normal, int64_t first, int64_t count)
{
    float scratch[SPAN_ELEMENTS], last[2];
    struct span to = span_target(out, first, 1, scratch);
    normal_pairs(normal, (uint64_t)first, to.data, (int32_t)(count / 2));
    if (count % 2 != 0) { /* half a pair */
        normal_pairs(normal, (uint64_t)(first + count - 1), last, 1);
        to.data[count - 1] = last[0];
    }
    span_write(to, out, first, 1, count);
}

const char *host_random_normal(const struct operation_call *call)
{
    const struct operation_attributes *attributes = &call->attributes;
    struct normal normal = {random_key_of(attributes->i[0]), (float)attributes->f[0], (float)attributes->f[1]};
    int64_t count = tensor_element_count(&call->tensors[0]);
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int64_t first = 0; first < count; first += SPAN_ELEMENTS) {
        normal_span(&call->tensors[0], normal, first, count - first < SPAN_ELEMENTS ? count - first : SPAN_ELEMENTS);
    }
    return NULL;
}

const char *host_random_integer(const struct operation_call *call)
{
    struct random_key key = random_key_of(call->attributes.i[0]);
    int64_t bound = call->attributes.i[1];
    int64_t *out = call->tensors[0].data;
    int64_t count = tensor_element_count(&call->tensors[0]);
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int64_t k = 0; k < count; k++) {
        out[k] = random_integer(key, (uint64_t)k, bound);
    }
    return NULL;
}

const char *host_sequence(const struct operation_call *call)
{
    struct rows rows = rows_of(&call->tensors[0]);
    int64_t *out = call->tensors[0].data;
    for (int64_t k = 0; k < rows.count * rows.columns; k++) {
        out[k] = sequence_element(k, rows.columns, call->attributes.i[0], call->attributes.i[1]);
    }
    return NULL;
}

/* How many columns a row of a causal mask sees. */
static int64_t columns_seen(int64_t row, int64_t offset, int64_t columns)
{
    int64_t seen = row + offset + 1;
    return seen < 0 ? 0 : seen > columns ? columns : seen;
}

/* A row of a causal mask: 0 up to the last column that may be seen, what is masked after it. */
static void causal_row(const struct tensor *out, int64_t row, struct mask_shape shape)
{
    int64_t seen = columns_seen(row % shape.rows, shape.offset, shape.columns);
    for (int64_t column = 0; column < shape.columns; column += SPAN_ELEMENTS) {
        float scratch[SPAN_ELEMENTS];
        int64_t count = shape.columns - column < SPAN_ELEMENTS ? shape.columns - column : SPAN_ELEMENTS;
        struct span to = span_target(out, row * shape.columns + column, 1, scratch);
        int64_t zeros = seen < column ? 0 : seen - column < count ? seen - column : count;
        memset(to.data, 0, (size_t)zeros * sizeof *to.data);
        elements_fill(to.data + zeros, (const char *)&shape.lowest, sizeof *to.data, count - zeros);
        span_write(to, out, row * shape.columns + column, 1, count);
    }
}

const char *host_causal_mask(const struct operation_call *call)
{
    const struct tensor *out = &call->tensors[0];
    struct mask_shape shape = mask_shape_of(call);
    int64_t count = tensor_element_count(out);
    int64_t rows = shape.columns > 0 ? count / shape.columns : 0;
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int64_t row = 0; row < rows; row++) {
        causal_row(out, row, shape);
    }
    return NULL;
}

/* Which tokens there are, as bytes. */
HOST_CLONES
static void tokens_mark(const int64_t *tokens, int64_t count, unsigned char *to)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        to[k] = tokens[k] != 0;
    }
}

/* The last row of each sequence is made first, whole: the others are as much of it as they may see. */
const char *host_attention_mask(const struct operation_call *call)
{
    const struct tensor *out = &call->tensors[call->input_count];
    const int64_t *tokens = call->input_count > 0 ? call->tensors[0].data : NULL;
    struct span_shape shape = span_shape_of(call);
    unsigned char *to = out->data;
    int64_t count = tensor_element_count(out), rows = shape.rows, columns = shape.columns;
    if (count == 0) {
        return NULL;
    }
    int64_t lines = count / columns;
    for (int64_t last = rows - 1; last < lines; last += rows) {
        if (tokens != NULL) {
            tokens_mark(tokens + last / rows * columns, columns, to + last * columns);
        } else {
            memset(to + last * columns, 1, (size_t)columns);
        }
    }
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int64_t line = 0; line < lines; line++) {
        const unsigned char *whole = to + (line / rows * rows + rows - 1) * columns;
        unsigned char *row = to + line * columns;
        if (row != whole) {
            int64_t first = span_first(line % rows, shape), end = span_end(line % rows, shape);
            memset(row, 0, (size_t)first);
            memcpy(row + first, whole + first, (size_t)(end - first));
            memset(row + end, 0, (size_t)(columns - end));
        }
    }
    for (int64_t last = rows - 1; last < lines; last += rows) {
        int64_t first = span_first(rows - 1, shape), end = span_end(rows - 1, shape);
        memset(to + last * columns, 0, (size_t)first);
        memset(to + last * columns + end, 0, (size_t)(columns - end));
    }
    return NULL;
}
