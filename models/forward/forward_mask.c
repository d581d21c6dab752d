/* Masks: what transformers' masking_utils makes of a padded batch, and takes while it makes it; the eager form's causal
 * mask. The small tensors in between are taken and not written: one operation of ours makes the mask. */
#include "models/forward/forward.h"

enum { INTEGER_BYTES = 8 };

struct value *tensor_passing(struct tape *tape, enum dtype dtype, int rank, const int64_t *size)
{
    return tape_leaf(tape, CATEGORY_TEMPORARIES, dtype, rank, size, false, "mask");
}

static struct value *scalar_of(struct tape *tape, enum dtype dtype)
{
    int64_t none = 0;
    return tensor_passing(tape, dtype, 0, &none);
}

/* "Is every token attended to?": a sum and a comparison for decoders, asked twice; one all() for encoders. A GPU sums
 * a copy of the tokens as int64. */
static void question_ask(struct tape *tape, bool causal, int64_t tokens)
{
    for (int i = 0; i < (causal ? 2 : 1); i++) {
        struct value *sum = causal ? scalar_of(tape, DTYPE_INT64) : NULL;
        if (causal) {
            tape_drop(tape, tape_scratch(tape, tokens * INTEGER_BYTES, "summands, as int64"));
        }
        struct value *answer = scalar_of(tape, DTYPE_BOOL);
        tape_drop(tape, sum);
        tape_drop(tape, answer);
    }
}

struct value *running_sum_passing(struct tape *tape, int rank, const int64_t *size)
{
    struct value *sum = tensor_passing(tape, DTYPE_INT64, rank, size);
    struct value *summands =
        tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, rank, size, false, "summands, as int64");
    if (rank == 1 || (rank == 2 && size[0] == 1)) {
        tape_scan_pass(tape, size[rank - 1]);
    }
    tape_drop(tape, summands);
    return sum;
}

void forward_packing_ask(const struct forward *f, struct value *like)
{
    if (like == NULL || f->seen != NULL || f->cache != NULL || forward_has(f, RELEASE_PACKING_UNASKED)) {
        return;
    }
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t batch = value_size(like, 0), rows = value_size(like, 1);
    int64_t joined[] = {batch, rows + 1}, thin[] = {batch, rows};
    tensor_passing(tape, DTYPE_INT64, 1, &batch);
    struct value *before = tensor_passing(tape, DTYPE_INT64, 2, joined);
    tensor_passing(tape, DTYPE_INT64, 2, thin);
    tape_drop(tape, before);
    struct value *jumps = tensor_passing(tape, DTYPE_BOOL, 2, thin);
    running_sum_passing(tape, 2, thin);
    tape_drop(tape, jumps);
    struct value *last = tensor_passing(tape, DTYPE_BOOL, 1, &batch);
    struct value *answer = scalar_of(tape, DTYPE_BOOL);
    tape_drop(tape, last);
    tape_drop(tape, answer);
    tape_frame_close(tape, frame, NULL);
}

/* arange() with its offset added: two tensors, of which the second stays. */
static struct value *positions_of(struct tape *tape, int64_t rows)
{
    struct value *counted = tensor_passing(tape, DTYPE_INT64, 1, &rows);
    struct value *moved = tensor_passing(tape, DTYPE_INT64, 1, &rows);
    tape_drop(tape, counted);
    return moved;
}

/* result & function(...): what a function of rows and columns says, and the two together, which stays. */
static struct value *function_join(struct tape *tape, struct value *result, const int64_t *square)
{
    struct value *said = tensor_passing(tape, DTYPE_BOOL, 2, square);
    struct value *both = tensor_passing(tape, DTYPE_BOOL, 2, square);
    tape_drop(tape, said);
    tape_drop(tape, result);
    return both;
}

/* sliding_window_overlay beside `result`: columns against rows less the window, which is taken for the comparison. */
static struct value *window_join(struct tape *tape, struct value *result, const int64_t *square)
{
    struct value *earliest = tensor_passing(tape, DTYPE_INT64, 1, &square[0]);
    struct value *said = tensor_passing(tape, DTYPE_BOOL, 2, square);
    tape_drop(tape, earliest);
    struct value *both = tensor_passing(tape, DTYPE_BOOL, 2, square);
    tape_drop(tape, said);
    tape_drop(tape, result);
    return both;
}

/* padding_mask[batch_idx, kv_idx]. A GPU's kernel wants indices of the same strides: where one counts rows and one
 * columns, it copies those that do not fill the result by themselves. */
