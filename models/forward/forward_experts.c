/* Experts on a tape. Not here: how a family chooses them. */
#include "models/forward/forward_experts.h"

#include <stdio.h>

#include "models/forward/module_visit.h"

/* gate and up lie side by side in one parameter. */
static struct value *gated(const struct forward *f, struct value *both)
{
    struct value *parts[2];
    int frame = tape_frame_open(f->tape);
    tape_split(f->tape, both, -1, 2, parts);
    struct value *gate = forward_activation(f, f->config->activation, parts[0]);
    return tape_frame_close(f->tape, frame, tape_multiply(f->tape, gate, parts[1]));
}

static struct value *expert_weight(const struct forward_layer *layer, const char *name)
{
    return forward_tensor(layer->forward, "%s.mlp.experts.%s", layer->prefix, name);
}

/* Weighted rows of each token's experts, side by side, summed; what they are made of goes with the caller's frame. */
static struct value *experts_sum(struct tape *tape, struct value *weighted, int64_t tokens, int64_t active,
                                 enum dtype dtype)
{
    int64_t grouped[] = {tokens, active, value_size(weighted, 1)};
    struct value *by_token = tape_reshape(tape, weighted, 3, grouped);
    struct value *sum = tape_sum(tape, by_token, 1, false);
    tape_drop(tape, by_token);
    return tape_cast(tape, sum, dtype);
}

/* -- batched_mm: a matrix of its own for each row */

/* parameter[ids]: [chosen, out, in]. */
static struct value *matrices_copy(const struct forward_layer *layer, const char *name, struct value *ids)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    struct value *weight = expert_weight(layer, name);
    int64_t out = value_size(weight, 1), in = value_size(weight, 2);
    int64_t flat[] = {value_size(weight, 0), out * in}, size[] = {1, value_size(ids, 0), out, in};
    struct value *copied = tape_rows(tape, tape_reshape(tape, weight, 2, flat), ids);
    return tape_frame_close(tape, frame, tape_reshape(tape, copied, 4, size));
}

/* [chosen, in] by [1, chosen, out, in] -> [chosen, out] */
static struct value *rows_multiply(struct tape *tape, struct value *rows, struct value *matrices)
{
    int frame = tape_frame_open(tape);
    int64_t column[] = {1, value_size(rows, 0), value_size(rows, 1), 1};
    int64_t flat[] = {value_size(rows, 0), value_size(matrices, 2)};
    struct value *product = tape_matmul(tape, matrices, tape_reshape(tape, rows, 4, column));
    return tape_frame_close(tape, frame, tape_reshape(tape, product, 2, flat));
}

static struct value *experts_copied_run(const struct forward_layer *layer, struct value *rows, struct value *weights,
                                        struct value *ids)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t tokens = value_size(rows, 0), active = value_size(ids, 1), chosen = tokens * active;
    int64_t thin[] = {tokens, 1, value_size(rows, 1)}, wide[] = {tokens, active, value_size(rows, 1)};
    int64_t flat[] = {chosen, value_size(rows, 1)}, column[] = {chosen, 1};
    struct value *repeated = tape_expand(tape, tape_reshape(tape, rows, 3, thin), 3, wide);
    struct value *selected = tape_reshape(tape, tape_contiguous(tape, repeated), 2, flat);
    struct value *experts = tape_reshape(tape, ids, 1, &chosen);
    struct value *matrices = matrices_copy(layer, "gate_up_proj", experts);
    struct value *made = rows_multiply(tape, selected, matrices);
    value_rebind(tape, &made, gated(f, made));
    value_rebind(tape, &matrices, matrices_copy(layer, "down_proj", experts));
    value_rebind(tape, &made, rows_multiply(tape, made, matrices));
    struct value *weighted = tape_multiply(tape, made, tape_reshape(tape, weights, 2, column));
    return tape_frame_close(tape, frame, experts_sum(tape, weighted, tokens, active, value_dtype(rows)));
}

/* -- grouped_mm: rows sorted by expert */

static struct value *experts_sorted_run(const struct forward_layer *layer, struct value *rows, struct value *weights,
                                        struct value *ids)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t tokens = value_size(rows, 0), active = value_size(ids, 1), chosen = tokens * active;
    struct value *places;
    struct value *flat_weights = tape_reshape(tape, weights, 1, &chosen);
    struct value *flat_ids = tape_reshape(tape, ids, 1, &chosen);
    struct value *sorted = tape_sort_ids(tape, flat_ids, f->config->experts, &places);
    struct value *tokens_of = tape_quotient(tape, places, active);
    struct value *selected = tape_rows(tape, rows, tokens_of);
    tape_drop(tape, tokens_of);
    struct value *sorted_weights = tape_rows(tape, flat_weights, places);
    struct value *ends = tape_group_ends(tape, sorted, f->config->experts);
    struct value *made = tape_grouped_linear(tape, selected, expert_weight(layer, "gate_up_proj"), ends);
    value_rebind(tape, &made, gated(f, made));
    value_rebind(tape, &made, tape_grouped_linear(tape, made, expert_weight(layer, "down_proj"), ends));
    int64_t column[] = {chosen, 1};
    struct value *factors = tape_reshape(tape, sorted_weights, 2, column);
    struct value *weighted = tape_multiply(tape, factors, made); /* the gradient of what is on the right comes first */
    tape_drop(tape, factors);
    struct value *order = tape_inverse_places(tape, places);
    value_rebind(tape, &weighted, tape_rows(tape, weighted, order));
    return tape_frame_close(tape, frame, experts_sum(tape, weighted, tokens, active, value_dtype(rows)));
}

struct value *experts_run(const struct forward_layer *layer, struct value *rows, struct value *weights,
                          struct value *ids)
{
    const struct forward *f = layer->forward;
    struct module_visit visit = layer_enter(layer, "mlp.experts");
    rows = module_argument(f, visit, rows);
    ids = module_argument(f, visit, ids);
    weights = module_argument(f, visit, weights);
    return module_leave(f, visit,
                        (f->copies_experts ? experts_copied_run : experts_sorted_run)(layer, rows, weights, ids));
}

struct value *experts_dense_run(const struct forward_layer *layer, const char *name, struct value *hidden)
{
    const struct forward *f = layer->forward;
    char path[64];
    struct module_visit visit = layer_enter(layer, name);
    hidden = module_argument(f, visit, hidden);
    int frame = tape_frame_open(f->tape);
    snprintf(path, sizeof path, "%s.gate_proj", name);
    struct value *gate = layer_linear(layer, path, hidden);
    snprintf(path, sizeof path, "%s.act_fn", name);
    gate = layer_activation(layer, path, gate);
    snprintf(path, sizeof path, "%s.up_proj", name);
    struct value *up = layer_linear(layer, path, hidden);
    struct value *product = tape_multiply(f->tape, gate, up);
    tape_drop(f->tape, gate);
    tape_drop(f->tape, up);
    snprintf(path, sizeof path, "%s.down_proj", name);
    return module_leave(f, visit, tape_frame_close(f->tape, frame, layer_linear(layer, path, product)));
}
