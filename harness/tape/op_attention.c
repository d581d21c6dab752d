/* Scaled dot product attention: what each backend keeps and takes. One kernel of ours computes all of them but math,
 * which op_attention_math.c composes; the eager form is made of products and a softmax by the model itself. */
#include "harness/base/size.h"
#include "harness/tape/flash_splits.h"
#include "harness/tape/graph.h"

enum { SAVED_QUERY, SAVED_KEY, SAVED_VALUE, SAVED_OUT, SAVED_LSE, SAVED_MASK, SAVED_STATE, SAVED_STATE_SECOND };

enum { CUDNN_WORKSPACE_BYTES = 256 };

static int64_t rounded(int64_t value, int64_t step)
{
    int64_t result = value;
    size_round_up(value, step, &result);
    return result;
}

/* [B, a, S, D] stored as [B, S, a, D]. */
static struct value *heads_new(struct tape *tape, enum dtype dtype, const struct shape *shape, const char *label)
{
    struct shape stored = {.rank = 4, .size = {shape->size[0], shape->size[2], shape->size[1], shape->size[3]}};
    struct value *value = value_new(tape, dtype, &stored, label);
    if (value != NULL) {
        int64_t over_rows = value->stride[1];
        value->stride[1] = value->stride[2];
        value->stride[2] = over_rows;
        value->shape = *shape;
    }
    return value;
}

/* -- scratch of the backward kernels, besides their results: it lives until the kernel has run */

/* mha_bwd: row sums and a dq accumulator, rounded; gradients of expanded keys and values if heads share them. */
static void scratch_take_flash(struct tape *tape, const struct value *q, const struct value *k)
{
    int64_t batch = q->shape.size[0], heads = q->shape.size[1], rows = rounded(q->shape.size[2], 128);
    struct shape sums = {.rank = 3, .size = {batch, heads, rows}};
    struct shape accumulator = {.rank = 4, .size = {batch, heads, rows, rounded(q->shape.size[3], 32)}};
    scratch_new(tape, DTYPE_FLOAT32, &sums, "attention row sums");
    scratch_new(tape, DTYPE_FLOAT32, &accumulator, "attention query accumulator");
    if (k->shape.size[1] < heads) {
        struct shape expanded = k->shape;
        expanded.size[1] = heads;
        scratch_new(tape, q->dtype, &expanded, "attention expanded key gradient");
        scratch_new(tape, q->dtype, &expanded, "attention expanded value gradient");
    }
}

/* One workspace: 256 bytes, a float32 accumulator of dq with row sums, and where heads share keys the gradients of
 * expanded keys and values. Measured with cuDNN 9.19 on sm_90 (results/reference, `attention` lines of probe.jsonl): 2
 * x 12 heads, 512 rows, width 64 take 4 * 24 * 512 * 65 + 256 = 3,195,136 bytes; 2 x 32 heads on 2 x 8 take 4 * 64 *
 * 512 * 65 + 256 + 2 * 2 * 64 * 512 * 64 = 16,908,544. */
static void scratch_take_cudnn(struct tape *tape, const struct value *q, const struct value *k, const struct value *v)
{
    int64_t batch = q->shape.size[0], heads = q->shape.size[1];
    int64_t bytes = CUDNN_WORKSPACE_BYTES + 4 * batch * heads * q->shape.size[2] * (q->shape.size[3] + 1);
    if (k->shape.size[1] < heads) {
        int64_t widths = k->shape.size[3] + v->shape.size[3];
        bytes += dtype_bytes(k->dtype) * batch * heads * k->shape.size[2] * widths;
    }
    scratch_bytes_new(tape, bytes, "attention workspace");
}

/* Row sums of grad * out, then a tile of dq with its lock (16 bytes) for each block of rows and columns. float32 makes
 * the sums with plain operations: the product, its sum, and a copy of that in the kernel's order.
 * A history recorded on a GPU (batch * heads 32, 1,000 rows, width 64, float32) shows 8,192,000, 128,000 and 128,000
 * bytes, and 32 * 16 * (16 + 4 * 64 * 64) = 8,396,800 of tiles; wider tiles are those of the kernels' list in
 * cutlassB.h. */