static struct value *padding_look(struct tape *tape, const int64_t size[2])
{
    int64_t bytes = size[0] * size[1] * INTEGER_BYTES;
    struct value *rows = size[1] > 1 ? tape_scratch(tape, bytes, "indices, copied") : NULL;
    struct value *columns = size[0] > 1 ? tape_scratch(tape, bytes, "indices, copied") : NULL;
    struct value *padding = tensor_passing(tape, DTYPE_BOOL, 2, size);
    tape_drop(tape, rows);
    tape_drop(tape, columns);
    return padding;
}

/* The mask functions joined by "and", over broadcast indices: pairs of rows and columns where it is causal, else
 * rows. */
static struct value *mask_make(const struct forward *f, bool causal)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t batch = value_size(f->seen, 0), rows = value_size(f->seen, 1), one = 1;
    int64_t square[] = {rows, rows}, thin[] = {batch, rows};
    tensor_passing(tape, DTYPE_INT64, 1, &batch);
    tensor_passing(tape, DTYPE_INT64, 1, &one);
    positions_of(tape, rows);
    positions_of(tape, rows);
    struct value *start = scalar_of(tape, DTYPE_BOOL);
    struct value *order = tensor_passing(tape, DTYPE_BOOL, causal ? 2 : 1, square);
    struct value *both = tensor_passing(tape, DTYPE_BOOL, causal ? 2 : 1, square);
    tape_drop(tape, order);
    tape_drop(tape, start);
    struct value *padding = padding_look(tape, thin);
    struct value *mask = tape_attention_mask(tape, f->seen, causal);
    tape_drop(tape, padding);
    tape_drop(tape, both);
    return tape_frame_close(tape, frame, mask);
}

/* The four ranges of indices. */
static void ranges_take(struct tape *tape, const struct mask_span *span)
{
    int64_t one = 1;
    tensor_passing(tape, DTYPE_INT64, 1, &span->batch);
    tensor_passing(tape, DTYPE_INT64, 1, &one);
    positions_of(tape, span->rows);
    positions_of(tape, span->columns);
}

/* eager_mask of causal_mask_function, unpadded: over what is cached and the new rows. Which columns a row may see is
 * told as booleans for all items at once, of which where() makes numbers with two scalars. */
static struct value *causal_mask_make(const struct forward *f, struct value *like)
{
    if (f->mask != NULL) {
        return f->mask;
    }
    struct tape *tape = f->tape;
    struct mask_span span = {.batch = value_size(like, 0), .rows = value_size(like, 1)};
    span.columns = span.rows + (f->cache != NULL ? f->cache->length : 0);
    int64_t square[] = {span.rows, span.columns};
    int frame = tape_frame_open(tape), ranges = tape_frame_open(tape);
    ranges_take(tape, &span);
    tape_frame_close(tape, ranges, tensor_passing(tape, DTYPE_BOOL, 2, square));
    scalar_of(tape, value_dtype(like));
    scalar_of(tape, value_dtype(like));
    struct value *mask = tape_causal_mask(tape, value_dtype(like), span.batch, span.rows, span.columns);
    return tape_frame_close(tape, frame, mask);
}

/* asks: whether all tokens are seen, and so no mask is needed. */
static struct value *padded_mask(const struct forward *f, struct value *like, bool causal, bool asks)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(like, 0), value_size(like, 1)};
    struct value *seen = tensor_passing(tape, DTYPE_BOOL, 2, size);
    if (asks) {
        question_ask(tape, causal, size[0] * size[1]);
    }
    struct value *mask = mask_make(f, causal);
    if (f->workload->attention != ATTENTION_SDPA) {
        value_rebind(tape, &mask, tape_mask_numbers(tape, mask, value_dtype(like)));
    }
    tape_drop(tape, seen);
    return tape_frame_close(tape, frame, mask);
}

struct value *forward_mask(const struct forward *f, struct value *like, bool causal)
{
    enum attention attention = f->workload->attention;
    if (like == NULL) {
        return NULL;
    }
    if (f->seen == NULL) {
        return causal && attention == ATTENTION_EAGER ? causal_mask_make(f, like) : NULL;
    }
    return padded_mask(f, like, causal, !causal || attention != ATTENTION_EAGER);
}

/* How many keys a layer with a window sees and where they begin: what its cache holds, and the new ones. Where the
 * window is 0, which no layer has, it is the mask of all (config->masks_windows). */
