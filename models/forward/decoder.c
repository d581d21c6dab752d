/* Decoders: tables, layers, attention, the head. Not here: what one family does in its layers. */
#include "models/forward/decoder.h"

#include <math.h>
#include <stdio.h>

#include "models/config/family.h"
#include "models/forward/chunked_loss.h"
#include "models/forward/own_code.h"
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

static struct value *layer_run(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    const struct decoder *decoder = f->config->family->decoder;
    struct value *held[] = {layer->alibi, layer->mask, layer->cosine, layer->sine, layer->positions};
    const char *outside = decoder->names_layers ? tape_module_open(f->tape, layer->prefix) : NULL;
    struct value *next = forward_block(f, decoder->layer, layer->prefix, layer, sizeof *layer, held, 5, hidden);
    if (decoder->names_layers) {
        tape_module_close(f->tape, outside);
    }
    return next;
}

struct value *decoder_layers(struct forward_layer *layer, const struct decoder_tables *tables, const char *root,
                             struct value *input)
{
    const struct forward *f = layer->forward;
    const struct decoder *decoder = f->config->family->decoder;
    struct value *hidden = input;
    for (int64_t i = 0; i < f->config->layers; i++) {
        int kind = config_layer_slides(f->config, i) ? 1 : 0;
        if (tables != NULL) {
            layer->mask = tables->masks[kind];
            layer->cosine = tables->cosines[kind];
            layer->sine = tables->sines[kind];
            layer->positions = tables->positions;
        }
        layer->index = i;
        snprintf(layer->prefix, sizeof layer->prefix, "%s%s.%lld", root, decoder->names.layers, (long long)i);
        struct value *next = layer_run(layer, hidden);
        if (hidden != input || decoder->passes_words) {
            tape_drop(f->tape, hidden);
        }
        hidden = next;
    }
    return hidden;
}

/* Where layers with a window have another base, each kind that the model has gets tables of its own. */
static void rotary_tables(const struct forward *f, struct decoder_tables *tables, const char *root,
                          struct value *hidden)
{
    if (rotary_is_of_layers(f)) {
        return;
    }
    if (f->config->rope_local_theta == 0) {
        decoder_rotary_make(f, tables, DECODER_KINDS_ALL, root, "rotary_emb.inv_freq", hidden);
        return;
    }
    if (decoder_has_layers(f->config, false)) {
        decoder_rotary_make(f, tables, DECODER_KINDS_FULL, root, "rotary_emb.full_attention_inv_freq", hidden);
    }
    if (decoder_has_layers(f->config, true)) {
        decoder_rotary_make(f, tables, DECODER_KINDS_WINDOWED, root, "rotary_emb.sliding_attention_inv_freq", hidden);
    }
}

struct value *decoder_body(const struct forward *f, const char *root)
{
    const struct decoder *decoder = f->config->family->decoder;
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    char path[64];
    snprintf(path, sizeof path, "%s%s", root, decoder->names.words);
    struct value *words = forward_words(f, path, f->config->pad_token);
    enum decoder_masks masks = decoder->masks != NULL ? decoder->masks(f) : DECODER_MASKS_ONE;
    struct decoder_tables tables = decoder_tables_make(f, masks, words);
    struct value *hidden = decoder->drops_words ? tape_dropout(tape, words, f->config->embedding_dropout) : words;
    (decoder->turn != NULL ? decoder->turn : rotary_tables)(f, &tables, root, hidden);
    /* The words (inputs_embeds) keep their name until the model returns. */
    struct forward_layer layer = {.forward = f};
    hidden = decoder_layers(&layer, &tables, root, hidden);
    snprintf(path, sizeof path, "%s%s", root, decoder->names.norm);
    bool rms = decoder_type_of(f->config)->classes.norm != NULL;
    return tape_frame_close(tape, frame, (rms ? forward_rms_norm : forward_layernorm)(f, path, hidden));
}

