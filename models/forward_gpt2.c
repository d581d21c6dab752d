/* GPT-2: GPT2Model, and GPT2LMHeadModel with its tied head. Projections are stored [in, out]. */
#include <math.h>
#include <stdio.h>

#include "models/forward.h"

/* The three thirds of one projection, as heads. */
static void heads_split(const struct forward_layer *layer, struct value *hidden, struct value *heads[3])
{
    const struct forward *f = layer->forward;
    struct value *parts[3];
    struct value *fused = layer_linear_t(layer, "attn.c_attn", hidden);
    tape_split(f->tape, fused, 2, 3, parts);
    tape_drop(f->tape, fused);
    for (int i = 0; i < 3; i++) {
        heads[i] = heads_view(f, parts[i], f->config->heads);
        tape_drop(f->tape, parts[i]);
    }
}

/* GPT2Attention; eager weights stay with the open frame. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct value *heads[3];
    heads_split(layer, hidden, heads);
    layer_cache(layer, &heads[1], &heads[2]);
    struct attention_form form = {.scale = 1.0 / sqrt((double)f->config->head_dim),
                                  .dropout = f->config->attention_dropout,
                                  .causal = true,
                                  .casts_weights = true,
                                  .weights_dtype = value_dtype(heads[2]),
                                  .mask = layer->mask};
    struct value *weights = NULL;
    struct value *out = forward_attention(f, &form, heads[0], heads[1], heads[2], &weights);
    value_rebind(tape, &out, layer_linear_t(layer, "attn.c_proj", out));
    value_rebind(tape, &out, tape_dropout(tape, out, f->config->hidden_dropout));
    for (int i = 0; i < 3; i++) {
        tape_drop(tape, heads[i]);
    }
    return out;
}

static struct value *feed_forward(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    int frame = tape_frame_open(f->tape);
    struct value *inner = layer_linear_t(layer, "mlp.c_fc", hidden);
    inner = forward_activation(f, f->config->activation, inner);
    value_rebind(f->tape, &inner, layer_linear_t(layer, "mlp.c_proj", inner));
    value_rebind(f->tape, &inner, tape_dropout(f->tape, inner, f->config->hidden_dropout));
    return tape_frame_close(f->tape, frame, inner);
}

static struct value *gpt2_block(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    int frame = tape_frame_open(tape);
    struct value *hidden = layer_layernorm(layer, "ln_1", input);
    struct value *attended = attention(layer, hidden);
    value_rebind(tape, &hidden, tape_add(tape, attended, input));
    struct value *residual = hidden;
    hidden = layer_layernorm(layer, "ln_2", residual);
    struct value *fed = feed_forward(layer, hidden);
    value_rebind(tape, &hidden, tape_add(tape, residual, fed));
    return tape_frame_close(tape, frame, hidden);
}

static struct value *embeddings(const struct forward *f, const char *root, struct value **positions)
{
    struct tape *tape = f->tape;
    char path[64];
    snprintf(path, sizeof path, "%swte", root);
    struct value *words = forward_words(f, path, -1);
    *positions = forward_positions(f);
    snprintf(path, sizeof path, "%swpe", root);
    struct value *places = forward_embedding(f, path, *positions, -1);
    /* The real code keeps words and places by name until the model returns: they stay in the caller's frame. */
    return tape_add(tape, words, places);
}

static struct value *transformer(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *positions = NULL;
    struct value *hidden = embeddings(f, root, &positions);
    struct value *mask = forward_mask(f, hidden, true);
    tape_checkpoint_argument(tape, mask);
    value_rebind(tape, &hidden, tape_dropout(tape, hidden, f->config->embedding_dropout));
    for (int64_t i = 0; i < f->config->layers; i++) {
        struct forward_layer layer = {.forward = f, .mask = mask, .index = i};
        snprintf(layer.prefix, sizeof layer.prefix, "%sh.%lld", root, (long long)i);
        struct value *held[] = {mask, positions};
        value_rebind(tape, &hidden, forward_block(f, gpt2_block, &layer, sizeof layer, held, 2, hidden));
    }
    char path[64];
    snprintf(path, sizeof path, "%sln_f", root);
    value_rebind(tape, &hidden, forward_layernorm(f, path, hidden));
    return tape_frame_close(tape, frame, hidden);
}

struct value *forward_gpt2(const struct forward *f)
{
    if (f->skeleton->head == HEAD_BARE) {
        return transformer(f, "");
    }
    int frame = tape_frame_open(f->tape);
    struct value *hidden = transformer(f, "transformer.");
    struct value *logits = forward_linear(f, "lm_head", forward_rows(f, hidden));
    if (f->labels == NULL) {
        return tape_frame_close(f->tape, frame, logits);
    }
    return tape_frame_close(f->tape, frame, forward_language_loss(f, logits, true));
}