static void scratch_take_efficient(struct tape *tape, const struct value *q, const struct value *out)
{
    int64_t batch = q->shape.size[0], heads = q->shape.size[1], rows = q->shape.size[2], width = q->shape.size[3];
    struct shape sums = {.rank = 3, .size = {batch, heads, rows}};
    if (q->dtype == DTYPE_FLOAT32) {
        struct value *product = scratch_new(tape, DTYPE_FLOAT32, &out->shape, "attention gradient by output");
        struct value *unordered = scratch_new(tape, DTYPE_FLOAT32, &sums, "attention row sums");
        if (rows > 1 && heads > 1) { /* otherwise both orders are one */
            scratch_new(tape, DTYPE_FLOAT32, &sums, "attention row sums");
            tape_drop(tape, unordered);
        }
        tape_drop(tape, product);
    } else {
        scratch_new(tape, DTYPE_FLOAT32, &sums, "attention row sums");
    }
    int64_t tile_rows = width <= 64 ? 64 : 128;
    int64_t tile_columns = width <= 64 || q->dtype == DTYPE_FLOAT32 ? 64 : 128;
    int64_t tile_bytes = 16 + 4 * tile_rows * tile_columns;
    struct shape tiles = {.rank = 4,
                          .size = {batch * heads, rounded(rows, tile_rows) / tile_rows,
                                   rounded(width, tile_columns) / tile_columns, tile_bytes}};
    scratch_new(tape, DTYPE_UINT8, &tiles, "attention tiles of the query gradient");
}

static void scratch_take(struct tape *tape, enum attention_backend backend, const struct value *q,
                         const struct value *k, const struct value *v, const struct value *out)
{
    if (backend == ATTENTION_BACKEND_FLASH) {
        scratch_take_flash(tape, q, k);
    } else if (backend == ATTENTION_BACKEND_CUDNN) {
        scratch_take_cudnn(tape, q, k, v);
    } else if (backend == ATTENTION_BACKEND_EFFICIENT) {
        scratch_take_efficient(tape, q, out);
    }
}

/* The gradient of a mask that learns: one for every score, in rows that are filled up to multiples of 16 elements. */
static struct value *mask_gradient(struct tape *tape, struct value **values,
                                   const struct operation_attributes *attributes)
{
    struct shape shape = values[6]->shape;
    shape.size[3] = rounded(shape.size[3], 16);
    struct value *whole = value_new(tape, values[6]->dtype, &shape, "attention mask gradient");
    struct value *slope = tape_slice(tape, whole, 3, 0, values[6]->shape.size[3]);
    values[7] = slope;
    tape_run(tape, OPCODE_ATTENTION_BIAS_GRADIENT, attributes, 7, 8, values);
    tape_drop(tape, whole);
    return slope;
}

/* cuDNN's and flash's take empty_like of the input: one that lies heads first, as keys and values of a cache do, has a
 * gradient that lies so, which the view of the projection then copies. The others are stored rows first. */
static struct value *slope_new(struct tape *tape, enum attention_backend backend, const struct value *input,
                               const char *label)
{
    bool follows = backend == ATTENTION_BACKEND_CUDNN || backend == ATTENTION_BACKEND_FLASH;
    bool is_heads_first = input->stride[1] > input->stride[2];
    return (follows && is_heads_first ? value_new : heads_new)(tape, input->dtype, &input->shape, label);
}

/* attributes: those of the operation, and i[2] the backend. */
static void attention_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *q = node->saved[SAVED_QUERY], *k = node->saved[SAVED_KEY], *v = node->saved[SAVED_VALUE];
    struct value *mask = node->saved[SAVED_MASK];
    enum attention_backend backend = (enum attention_backend)node->attributes.i[2];
    struct value *slopes[3] = {slope_new(tape, backend, q, "attention query gradient"),
                               slope_new(tape, backend, k, "attention key gradient"),
                               slope_new(tape, backend, v, "attention value gradient")};
    struct value *values[10] = {out[0], q, k, v, node->saved[SAVED_OUT], node->saved[SAVED_LSE]};
    int count = 6;
    if (mask != NULL) {
        values[count++] = mask;
    }
    struct operation_attributes attributes = node->attributes;
    attributes.i[2] = 0;
    in[3] = node_wants(node, 3) ? mask_gradient(tape, values, &attributes) : NULL;
    scratch_take(tape, backend, q, k, v, out[0]);
    for (int i = 0; i < 3; i++) {
        values[count + i] = slopes[i];
        in[i] = node_wants(node, i) ? slopes[i] : NULL;
    }
    tape_run(tape, OPCODE_ATTENTION_BACKWARD, &attributes, count, count + 3, values);
}

