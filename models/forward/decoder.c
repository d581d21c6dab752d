/* Decoders with rotary positions: tables, layers, attention's tail, the head. Not here: any one family's layer. */
#include "models/forward/decoder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/forward/module_visit.h"
#include "models/forward/rotary.h"

bool decoder_has_layers(const struct config *config, bool windowed)
{
    for (int64_t i = 0; i < config->layers; i++) {
        if (config_layer_slides(config, i) == windowed) {
            return true;
        }
    }
    return false;
}

struct decoder_tables decoder_tables_make(const struct forward *f, enum decoder_masks masks, struct value *hidden)
{
    const struct config *config = f->config;
    bool windowed = decoder_has_layers(config, true);
    struct decoder_tables tables = {.positions = forward_positions(f)};
    if (masks != DECODER_MASKS_ONE || !windowed) {
        forward_packing_ask(f, hidden);
        tables.masks[0] = forward_mask(f, hidden, true);
    }
    if (masks == DECODER_MASKS_BOTH || windowed) {
        forward_packing_ask(f, hidden);
        tables.masks[1] = forward_window_mask(f, hidden);
    }
    return tables;
}

void decoder_rotary_make(const struct forward *f, struct decoder_tables *tables, enum decoder_kinds kinds,
                         const char *root, const char *buffer, struct value *hidden)
{
    struct forward_layer made = {.forward = f};
    rotary_make(&made, root, buffer, hidden, tables->positions);
    for (int kind = 0; kind < 2; kind++) {
        if (((int)kinds >> kind & 1) != 0) {
            tables->cosines[kind] = made.cosine;
            tables->sines[kind] = made.sine;
        }
    }
}

struct value *decoder_layers(const struct forward *f, tape_block *block, const struct decoder_tables *tables,
                             const char *root, struct value *input)
{
    struct value *hidden = input;
    for (int64_t i = 0; i < f->config->layers; i++) {
        int kind = config_layer_slides(f->config, i) ? 1 : 0;
        struct forward_layer layer = {.forward = f,
                                      .mask = tables->masks[kind],
                                      .cosine = tables->cosines[kind],
                                      .sine = tables->sines[kind],
                                      .positions = tables->positions,
                                      .index = i};
        snprintf(layer.prefix, sizeof layer.prefix, "%slayers.%lld", root, (long long)i);
        struct value *held[] = {layer.mask, layer.cosine, layer.sine, tables->positions};
        struct value *next = forward_block(f, block, layer.prefix, &layer, sizeof layer, held, 4, hidden);
        if (hidden != input) {
            tape_drop(f->tape, hidden);
        }
        hidden = next;
    }
    return hidden;
}

struct value *decoder_heads(const struct forward_layer *layer, const char *name, struct value *hidden, int64_t heads)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    return tape_frame_close(tape, frame, heads_view(layer->forward, layer_linear(layer, name, hidden), heads));
}

struct value *decoder_attend_all(const struct forward_layer *layer, const char *name, bool joined, struct value *q,
                                 struct value *k, struct value *v, struct value **weights)
{
    const struct forward *f = layer->forward;
    const struct config *config = f->config;
    struct tape *tape = f->tape;
    double scale = config->attention_scale > 0 ? config->attention_scale : 1.0 / sqrt((double)config->head_dim);
    struct attention_form form = {.scale = scale,
                                  .dropout = config->attention_dropout,
                                  .cap = config->score_cap,
                                  .causal = true,
                                  .heads_first = joined,
                                  .softmax_in_float32 = true,
                                  .casts_weights = true,
                                  .weights_dtype = value_dtype(q),
                                  .mask = layer->mask};
    struct value *out = forward_attention(f, &form, q, k, v, weights);
    value_rebind(tape, &out, layer_linear(layer, name, out));
    tape_drop(tape, q);
    tape_drop(tape, k);
    tape_drop(tape, v);
    return out;
}

