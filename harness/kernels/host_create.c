/* Operations that only write: fills, random numbers, sequences and masks, on the host. */
#include <string.h>

#include "harness/kernels/body_create.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_walk.h"

/* The value in the dtype of the tensor, side by side as often as it goes into a vector. */
enum { PATTERN_BYTES = 64 };

struct fill_job {
    const struct tensor *out;
    char pattern[PATTERN_BYTES];
};

static void fill_pattern(char pattern[PATTERN_BYTES], enum dtype dtype, double value)
{
    int64_t integer = (int64_t)value;
    int bytes = dtype_bytes(dtype);
    for (int k = 0; k < PATTERN_BYTES / bytes; k++) {
        if (dtype == DTYPE_INT64) {
            memcpy(pattern + k * bytes, &integer, sizeof integer);
        } else {
            float_store(pattern, dtype, k, (float)value);
        }
    }
}

static void fill_piece(void *context, const struct walk *walk, const struct walk_piece *piece)
{
    const struct fill_job *job = context;
    int64_t bytes = dtype_bytes(job->out->dtype);
    int64_t step = walk_step(walk, 0) * bytes;
    char *to = tensor_at(job->out, piece->offset[0]);
    int64_t k = 0;
    for (; step == bytes && k + PATTERN_BYTES / bytes <= piece->count; k += PATTERN_BYTES / bytes) {
        memcpy(to + k * bytes, job->pattern, PATTERN_BYTES);
    }
    for (; k < piece->count; k++) {
        memcpy(to + k * step, job->pattern, (size_t)bytes);
    }
}

const char *host_fill(const struct operation_call *call)
{
    struct fill_job job = {.out = &call->tensors[0]};
    struct walk walk = walk_of_call(call);
    fill_pattern(job.pattern, job.out->dtype, call->attributes.f[0]);
    host_walk_run(&walk, fill_piece, &job);
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
        out[k] = sequence_element(k, rows.columns, call->attributes.i[0]);
    }
    return NULL;
}

HOST_CLONES
static void floats_fill(float *to, float value, int64_t count)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        to[k] = value;
    }
}

/* A row of a causal mask: 0 up to the last column that may be seen, what is masked after it. */
static void causal_row(const struct tensor *out, int64_t row, struct mask_shape shape)
{
    int64_t seen = row % shape.rows + shape.offset + 1;
    seen = seen < 0 ? 0 : seen > shape.columns ? shape.columns : seen;
    for (int64_t column = 0; column < shape.columns; column += SPAN_ELEMENTS) {
        float scratch[SPAN_ELEMENTS];
        int64_t count = shape.columns - column < SPAN_ELEMENTS ? shape.columns - column : SPAN_ELEMENTS;
        struct span to = span_target(out, row * shape.columns + column, 1, scratch);
        int64_t zeros = seen < column ? 0 : seen - column < count ? seen - column : count;
        floats_fill(to.data, 0.0f, zeros);
        floats_fill(to.data + zeros, shape.lowest, count - zeros);
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

/* A row of an attention mask; `seen` columns at most. */
HOST_CLONES
static void attention_row(const int64_t *tokens, int64_t seen, int64_t columns, unsigned char *to)
{
    BODY_SIMD()
    for (int64_t k = 0; k < columns; k++) {
        to[k] = k < seen && tokens[k] != 0;
    }
}

const char *host_attention_mask(const struct operation_call *call)
{
    const struct tensor *out = &call->tensors[1];
    const int64_t *tokens = call->tensors[0].data;
    unsigned char *to = out->data;
    int64_t count = tensor_element_count(out), rows = out->size[2], columns = out->size[3];
    int64_t lines = columns > 0 ? count / columns : 0;
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int64_t line = 0; line < lines; line++) {
        int64_t seen = line % rows + call->attributes.i[0] + 1;
        attention_row(tokens + line / rows * columns, seen, columns, to + line * columns);
    }
    return NULL;
}
