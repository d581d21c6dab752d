/* Routing by groups, operation by operation as DeepseekV2TopkRouter and DeepseekV3TopkRouter write it. What they make
 * on the way to the mask of groups is taken and not written: one operation of ours makes the mask. */
#include "models/forward/grouped_routing.h"

#include "models/forward/module_visit.h"

/* Both in float32, the weight too. */
static struct value *logits_make(const struct forward_layer *layer, struct value *hidden)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    int64_t flat[] = {value_size(hidden, 0) * value_size(hidden, 1), value_size(hidden, 2)};
    struct value *rows = tape_reshape(tape, hidden, 2, flat);
    struct value *weight = forward_tensor(layer->forward, "%s.mlp.gate.weight", layer->prefix);
    struct value *wide = tape_cast(tape, rows, DTYPE_FLOAT32);
    if (value_dtype(weight) != DTYPE_FLOAT32) { /* else it is the parameter itself, whose casts autocast keeps */
        weight = tape_cast(tape, weight, DTYPE_FLOAT32);
    }
    return tape_frame_close(tape, frame, tape_linear(tape, wide, weight, NULL));
}

/* The scores of the groups, best elements of each: topk and its sum, or with one max. Where a graph is made it keeps
 * the places of the best. */
static void scores_take(struct tape *tape, int64_t rows, int64_t groups, int64_t best)
{
    int64_t size[] = {rows, groups, best};
    int rank = best > 1 ? 3 : 2;
    struct value *largest = tensor_passing(tape, DTYPE_FLOAT32, rank, size);
    struct value *places = tensor_passing(tape, DTYPE_INT64, rank, size);
    if (!tape_gradients_enabled(tape)) {
        tape_drop(tape, places);
    }
    if (best > 1) {
        tensor_passing(tape, DTYPE_FLOAT32, 2, size);
        tape_drop(tape, largest);
    }
}

/* Bool [N, E]: the experts of the groups that are not looked at. Names stay with the open frame. */
static struct value *hidden_experts(const struct forward *f, struct value *scores, int64_t best)
{
    struct tape *tape = f->tape;
    const struct config *config = f->config;
    int64_t rows = value_size(scores, 0), groups = config->expert_groups;
    int64_t each[] = {rows, groups}, chosen[] = {rows, config->active_groups}, all[] = {rows, config->experts};
    scores_take(tape, rows, groups, best);
    struct value *highest = tensor_passing(tape, DTYPE_FLOAT32, 2, chosen);
    tensor_passing(tape, DTYPE_INT64, 2, chosen);
    tape_drop(tape, highest);
    tensor_passing(tape, DTYPE_FLOAT32, 2, each); /* zeros, and ones scattered into them */
    tensor_passing(tape, DTYPE_FLOAT32, 2, all);
    struct value *seen = tensor_passing(tape, DTYPE_BOOL, 2, all);
    struct value *hidden = tape_group_limit(tape, scores, groups, config->active_groups, best);
    tape_drop(tape, seen);
    return hidden;
}

/* scores where they are not hidden; the mask lives as long as a graph wants it. */
static struct value *scores_hide(const struct forward *f, struct value *scores, int64_t best, bool learns,
                                 double number)
{
    struct tape *tape = f->tape;
    bool gradients = tape_gradients_enabled(tape);
    struct value *hidden = hidden_experts(f, scores, best);
    tape_gradients(tape, gradients && learns);
    struct value *masked = tape_masked_fill(tape, scores, hidden, number);
    tape_gradients(tape, gradients);
    if (!gradients) {
        tape_drop(tape, hidden);
    }
    return masked;
}

struct value *routing_softmax(const struct forward_layer *layer, struct value *hidden, struct value **ids)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct module_visit visit = layer_enter(layer, "mlp.gate");
    struct value *logits = logits_make(layer, module_argument(f, visit, hidden));
    int frame = tape_frame_open(tape);
    struct value *scores = tape_softmax(tape, logits, true);
    if (f->config->expert_groups > 0) {
        value_rebind(tape, &scores, scores_hide(f, scores, 1, true, 0.0));
    }
    struct value *weights = tape_top_k(tape, scores, f->config->active_experts, ids);
    value_rebind(tape, &weights, tape_scale(tape, weights, f->config->routing_scale));
    tape_frame_close_with(tape, frame, weights, *ids);
    struct value *const results[] = {logits, weights, *ids};
    module_leave_all(f, visit, results, 3);
    return weights;
}

/* Without a graph of ours: that of the choice goes with its names. */
static struct value *choice_make(const struct forward_layer *layer, struct value *scores)
{
    static const double lowest = -3e38; /* for minus infinity, which a product with 0 would make NaN */
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    bool gradients = tape_gradients_enabled(tape);
    struct value *bias = forward_tensor(f, "%s.mlp.gate.e_score_correction_bias", layer->prefix), *ids;
    tape_gradients(tape, false);
    struct value *choice = tape_add(tape, scores, bias);
    tape_gradients(tape, gradients);
    value_rebind(tape, &choice, scores_hide(f, choice, 2, false, lowest));
    tape_gradients(tape, false);
    tape_drop(tape, tape_top_k(tape, choice, f->config->active_experts, &ids));
    tape_gradients(tape, gradients);
    return ids;
}

struct value *routing_sigmoid(const struct forward_layer *layer, struct value *hidden, struct value **ids)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct module_visit visit = layer_enter(layer, "mlp.gate");
    struct value *logits = logits_make(layer, module_argument(f, visit, hidden));
    int frame = tape_frame_open(tape);
    struct value *scores = tape_sigmoid(tape, logits);
    *ids = choice_make(layer, scores);
    struct value *weights = tape_pick(tape, scores, *ids);
    if (f->config->normalizes_routing) {
        struct value *sum = tape_sum(tape, weights, -1, true);
        value_rebind(tape, &sum, tape_add_number(tape, sum, 1e-20));
        value_rebind(tape, &weights, tape_divide_(tape, weights, sum));
    }
    value_rebind(tape, &weights, tape_scale(tape, weights, f->config->routing_scale));
    tape_frame_close_with(tape, frame, weights, *ids);
    struct value *const results[] = {logits, weights, *ids};
    module_leave_all(f, visit, results, 3);
    return weights;
}