struct value *decoder_attend(const struct forward_layer *layer, const char *name, bool joined, struct value *q,
                             struct value *k, struct value *v)
{
    struct value *weights = NULL;
    layer_cache(layer, &k, &v);
    return decoder_attend_all(layer, name, joined, q, k, v, &weights);
}

struct value *decoder_dropout_add(const struct forward *f, struct value *x, struct value *residual, double probability)
{
    int frame = tape_frame_open(f->tape);
    struct value *kept = tape_dropout(f->tape, x, probability);
    return tape_frame_close(f->tape, frame, tape_add(f->tape, residual, kept));
}

void decoder_weights_return(struct tape *tape, struct value **last, struct value *weights)
{
    if (last != NULL) {
        tape_let_go(tape, *last);
        *last = weights;
    } else {
        tape_let_go(tape, weights);
    }
}

struct value *decoder_gated_feed_forward(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct module_visit visit = layer_enter(layer, "mlp");
    hidden = module_argument(f, visit, hidden);
    int frame = tape_frame_open(f->tape);
    struct value *gate = layer_activation(layer, "mlp.act_fn", layer_linear(layer, "mlp.gate_proj", hidden));
    struct value *up = layer_linear(layer, "mlp.up_proj", hidden);
    struct value *product = tape_multiply(f->tape, gate, up);
    tape_drop(f->tape, gate);
    tape_drop(f->tape, up);
    return module_leave(f, visit, tape_frame_close(f->tape, frame, layer_linear(layer, "mlp.down_proj", product)));
}

/* Queries or keys: of Qwen3 each head is normalised before heads and rows change places. */
static struct value *heads_normed(const struct forward_layer *layer, const char *name, const char *norm,
                                  struct value *hidden, int64_t heads)
{
    struct tape *tape = layer->forward->tape;
    const struct config *config = layer->forward->config;
    if (!config->head_norms) {
        return decoder_heads(layer, name, hidden, heads);
    }
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(hidden, 0), value_size(hidden, 1), heads, config->head_dim};
    struct value *projected = layer_linear(layer, name, hidden);
    struct value *rows = tape_reshape(tape, projected, 4, size);
    tape_drop(tape, projected);
    value_rebind(tape, &rows, layer_rms_norm(layer, norm, rows));
    return tape_frame_close(tape, frame, tape_transpose(tape, rows, 1, 2));
}

struct value *decoder_attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct value *q = heads_normed(layer, "self_attn.q_proj", "self_attn.q_norm", hidden, f->config->heads);
    struct value *k = heads_normed(layer, "self_attn.k_proj", "self_attn.k_norm", hidden, f->config->kv_heads);
    struct value *v = decoder_heads(layer, "self_attn.v_proj", hidden, f->config->kv_heads);
    struct value *rotated_q = rotary_turn(layer, q);
    struct value *rotated_k = rotary_turn(layer, k);
    value_rebind(tape, &q, rotated_q);
    value_rebind(tape, &k, rotated_k);
    return decoder_attend(layer, "self_attn.o_proj", false, q, k, v);
}

struct value *decoder_head(const struct forward *f, struct value *hidden)
{
    int frame = tape_frame_open(f->tape);
    struct value *logits = forward_linear(f, "lm_head", forward_rows(f, hidden));
    if (f->config->logit_cap > 0) {
        logits = forward_cap(f->tape, logits, f->config->logit_cap);
    }
    if (f->labels != NULL) {
        logits = forward_language_loss(f, logits, true);
    }
    return tape_frame_close(f->tape, frame, logits);
}

struct value *decoder_forward(const struct forward *f, decoder_model *model, const char *root)
{
    if (f->skeleton->head == HEAD_BARE) {
        return model(f, "");
    }
    int frame = tape_frame_open(f->tape);
    char module[64];
    snprintf(module, sizeof module, "%.*s", (int)strcspn(root, "."), root);
    return tape_frame_close(f->tape, frame, decoder_head(f, module_run(f, module, model, root)));
}
