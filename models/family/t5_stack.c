/* T5Stack: the blocks of encoder and decoder, operation by operation. Not here: the configuration, the skeleton, the
 * head. */
#include "models/family/t5_stack.h"

#include <stdio.h>

#include "models/forward/module_visit.h"
#include "models/forward/relative_bias.h"

/* What a block reads besides its input. The biases are NULL in the first block of a stack, which makes them and hands
 * them on by name. */
struct t5_layer {
    struct forward_layer layer;
    bool decodes;
    struct value *bias, *cross_bias;
    struct value *encoded, *cross_mask;
    struct value **made_bias, **made_cross_bias;
};

/* Holds what the first block made until the stack ends; of a second run nobody takes it. */
static void hand_on(struct tape *tape, struct value **name, struct value *made)
{
    if (!tape_recomputes(tape)) {
        *name = tape_hold(tape, made);
    }
}

/* The table's rows, made by the first block's self-attention. */
static struct value *self_bias(const struct t5_layer *block, struct value *hidden)
{
    const struct forward *f = block->layer.forward;
    if (block->bias != NULL || hidden == NULL) {
        return block->bias;
    }
    char path[160];
    snprintf(path, sizeof path, "%s.layer.0.SelfAttention.relative_attention_bias", block->layer.prefix);
    int64_t rows = value_size(hidden, 1), before = block->decodes && f->cache != NULL ? f->cache->length : 0;
    struct bias_span span = {.rows = rows, .columns = before + rows, .first = before, .both = !block->decodes};
    struct value *bias = relative_bias_make(f, path, &span);
    hand_on(f->tape, block->made_bias, bias);
    return bias;
}

/* Attention to the encoder has no table: zeros, of which checkpointing wants a gradient. */
static struct value *cross_bias(const struct t5_layer *block, struct value *q, struct value *k)
{
    const struct forward *f = block->layer.forward;
    if (block->cross_bias != NULL || q == NULL || k == NULL) {
        return block->cross_bias;
    }
    int64_t size[] = {1, f->config->heads, value_size(q, 2), value_size(k, 2)};
    bool learns = f->workload->checkpointing;
    struct value *bias =
        tape_leaf(f->tape, CATEGORY_TEMPORARIES, value_dtype(q), 4, size, learns, "zeros in place of a bias");
    tape_fill(f->tape, bias, 0.0);
    if (learns && !tape_recomputes(f->tape)) {
        forward_leaf_begin(f, bias);
    }
    hand_on(f->tape, block->made_cross_bias, bias);
    return bias;
}

static struct value *heads_of(const struct t5_layer *block, const char *format, char which, struct value *hidden)
{
    struct tape *tape = block->layer.forward->tape;
    char name[64];
    snprintf(name, sizeof name, format, which);
    int frame = tape_frame_open(tape);
    struct value *projected = layer_linear(&block->layer, name, hidden);
    return tape_frame_close(tape, frame,
                            heads_view(block->layer.forward, projected, block->layer.forward->config->heads));
}

/* Keys and values of the hidden state with what is cached of those before, or of the encoder's, made once. */
static void states_make(const struct t5_layer *block, bool crosses, const char *format, struct value *hidden,
                        struct value **k, struct value **v)
{
    const struct forward *f = block->layer.forward;
    bool caches = block->decodes && !f->workload->checkpointing;
    struct key_value_cache *cache = !caches ? NULL : crosses ? f->cross_cache : f->cache;
    if (crosses && cache != NULL && cache->layer[block->layer.index].keys != NULL) {
        *k = cache->layer[block->layer.index].keys;
        *v = cache->layer[block->layer.index].values;
        return;
    }
    struct value *source = crosses ? block->encoded : hidden;
    *k = heads_of(block, format, 'k', source);
    *v = heads_of(block, format, 'v', source);
    if (cache != NULL) {
        cache_update(cache, block->layer.index, k, v);
    }
}