struct value *decoder_layer(const struct forward_layer *layer, struct value *input, decoder_part *attend,
                            decoder_part *feed)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    bool behind = f->config->norms_behind;
    double dropout = f->config->hidden_dropout;
    int frame = tape_frame_open(tape);
    struct value *hidden = layer_rms_norm(layer, "input_layernorm", input);
    value_rebind(tape, &hidden, attend(layer, hidden));
    if (behind) {
        value_rebind(tape, &hidden, layer_rms_norm(layer, "post_attention_layernorm", hidden));
    }
    value_rebind(tape, &hidden, decoder_dropout_add(f, hidden, input, dropout));
    struct value *residual = hidden;
    hidden = layer_rms_norm(layer, behind ? "pre_feedforward_layernorm" : "post_attention_layernorm", residual);
    value_rebind(tape, &hidden, feed(layer, hidden));
    if (behind) {
        value_rebind(tape, &hidden, layer_rms_norm(layer, "post_feedforward_layernorm", hidden));
    }
    value_rebind(tape, &hidden, decoder_dropout_add(f, hidden, residual, dropout));
    return tape_frame_close(tape, frame, hidden);
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
    if (forward_has(f, RELEASE_HEADS_REPEATED_BEFORE)) {
        value_rebind(tape, &k, tape_repeat_heads(tape, k, value_size(q, 1)));
        value_rebind(tape, &v, tape_repeat_heads(tape, v, value_size(q, 1)));
    }
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
    struct value *out = decoder_attend_all(layer, name, joined, q, k, v, &weights);
    if (forward_has(layer->forward, RELEASE_WEIGHTS_DROPPED)) {
        tape_drop(layer->forward->tape, weights);
    }
    return out;
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
    struct forward_layer own = *layer;
    bool alone = rotary_of_layer(&own, v);
    struct value *rotated_q = rotary_turn(&own, q);
    struct value *rotated_k = rotary_turn(&own, k);
    value_rebind(tape, &q, rotated_q);
    value_rebind(tape, &k, rotated_k);
    if (alone && forward_has(f, RELEASE_ROTARY_INDEXED)) {
        rotary_let_go(&own);
    }
    struct value *out = decoder_attend(layer, "self_attn.o_proj", false, q, k, v);
    if (alone && !forward_has(f, RELEASE_ROTARY_INDEXED)) {
        rotary_let_go(&own);
    }
    return out;
}

struct value *decoder_head(const struct forward *f, struct value *hidden)
{
    int frame = tape_frame_open(f->tape);
    struct value *logits = forward_linear(f, "lm_head", forward_rows(f, hidden));
    if (f->config->logit_cap > 0) {
        logits = forward_cap(f->tape, logits, f->config->logit_cap);
    }
    if (forward_has(f, RELEASE_LOGITS_FLOAT32)) {
        value_rebind(f->tape, &logits, tape_cast(f->tape, logits, DTYPE_FLOAT32));
    }
    if (f->labels != NULL) {
        logits = forward_language_loss(f, logits, true);
    }
    return tape_frame_close(f->tape, frame, logits);
}

static struct value *model_run(const struct forward *f, const char *root)
{
    const struct decoder *decoder = f->config->family->decoder;
    if (own_code_is(f->workload)) {
        return (f->workload->model_code == MODEL_CODE_TORCHTUNE ? torchtune_body : litgpt_body)(f, root);
    }
    return (decoder->model != NULL ? decoder->model : decoder_body)(f, root);
}

struct value *decoder_forward(const struct forward *f)
{
    if (f->skeleton->task != NULL) {
        return task_head_forward(f, model_run);
    }
    if (forward_is_bare(f)) {
        return model_run(f, "");
    }
    const char *module = f->config->family->decoder->names.inside;
    char root[64];
    snprintf(root, sizeof root, "%s.", module);
    if (f->labels != NULL && (workload_loss_is_chunked(f->workload) || own_code_is(f->workload))) {
        return chunked_loss_forward(f, model_run, root);
    }
    int frame = tape_frame_open(f->tape);
    return tape_frame_close(f->tape, frame, decoder_head(f, module_run(f, module, model_run, root)));
}
