/* Scaled dot product attention without its scores: what each backend keeps and takes. The eager form is made of
 * products and a softmax by the model itself. */
#include "harness/base/size.h"
#include "harness/tape/graph.h"

static int64_t rounded(int64_t value, int64_t step)
{
    int64_t result = value;
    size_round_up(value, step, &result);
    return result;
}

static enum attention_backend backend_for(const struct tape *tape, enum dtype dtype)
{
    return dtype == DTYPE_FLOAT32 ? tape->target->attention_32bit : tape->target->attention_16bit;
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

/* What the backward kernel of each backend takes besides its results; it lives until the kernel has run. */
static void scratch_take(struct tape *tape, const struct value *q)
{
    int64_t batch = q->shape.size[0], heads = q->shape.size[1], rows = q->shape.size[2], width = q->shape.size[3];
    enum attention_backend backend = backend_for(tape, q->dtype);
    if (backend == ATTENTION_FLASH) {
        rows = rounded(rows, 128);
        width = rounded(width, 32);
    }
    if (backend == ATTENTION_FLASH || backend == ATTENTION_CUDNN) {
        struct shape sums = {.rank = 3, .size = {batch, heads, rows}};
        struct shape accumulator = {.rank = 4, .size = {batch, heads, rows, width}};
        value_new(tape, DTYPE_FLOAT32, &sums, "attention row sums");
        value_new(tape, DTYPE_FLOAT32, &accumulator, "attention query accumulator");
    } else if (backend == ATTENTION_EFFICIENT) {
        struct shape sums = {.rank = 3, .size = {batch, heads, rounded(rows, 32)}};
        value_new(tape, DTYPE_FLOAT32, &sums, "attention row sums");
    }
}

static void attention_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *q = node->saved[0], *k = node->saved[1], *v = node->saved[2];
    struct value *slopes[3];
    slopes[0] = heads_new(tape, q->dtype, &q->shape, "attention query gradient");
    slopes[1] = heads_new(tape, k->dtype, &k->shape, "attention key gradient");
    slopes[2] = heads_new(tape, v->dtype, &v->shape, "attention value gradient");
    scratch_take(tape, q);
    struct value *values[] = {out[0], q, k, v, node->saved[3], node->saved[4], slopes[0], slopes[1], slopes[2]};
    tape_run(tape, OPCODE_ATTENTION_BACKWARD, &node->attributes, 6, 9, values);
    for (int i = 0; i < 3; i++) {
        in[i] = node_wants(node, i) ? slopes[i] : NULL;
    }
}

struct value *tape_attention(struct tape *tape, struct value *q, struct value *k, struct value *v, double scale,
                             double dropout, bool causal)
{
    if (q == NULL || k == NULL || v == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *inputs[] = {q, k, v};
    autocast_lower_all(tape, inputs, 3);
    enum dtype dtype = value_dtype(inputs[0]);
    struct shape rows = {.rank = 3, .size = {q->shape.size[0], q->shape.size[1], q->shape.size[2]}};
    if (backend_for(tape, dtype) == ATTENTION_EFFICIENT) {
        rows.size[2] = rounded(rows.size[2], 32);
    }
    struct value *result = heads_new(tape, dtype, &q->shape, "ATTENTION");
    struct value *lse = value_new(tape, DTYPE_FLOAT32, &rows, "ATTENTION log-sum-exp");
    struct value *values[] = {inputs[0], inputs[1], inputs[2], result, lse};
    struct operation_attributes attributes = {.f = {scale, tape->training ? dropout : 0.0},
                                              .i = {causal ? 1 : 0, ++tape->seed}};
    tape_run(tape, OPCODE_ATTENTION, &attributes, 3, 5, values);
    struct node *node = result != NULL ? node_new(tape, attention_backward, 3, inputs, result) : NULL;
    if (node != NULL) {
        node->attributes = attributes;
        for (int i = 0; i < 5; i++) {
            node_save(tape, node, i, values[i]);
        }
    }
    return tape_frame_close(tape, frame, result);
}