/* T5Attention: of the hidden state, or (crosses) of the encoder's. *weights: the eager form's, held. */
static struct value *attention(const struct t5_layer *block, bool crosses, struct value *hidden, struct value **weights)
{
    const struct forward *f = block->layer.forward;
    struct tape *tape = f->tape;
    const char *format = crosses ? "layer.1.EncDecAttention.%c" : "layer.0.SelfAttention.%c";
    struct module_visit visit =
        layer_enter(&block->layer, crosses ? "layer.1.EncDecAttention" : "layer.0.SelfAttention");
    hidden = module_argument(f, visit, hidden);
    int frame = tape_frame_open(tape);
    struct value *q = heads_of(block, format, 'q', hidden), *k = NULL, *v = NULL;
    states_make(block, crosses, format, hidden, &k, &v);
    struct attention_form form = {.scale = 1.0,
                                  .dropout = f->config->attention_dropout,
                                  .causal = block->decodes && !crosses,
                                  .mask = crosses ? block->cross_mask : block->layer.mask};
    form.bias = crosses ? cross_bias(block, q, k) : self_bias(block, hidden);
    if (q == NULL || k == NULL || v == NULL || form.bias == NULL) {
        return module_leave(f, visit, tape_frame_close(tape, frame, NULL));
    }
    struct value *made = NULL;
    struct value *out = forward_attention(f, &form, q, k, v, &made);
    char name[64];
    snprintf(name, sizeof name, format, 'o');
    value_rebind(tape, &out, layer_linear(&block->layer, name, out));
    *weights = tape_hold(tape, made);
    return module_leave(f, visit, tape_frame_close(tape, frame, out));
}

/* T5LayerSelfAttention and T5LayerCrossAttention: norm, attention, the sum. *weights: as attention. */
static struct value *attention_layer(const struct t5_layer *block, bool crosses, struct value *hidden,
                                     struct value **weights)
{
    const struct forward *f = block->layer.forward;
    struct tape *tape = f->tape;
    const char *norm = crosses ? "layer.1.layer_norm" : "layer.0.layer_norm";
    struct module_visit visit = layer_enter(&block->layer, crosses ? "layer.1" : "layer.0");
    hidden = module_argument(f, visit, hidden);
    int frame = tape_frame_open(tape);
    struct value *normed = layer_rms_norm_promoted(&block->layer, norm, hidden);
    struct value *attended = attention(block, crosses, normed, weights);
    int inner = tape_frame_open(tape);
    struct value *kept = tape_dropout(tape, attended, f->config->hidden_dropout);
    struct value *sum = tape_frame_close(tape, inner, tape_add(tape, hidden, kept));
    tape_drop(tape, crosses ? normed : attended);
    tape_drop(tape, crosses ? attended : normed);
    return module_leave(f, visit, tape_frame_close(tape, frame, sum));
}

/* "prefix.wo" of hidden, which it takes over, in the dtype of its weights: they stay float32 in a float16 model. */
static struct value *projected_back(const struct t5_layer *block, const char *prefix, struct value *hidden)
{
    const struct forward *f = block->layer.forward;
    char path[96];
    snprintf(path, sizeof path, "%s.wo", prefix);
    value_rebind(f->tape, &hidden, tape_dropout(f->tape, hidden, f->config->hidden_dropout));
    struct value *weight = forward_optional(f, "%s.%s.weight", block->layer.prefix, path);
    if (weight != NULL && hidden != NULL) {
        value_rebind(f->tape, &hidden, tape_cast(f->tape, hidden, value_dtype(weight)));
    }
    return layer_linear(&block->layer, path, hidden);
}

/* T5DenseActDense and T5DenseGatedActDense. */
static struct value *dense(const struct t5_layer *block, const char *prefix, struct value *normed)
{
    const struct forward *f = block->layer.forward;
    struct tape *tape = f->tape;
    char path[96];
    struct module_visit visit = layer_enter(&block->layer, prefix);
    normed = module_argument(f, visit, normed);
    int frame = tape_frame_open(tape);
    snprintf(path, sizeof path, "%s.%s", prefix, f->config->gated ? "wi_0" : "wi");
    struct value *hidden = layer_linear(&block->layer, path, normed);
    snprintf(path, sizeof path, "%s.act", prefix);
    hidden = layer_activation(&block->layer, path, hidden);
    if (f->config->gated) {
        snprintf(path, sizeof path, "%s.wi_1", prefix);
        struct value *linear = layer_linear(&block->layer, path, normed);
        hidden = tape_multiply(tape, hidden, linear);
    }
    return module_leave(f, visit, tape_frame_close(tape, frame, projected_back(block, prefix, hidden)));
}

static struct value *feed_forward(const struct t5_layer *block, struct value *hidden)
{
    const struct forward *f = block->layer.forward;
    struct tape *tape = f->tape;
    char path[64];
    int number = block->decodes ? 2 : 1;
    struct module_visit visit = layer_enter(&block->layer, block->decodes ? "layer.2" : "layer.1");
    hidden = module_argument(f, visit, hidden);
    int frame = tape_frame_open(tape);
    snprintf(path, sizeof path, "layer.%d.layer_norm", number);
    struct value *forwarded = layer_rms_norm_promoted(&block->layer, path, hidden);
    snprintf(path, sizeof path, "layer.%d.DenseReluDense", number);
    value_rebind(tape, &forwarded, dense(block, path, forwarded));
    struct value *kept = tape_dropout(tape, forwarded, f->config->hidden_dropout);
    return module_leave(f, visit, tape_frame_close(tape, frame, tape_add(tape, hidden, kept)));
}

