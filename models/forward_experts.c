/* Experts on a tape. Not here: how a family chooses them. */
#include "models/forward_experts.h"

#include <stdio.h>

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

struct value *experts_run(const struct forward_layer *layer, struct value *rows, struct value *weights,
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
    int64_t column[] = {chosen, 1}, grouped[] = {tokens, active, value_size(rows, 1)};
    struct value *factors = tape_reshape(tape, sorted_weights, 2, column);
    struct value *weighted = tape_multiply(tape, factors, made); /* the gradient of what is on the right comes first */
    tape_drop(tape, factors);
    struct value *order = tape_inverse_places(tape, places);
    value_rebind(tape, &weighted, tape_rows(tape, weighted, order));
    struct value *by_token = tape_reshape(tape, weighted, 3, grouped);
    struct value *sum = tape_sum(tape, by_token, 1, false);
    tape_drop(tape, by_token);
    return tape_frame_close(tape, frame, tape_cast(tape, sum, value_dtype(rows)));
}

struct value *experts_dense_run(const struct forward_layer *layer, const char *name, struct value *hidden)
{
    const struct forward *f = layer->forward;
    char path[64];
    int frame = tape_frame_open(f->tape);
    snprintf(path, sizeof path, "%s.gate_proj", name);
    struct value *gate = forward_activation(f, f->config->activation, layer_linear(layer, path, hidden));
    snprintf(path, sizeof path, "%s.up_proj", name);
    struct value *up = layer_linear(layer, path, hidden);
    struct value *product = tape_multiply(f->tape, gate, up);
    tape_drop(f->tape, gate);
    tape_drop(f->tape, up);
    snprintf(path, sizeof path, "%s.down_proj", name);
    return tape_frame_close(f->tape, frame, layer_linear(layer, path, product));
}