static struct mask_span span_of(const struct forward *f, struct value *like)
{
    const struct key_value_cache *cache = f->cache;
    struct mask_span span = {
        .batch = value_size(like, 0), .rows = value_size(like, 1), .window = f->config->sliding_window};
    int64_t kept = cache != NULL ? cache_window_kept(cache) : 0;
    span.columns = kept + span.rows;
    span.first = kept;
    return span;
}

/* sliding_window_causal_mask_function without padding: the mask of one item stands for all. */
static struct value *window_mask_make(const struct forward *f, const struct mask_span *span)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct mask_span one = *span;
    int64_t square[] = {span->rows, span->columns}, wide[] = {span->batch, 1, span->rows, span->columns};
    ranges_take(tape, span);
    struct value *window = window_join(tape, scalar_of(tape, DTYPE_BOOL), square);
    struct value *causal = tensor_passing(tape, DTYPE_BOOL, 2, square);
    one.batch = 1;
    struct value *mask = tape_window_mask(tape, NULL, &one);
    tape_drop(tape, causal);
    tape_drop(tape, window);
    return tape_frame_close(tape, frame, tape_expand(tape, mask, 4, wide));
}

/* The same and that of the padding. */
static struct value *padded_window_mask_make(const struct forward *f, const struct mask_span *span)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t square[] = {span->rows, span->columns}, thin[] = {span->batch, span->columns};
    ranges_take(tape, span);
    struct value *outer = scalar_of(tape, DTYPE_BOOL);
    struct value *inner = window_join(tape, scalar_of(tape, DTYPE_BOOL), square);
    inner = function_join(tape, inner, square);
    struct value *both = tensor_passing(tape, DTYPE_BOOL, 2, square);
    tape_drop(tape, inner);
    tape_drop(tape, outer);
    struct value *padding = padding_look(tape, thin);
    struct value *mask = tape_window_mask(tape, f->seen, span);
    tape_drop(tape, padding);
    tape_drop(tape, both);
    return tape_frame_close(tape, frame, mask);
}

/* Booleans without padding, which generate() does not tell of where there is none: the mask of one item stands for
 * all. */
static struct value *whole_mask_make(const struct forward *f, const struct mask_span *span)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct mask_span one = *span;
    int64_t wide[] = {span->batch, 1, span->rows, span->columns};
    one.batch = 1;
    ranges_take(tape, span);
    return tape_frame_close(tape, frame, tape_expand(tape, tape_window_mask(tape, NULL, &one), 4, wide));
}

struct value *forward_mask_always(const struct forward *f, struct value *like)
{
    if (like == NULL) {
        return NULL;
    }
    if (f->mask != NULL) {
        return f->mask;
    }
    if (f->seen != NULL) {
        return padded_mask(f, like, true, false);
    }
    if (f->workload->attention != ATTENTION_SDPA) {
        return causal_mask_make(f, like);
    }
    int64_t cached = f->cache != NULL ? f->cache->length : 0;
    struct mask_span span = {.batch = value_size(like, 0), .rows = value_size(like, 1), .first = cached};
    bool is_static = f->cache != NULL && f->cache->kind == CACHE_STATIC;
    span.columns = is_static ? f->cache->capacity : cached + span.rows;
    span.window = span.columns;
    return whole_mask_make(f, &span);
}

struct value *forward_window_mask(const struct forward *f, struct value *like)
{
    struct tape *tape = f->tape;
    enum attention attention = f->workload->attention;
    if (like == NULL) {
        return NULL;
    }
    if (f->mask != NULL) {
        return f->mask;
    }
    struct mask_span span = span_of(f, like);
    bool skips = attention != ATTENTION_EAGER && span.columns < span.window;
    if (f->seen == NULL && skips) {
        return NULL;
    }
    if (f->seen != NULL && skips) { /* the window hides nothing */
        return forward_mask(f, like, true);
    }
    int frame = tape_frame_open(tape);
    bool padded = f->seen != NULL; /* generate() drops a mask of ones */
    int64_t size[] = {span.batch, span.columns};
    struct value *seen = padded ? tensor_passing(tape, DTYPE_BOOL, 2, size) : NULL;
    struct value *mask = padded ? padded_window_mask_make(f, &span) : window_mask_make(f, &span);
    if (attention != ATTENTION_SDPA) {
        value_rebind(tape, &mask, tape_mask_numbers(tape, mask, value_dtype(like)));
    }
    tape_drop(tape, seen);
    return tape_frame_close(tape, frame, mask);
}