/* In float16 what is infinite becomes finite. */
static struct value *clamped(struct tape *tape, struct value *hidden)
{
    if (hidden != NULL && value_dtype(hidden) == DTYPE_FLOAT16) {
        value_rebind(tape, &hidden, tape_clamp_infinite(tape, hidden));
    }
    return hidden;
}

/* A block returns the biases that it was given: of a block on another device its own copies, which the next one gets.
 * When a checkpointed block is run again, the stack that had the name is gone. */
static void bias_return(struct tape *tape, struct value **name, struct value *given)
{
    if (!tape_recomputes(tape) && given != NULL && given != *name) {
        struct value *held = tape_hold(tape, given);
        tape_let_go(tape, *name);
        *name = held;
    }
}

/* The weights of an attention keep their name until those of the next one are there. */
static struct value *t5_block(struct tape *tape, const void *context, struct value *input)
{
    const struct t5_layer *block = context;
    struct value *weights = NULL, *crossed = NULL;
    int frame = tape_frame_open(tape);
    struct value *hidden = clamped(tape, attention_layer(block, false, input, &weights));
    if (block->decodes) {
        value_rebind(tape, &hidden, attention_layer(block, true, hidden, &crossed));
        hidden = clamped(tape, hidden);
        tape_let_go(tape, weights);
        weights = crossed;
    }
    value_rebind(tape, &hidden, feed_forward(block, hidden));
    hidden = clamped(tape, hidden);
    tape_let_go(tape, weights);
    bias_return(tape, block->made_bias, block->bias);
    bias_return(tape, block->made_cross_bias, block->cross_bias);
    return tape_frame_close(tape, frame, hidden);
}

/* The blocks over hidden, which they take over. */
static struct value *blocks_run(struct t5_layer *block, const char *stack, int64_t count, struct value *hidden)
{
    const struct forward *f = block->layer.forward;
    for (int64_t i = 0; i < count; i++) {
        block->bias = *block->made_bias;
        block->cross_bias = *block->made_cross_bias;
        struct value *held[] = {block->layer.mask, block->bias, block->encoded, block->cross_mask, block->cross_bias};
        int held_count = (int)(sizeof held / sizeof held[0]);
        for (int k = 0; k < held_count; k++) {
            tape_recomputation_argument(f->tape, held[k]);
        }
        block->layer.index = i;
        snprintf(block->layer.prefix, sizeof block->layer.prefix, "%s.block.%lld", stack, (long long)i);
        value_rebind(f->tape, &hidden,
                     forward_block(f, t5_block, block->layer.prefix, block, sizeof *block, held, held_count, hidden));
    }
    return hidden;
}

struct value *t5_stack_run(const struct forward *f, const char *stack, struct value *ids, struct value *encoded)
{
    struct tape *tape = f->tape;
    struct value *bias = NULL, *crossed = NULL;
    struct module_visit visit = module_enter(f, stack);
    ids = module_argument(f, visit, ids);
    encoded = module_argument(f, visit, encoded);
    struct t5_layer block = {.layer.forward = f, .decodes = encoded != NULL, .encoded = encoded};
    block.made_bias = &bias;
    block.made_cross_bias = &crossed;
    char path[64];
    int frame = tape_frame_open(tape);
    snprintf(path, sizeof path, "%s.embed_tokens", stack);
    struct forward reading = *f;
    reading.ids = ids;
    struct value *words = forward_words(&reading, path, -1);
    int64_t count = encoded != NULL ? f->config->decoder_layers : f->config->layers;
    if (encoded != NULL) {
        struct forward unpadded = *f;
        unpadded.seen = NULL;
        block.layer.mask = forward_mask(&unpadded, words, true);
        block.cross_mask = forward_mask(f, encoded, false);
    } else {
        block.layer.mask = forward_mask(f, words, false);
    }
    snprintf(path, sizeof path, "%s.dropout", stack);
    struct value *hidden = forward_dropout(f, path, words, f->config->embedding_dropout);
    hidden = blocks_run(&block, stack, count, hidden);
    snprintf(path, sizeof path, "%s.final_layer_norm", stack);
    value_rebind(tape, &hidden, forward_rms_norm_promoted(f, path, hidden));
    snprintf(path, sizeof path, "%s.dropout", stack);
    value_rebind(tape, &hidden, forward_dropout(f, path, hidden, f->config->hidden_dropout));
    tape_drop(tape, words);
    tape_let_go(tape, bias);
    tape_let_go(tape, crossed);
    return module_leave(f, visit, tape_frame_close(tape, frame, hidden));
}
