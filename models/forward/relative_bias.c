/* Learned biases by distance: buckets with what transformers takes on its way to them, and the mask that they become.
 * The tensors in between are taken and not written: one operation of ours makes the buckets. */
#include "models/forward/relative_bias.h"

/* next takes the place of a tensor that goes. */
static struct value *passing_next(struct tape *tape, struct value *before, enum dtype dtype, const int64_t *size)
{
    struct value *next = tensor_passing(tape, dtype, 2, size);
    tape_drop(tape, before);
    return next;
}

static struct value *buckets_read(const struct forward *f, const struct bias_span *span)
{
    struct bucket_span buckets = {.rows = span->rows,
                                  .columns = span->columns,
                                  .first = span->first,
                                  .count = f->config->position_buckets,
                                  .farthest = f->config->farthest_position,
                                  .both = span->both};
    return tape_position_buckets(f->tape, &buckets);
}

/* Distances, in both directions with the half of the buckets that each is in: *buckets. */
static struct value *distances_of(const struct forward *f, const struct bias_span *span, const int64_t *size,
                                  struct value **buckets)
{
    struct tape *tape = f->tape;
    if (!span->both) {
        struct value *zeros = tensor_passing(tape, DTYPE_INT64, 2, size);
        struct value *least = passing_next(tape, zeros, DTYPE_INT64, size);
        return passing_next(tape, least, DTYPE_INT64, size);
    }
    struct value *later = tensor_passing(tape, DTYPE_BOOL, 2, size);
    struct value *half = passing_next(tape, later, DTYPE_INT64, size);
    half = passing_next(tape, half, DTYPE_INT64, size);
    *buckets = buckets_read(f, span);
    tape_drop(tape, half);
    return tensor_passing(tape, DTYPE_INT64, 2, size);
}

/* _relative_position_bucket */
static struct value *buckets_make(const struct forward *f, const struct bias_span *span)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t size[] = {span->rows, span->columns};
    struct value *buckets = NULL;
    struct value *distances = distances_of(f, span, size, &buckets);
    struct value *near = tensor_passing(tape, DTYPE_BOOL, 2, size);
    struct value *far = tensor_passing(tape, DTYPE_FLOAT32, 2, size);
    for (int i = 0; i < 4; i++) { /* quotient, logarithm, quotient, product */
        far = passing_next(tape, far, DTYPE_FLOAT32, size);
    }
    far = passing_next(tape, far, DTYPE_INT64, size);
    far = passing_next(tape, far, DTYPE_INT64, size);
    struct value *full = tensor_passing(tape, DTYPE_INT64, 2, size);
    struct value *least = tensor_passing(tape, DTYPE_INT64, 2, size);
    tape_drop(tape, full);
    tape_drop(tape, far);
    struct value *chosen = tensor_passing(tape, DTYPE_INT64, 2, size);
    buckets = span->both ? buckets : buckets_read(f, span);
    tape_drop(tape, chosen);
    tape_drop(tape, distances);
    tape_drop(tape, near);
    tape_drop(tape, least);
    return tape_frame_close(tape, frame, buckets);
}

struct value *relative_bias_make(const struct forward *f, const char *path, const struct bias_span *span)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t distances[] = {span->rows, span->columns};
    struct value *counted = tensor_passing(tape, DTYPE_INT64, 1, &span->rows);
    tensor_passing(tape, DTYPE_INT64, 1, &span->rows);
    tape_drop(tape, counted);
    tensor_passing(tape, DTYPE_INT64, 1, &span->columns);
    tensor_passing(tape, DTYPE_INT64, 2, distances);
    struct value *buckets = buckets_make(f, span);
    struct value *values = forward_embedding(f, path, buckets, -1);
    if (values == NULL) {
        return tape_frame_close(tape, frame, NULL);
    }
    int64_t size[] = {1, value_size(values, 2), span->rows, span->columns};
    struct value *turned = tape_transpose(tape, tape_transpose(tape, values, 1, 2), 0, 1);
    return tape_frame_close(tape, frame, tape_reshape(tape, turned, 4, size));
}

/* Two ranges, and where a row is not before a column. */
static struct value *order_make(struct tape *tape, int64_t rows, int64_t columns)
{
    int frame = tape_frame_open(tape);
    struct mask_span span = {.batch = 1, .rows = rows, .columns = columns};
    tensor_passing(tape, DTYPE_INT64, 1, &rows);
    tensor_passing(tape, DTYPE_INT64, 1, &columns);
    return tape_frame_close(tape, frame, tape_window_mask(tape, NULL, &span));
}

struct value *relative_bias_mask(const struct forward *f, struct value *bias, struct value *mask, bool causal)
{
    struct tape *tape = f->tape;
    if (bias == NULL) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *joined = bias;
    if (mask == NULL && causal) {
        mask = order_make(tape, value_size(bias, 2), value_size(bias, 3));
    }
    if (mask != NULL) {
        bool is_bool = value_dtype(mask) == DTYPE_BOOL;
        joined = is_bool ? tape_where_lowest(tape, mask, bias) : tape_add(tape, bias, mask);
    }
    return tape_frame_close(tape, frame, tape_contiguous(tape, joined));
}
