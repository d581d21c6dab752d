/* Losses in chunks: a tensor divided into many parts, the cross entropy of one part, and what those of all parts are
 * made into. Not here: which parts a program makes (models/forward/chunked_loss.c). */
#include "harness/tape/chunk.h"
#include "harness/tape/graph.h"

/* -- torch.split and torch.chunk: the gradients side by side */

static void chunks_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    int at = (int)node->attributes.i[0];
    int64_t size = node->attributes.i[1], whole = node->edges[0].shape.size[at], first = 0;
    in[0] = value_new(tape, node->edges[0].dtype, &node->edges[0].shape, "split gradient");
    for (int i = 0; i < node->output_count; i++, first += size) {
        struct value *place = value_slice(tape, in[0], at, first, whole - first < size ? whole - first : size);
        if (out[i] != NULL) {
            tape_copy_into(tape, out[i], place);
        } else {
            tape_fill(tape, place, 0.0);
        }
        tape_drop(tape, place);
    }
}

void tape_chunks(struct tape *tape, struct value *a, int dimension, int64_t size, struct value **parts)
{
    if (a == NULL || tape_failed(tape)) {
        return;
    }
    int at = dimension < 0 ? a->shape.rank + dimension : dimension;
    int64_t whole = a->shape.size[at];
    int count = (int)tape_chunk_count(whole, size);
    struct node *node = NULL;
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        int64_t first = i * size;
        parts[i] = value_slice(tape, a, at, first, whole - first < size ? whole - first : size);
        if (i == 0) {
            node = node_new(tape, chunks_backward, 1, &a, parts[0]);
            node_outputs_reserve(tape, node, count);
        } else {
            node_output(node, parts[i], i);
        }
    }
    if (node != NULL) {
        node->attributes = attributes_i(at, size);
    }
}

/* -- nll_loss with the reductions "sum" and "none"
 *
 * The kernel means over the rows that count. Here that mean is multiplied by their number, and the weight that the
 * backward pass divides by is 1; of no row that counts the sum is 0. */

/* Targets that lie side by side, of which the kernel makes a copy for itself. */
static struct value *targets_dense(struct tape *tape, struct value *targets)
{
    if (targets == NULL || value_is_dense(targets)) {
        return targets;
    }
    struct value *dense = scratch_new(tape, DTYPE_INT64, &targets->shape, "targets, side by side");
    tape_copy_into(tape, targets, dense);
    return dense;
}

static void sum_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    const struct edge *edge = &node->edges[0];
    struct shape line = {.rank = 1, .size = {1}};
    struct value *gradient = out[0]->shape.rank > 0 ? value_slice(tape, out[0], 0, 0, 1) : out[0];
    in[0] = value_new(tape, edge->dtype, &edge->shape, "loss gradient");
    struct value *targets = targets_dense(tape, node->saved[0]);
    struct value *values[] = {value_broadcast(tape, gradient, &line), targets, node->saved[1], in[0]};
    tape_run(tape, OPCODE_NLL_LOSS_BACKWARD, NULL, 3, 4, values);
}

/* place: one element, which gets the sum. */
static void sum_make(struct tape *tape, struct value *logp, struct value *targets, int64_t counted, struct value *place,
                     struct value *weight)
{
    struct operation_attributes times = attributes_f((double)counted, 0.0);
    struct value *dense = targets_dense(tape, targets);
    struct value *values[] = {logp, dense, place, weight}, *scaled[] = {place, place};
    tape_run(tape, OPCODE_NLL_LOSS, NULL, 2, 4, values);
    if (dense != targets) {
        tape_drop(tape, dense);
    }
    if (counted > 0) {
        tape_run(tape, OPCODE_AFFINE, &times, 1, 2, scaled);
    } else {
        tape_fill(tape, place, 0.0);
    }
    tape_fill(tape, weight, 1.0);
}

struct value *tape_cross_entropy_part(struct tape *tape, struct value *logits, struct value *targets, int64_t counted,
                                      bool by_rows)
{
    if (logits == NULL || targets == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *logp = autocast_float32(tape, make_log_softmax(tape, logits));
    if (logp == NULL) {
        return tape_frame_close(tape, frame, NULL);
    }
    struct shape scalar = {0};
    struct value *losses =
        value_new(tape, value_dtype(logp), by_rows ? &targets->shape : &scalar, by_rows ? "losses" : "loss");
    struct value *weight = value_new(tape, value_dtype(logp), &scalar, "loss weight");
    if (losses != NULL && weight != NULL) {
        struct value *place = by_rows ? value_slice(tape, losses, 0, 0, 1) : losses;
        if (by_rows) { /* the first row has the losses of all */
            tape_fill(tape, losses, 0.0);
        }
        sum_make(tape, logp, targets, counted, place, weight);
        struct node *node = node_new(tape, sum_backward, 1, &logp, losses);
        node_save(tape, node, 0, targets);
        node_save(tape, node, 1, weight);
        node_save(tape, node, 2, logp);
    }
    return tape_frame_close(tape, frame, losses);
}

/* -- what becomes of the parts */

/* The gradient of a sum, spread over the rows of the last part without being written out, and handed on to the rest. */
static void join_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    const struct shape *rows = &node->edges[0].shape;
    in[0] = rows->rank > 0 ? value_broadcast(tape, out[0], rows) : value_pass(tape, out[0]);
    if (node_wants(node, 1)) {
        in[1] = value_pass(tape, out[0]);
    }
}

/* torch.cat(losses).sum(), or one scalar after another added to the first. */
static struct value *losses_sum(struct tape *tape, struct value *const *losses, int count)
{
    struct shape scalar = {0}, line = {.rank = 1, .size = {1}}, all = {.rank = 1};
    enum dtype dtype = losses[0]->dtype;
    if (losses[0]->shape.rank == 0) {
        struct value *sum = make_scale(tape, losses[0], 1.0, 0.0);
        for (int i = 1; i < count; i++) {
            struct operation_attributes plus = attributes_f(1.0, 0.0);
            struct value *values[] = {sum, losses[i], sum};
            tape_run(tape, OPCODE_ADD, &plus, 2, 3, values);
        }
        return sum;
    }
    for (int i = 0; i < count; i++) {
        all.size[0] += losses[i] != NULL ? losses[i]->shape.size[0] : 0;
    }
    struct value *joined = value_new(tape, dtype, &all, "losses of all chunks");
    int64_t first = 0;
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        struct value *place = value_slice(tape, joined, 0, first, losses[i]->shape.size[0]);
        first += losses[i]->shape.size[0];
        tape_copy_into(tape, losses[i], place);
        tape_drop(tape, place);
    }
    struct value *sum = value_new(tape, tape->autocast ? DTYPE_FLOAT32 : dtype, &scalar, "sum of losses");
    sum_run(tape, joined, value_broadcast(tape, sum, &line), 1.0);
    tape_drop(tape, joined);
    return sum;
}

struct value *tape_losses_mean(struct tape *tape, struct value *const *losses, int count, int64_t counted)
{
    if (count < 1 || losses[0] == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *sum = losses_sum(tape, losses, count), *chain = NULL;
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        struct value *next = value_alias(tape, sum);
        struct value *inputs[] = {losses[i], chain};
        node_new(tape, join_backward, chain != NULL ? 2 : 1, inputs, next);
        chain = next;
    }
    struct value *mean = tape_scale(tape, chain, counted > 0 ? 1.0 / (double)counted : 0.0);
    if (!tape_failed(tape)) {
        tape->loss_operand = tape->operand_count - 1; /* what was written last */
    }
    return tape_frame_close(tape, frame, mean);
}