/* -- masks */

/* Two scalars and where(); the lowest finite number stands for minus infinity. */
struct value *tape_mask_numbers(struct tape *tape, struct value *mask, enum dtype dtype)
{
    if (mask == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape scalar = {.rank = 0};
    struct value *zero = value_new(tape, dtype, &scalar, "attention mask value");
    struct value *lowest = value_new(tape, dtype, &scalar, "attention mask value");
    struct value *result = value_new(tape, dtype, &mask->shape, "attention mask");
    struct value *copied[] = {mask, result}, *changed[] = {result, result};
    struct operation_attributes attributes = attributes_f(-dtype_lowest(dtype), dtype_lowest(dtype));
    tape_run(tape, OPCODE_COPY, NULL, 1, 2, copied);
    tape_run(tape, OPCODE_AFFINE, &attributes, 1, 2, changed);
    tape_drop(tape, lowest);
    tape_drop(tape, zero);
    return result;
}

/* The memory-efficient kernel wants rows of a mask to begin at multiples of 8 elements (pad_bias). */
static struct value *mask_align(struct tape *tape, struct value *mask)
{
    int64_t columns = mask->shape.size[3];
    size_step_note(tape, 8);
    if (mask->requires_grad && columns % 8 != 0) {
        return tape_slice(tape, tape_pad_last(tape, mask, rounded(columns, 8) - columns), 3, 0, columns);
    }
    struct shape padded = mask->shape;
    padded.size[3] = rounded(padded.size[3], 8);
    if (shape_equal(&padded, &mask->shape)) {
        return mask;
    }
    struct value *whole = value_new(tape, mask->dtype, &padded, "attention mask, padded");
    tape_fill(tape, whole, 0.0);
    struct value *view = value_alias(tape, whole);
    if (view != NULL) {
        view->shape = mask->shape;
        tape_copy_into(tape, mask, view);
    }
    tape_drop(tape, whole);
    return view;
}

/* -- the call */

static void backend_note(struct tape *tape, enum attention_backend backend)
{
    if (tape->attention_backend == ATTENTION_BACKEND_NONE) {
        tape->attention_backend = backend;
    } else if (tape->attention_backend != backend) {
        tape->attention_backend = ATTENTION_BACKEND_SEVERAL;
    }
}

/* Whether a gradient of q, k or v is wanted, the mask's not counted: should_compute_logsumexp of PyTorch. */
static bool gradients_wanted(const struct tape *tape, struct value *const *inputs)
{
    return tape->gradients && (inputs[0]->requires_grad || inputs[1]->requires_grad || inputs[2]->requires_grad);
}

static enum attention_backend backend_choose(const struct tape *tape, struct value *const *inputs,
                                             const struct attention_settings *settings)
{
    const struct shape *q = &inputs[0]->shape, *k = &inputs[1]->shape;
    struct attention_case attention = {.dtype = inputs[0]->dtype,
                                       .heads = q->size[1],
                                       .groups = k->size[1],
                                       .width = q->size[3],
                                       .value_width = inputs[2]->shape.size[3],
                                       .rows = q->size[2],
                                       .columns = k->size[2],
                                       .masked = settings->mask != NULL,
                                       .causal = settings->causal,
                                       .broadcast = settings->broadcast,
                                       .dropped = tape->training && settings->dropout > 0.0};
    attention.without_cudnn = tape->torch.cudnn_attention_last;
    attention.mask_learns = attention.masked && tape->gradients && settings->mask->requires_grad;
    attention.gradients = gradients_wanted(tape, inputs);
    return attention_backend_of(settings->native ? 0 : tape->target->capability, &attention);
}

/* The random state that a kernel keeps on the device, with dropout or without: cuDNN's seed and offset, made before the
 * output; flash's pair and an unused number, after it. */
static void state_take(struct tape *tape, enum attention_backend backend, struct value *state[2])
{
    struct shape single = {.rank = 0}, pair = {.rank = 1, .size = {2}};
    state[0] = value_new(tape, DTYPE_INT64, backend == ATTENTION_BACKEND_FLASH ? &pair : &single, "attention seed");
    state[1] = value_new(tape, DTYPE_INT64, &single, "attention offset");
}

/* The log-sum-exp of each row: the memory-efficient kernel rounds rows up to 32. It and cuDNN's make none if no
 * gradient is wanted, in inference and in the first run of a recomputed block; flash always does.
 * Histories of an H100: gpt2 infer bfloat16, batch 8, 512 tokens, takes 8, 8 and 6,291,456 bytes in a layer, and not
 * 4 * 8 * 12 * 512 = 196,608 more, which the same call takes in training. */
static struct value *lse_take(struct tape *tape, enum attention_backend backend, struct value *const *inputs)
{
    const struct shape *q = &inputs[0]->shape;
    struct shape rows = {.rank = 3, .size = {q->size[0], q->size[1], q->size[2]}};
    bool asks = backend == ATTENTION_BACKEND_EFFICIENT || backend == ATTENTION_BACKEND_CUDNN;
    if (asks && !gradients_wanted(tape, inputs)) {
        rows.size[2] = 0;
    } else if (backend == ATTENTION_BACKEND_EFFICIENT) {
        rows.size[2] = rounded(rows.size[2], 32);
    }
    return value_new(tape, DTYPE_FLOAT32, &rows, "ATTENTION log-sum-exp");
}

/* What the blocks that share a row's columns write, for a second kernel: none if a block reads them all. Returns how
 * many. */
static int splits_take(struct tape *tape, enum attention_backend backend, struct value *const *inputs, bool dropped,
                       struct value *scratch[2])
{
    const struct shape *q = &inputs[0]->shape, *k = &inputs[1]->shape;
    if (backend != ATTENTION_BACKEND_FLASH || dropped || tape->torch.flash_undivided) {
        return 0;
    }
    struct flash_call call = {q->size[0], q->size[1], k->size[1], q->size[2], k->size[2], q->size[3]};
    struct flash_splits splits =
        flash_splits_of(tape->target->multiprocessor_count, tape->torch.flash_counts_once, &call);
    size_limit_note(tape, k->size[2], splits.columns_alike);
    if (splits.parts == 1) {
        return 0;
    }
    struct shape parts = {.rank = 5, .size = {splits.parts, q->size[0], splits.heads, splits.rows, splits.width}};
    struct shape sums = {.rank = 4, .size = {splits.parts, q->size[0], splits.heads, splits.rows}};
    scratch[0] = scratch_new(tape, DTYPE_FLOAT32, &sums, "attention parts, log-sum-exp");
    scratch[1] = scratch_new(tape, DTYPE_FLOAT32, &parts, "attention parts");
    return 2;
}

/* inputs: q, k, v and mask, or NULL. */
static struct value *attention_fused(struct tape *tape, enum attention_backend backend, struct value **inputs,
                                     const struct attention_settings *settings)
{
    struct value *mask = inputs[3];
    struct shape made = inputs[0]->shape;
    made.size[3] = inputs[2]->shape.size[3];
    struct value *state[2] = {NULL, NULL};
    if (backend == ATTENTION_BACKEND_CUDNN) {
        state_take(tape, backend, state);
    }
    bool follows = settings->heads_first && !settings->native && backend != ATTENTION_BACKEND_EFFICIENT;
    struct value *result = (follows ? value_new : heads_new)(tape, inputs[0]->dtype, &made, "ATTENTION");
    struct value *lse = lse_take(tape, backend, inputs);
    double dropout = tape->training ? settings->dropout : 0.0;
    struct value *parts[2] = {NULL, NULL};
    int part_count = splits_take(tape, backend, inputs, dropout > 0.0, parts);
    if (backend == ATTENTION_BACKEND_FLASH) {
        state_take(tape, backend, state);
    }
    struct operation_attributes attributes = {.f = {settings->scale, dropout},
                                              .i = {settings->causal ? 1 : 0, ++tape->seed}};
    int input_count = mask != NULL ? 4 : 3 + part_count; /* flash attention takes no mask */
    struct value *values[7] = {inputs[0], inputs[1], inputs[2], mask != NULL ? mask : parts[0], parts[1]};
    values[input_count] = result;
    values[input_count + 1] = lse;
    /* 256 bytes in all 95 calls of probe.py, of any shape, mask and dropout. */
    struct value *workspace = backend == ATTENTION_BACKEND_CUDNN
                                  ? scratch_bytes_new(tape, CUDNN_WORKSPACE_BYTES, "attention workspace")
                                  : NULL;
    tape_run(tape, part_count > 0 ? OPCODE_ATTENTION_IN_PARTS : OPCODE_ATTENTION, &attributes, input_count,
             input_count + 2, values);
    tape_drop(tape, workspace);
    tape_drop(tape, parts[0]);
    tape_drop(tape, parts[1]);
    struct node *node = node_new(tape, attention_backward, mask != NULL ? 4 : 3, inputs, result);
    if (node != NULL) {
        node->attributes = attributes;
        node->attributes.i[2] = backend;
        struct value *saved[] = {inputs[0], inputs[1], inputs[2], result, lse, mask, state[0], state[1]};
        for (int i = 0; i < 8; i++) {
            node_save(tape, node, i, saved[i]);
        }
    }
    return result;
}

/* Flash attention on a width that is no multiple of 8: q, k and v are padded with zeros, the output is cut. */
static struct value *attention_padded(struct tape *tape, struct value **inputs,
                                      const struct attention_settings *settings)
{
    int64_t width = inputs[0]->shape.size[3];
    for (int i = 0; i < 3; i++) {
        inputs[i] = tape_pad_last(tape, inputs[i], rounded(width, 8) - width);
        if (inputs[i] == NULL) {
            return NULL;
        }
    }
    struct value *result = attention_fused(tape, ATTENTION_BACKEND_FLASH, inputs, settings);
    return tape_slice(tape, result, 3, 0, width);
}

/* The mask as the kernel wants it: numbers, in rows that begin where it can read them, of every item and row. One row
 * stands for all if heads were packed into rows, one item if a bias is the same for a batch. */
static void mask_prepare(struct tape *tape, enum attention_backend backend, struct value **inputs)
{
    struct value *mask = inputs[3];
    if (mask != NULL && mask->dtype == DTYPE_BOOL) {
        mask = tape_mask_numbers(tape, mask, inputs[0]->dtype);
    }
    if (mask != NULL && backend == ATTENTION_BACKEND_EFFICIENT) {
        struct value *aligned = mask_align(tape, mask);
        if (aligned != mask && mask != inputs[3]) { /* one that was given stays its giver's */
            tape_drop(tape, mask);
        }
        mask = aligned;
    }
    if (mask != NULL && backend != ATTENTION_BACKEND_MATH) {
        struct shape shape = mask->shape;
        shape.size[0] = inputs[0]->shape.size[0];
        shape.size[2] = inputs[0]->shape.size[2];
        mask = tape_expand(tape, mask, 4, shape.size);
    }
    inputs[3] = mask;
}

struct value *tape_attention(struct tape *tape, struct value *q, struct value *k, struct value *v,
                             const struct attention_settings *settings)
{
    if (q == NULL || k == NULL || v == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *inputs[] = {q, k, v, settings->native ? NULL : settings->mask};
    autocast_lower_all(tape, inputs, 4);
    if (inputs[0] == NULL || inputs[1] == NULL || inputs[2] == NULL) {
        return tape_frame_close(tape, frame, NULL);
    }
    inputs[3] = settings->native ? settings->mask : inputs[3];
    enum attention_backend backend = backend_choose(tape, inputs, settings);
    backend_note(tape, backend);
    mask_prepare(tape, backend, inputs);
    struct value *result = NULL;
    if (backend == ATTENTION_BACKEND_MATH) {
        result = attention_math(tape, inputs, inputs[3], settings);
    } else if (backend == ATTENTION_BACKEND_FLASH && value_size(q, 3) % 8 != 0) {
        result = attention_padded(tape, inputs, settings);
    } else {
        result = attention_fused(tape, backend, inputs, settings);
    }
    return tape_frame_close(tape, frame, result);
}
