/* Llama and its kin (Mistral, Qwen2): RMSNorm, rotary positions, grouped heads, SwiGLU; with or without the head. */
#include <math.h>
#include <stdio.h>

#include "models/forward.h"

/* weight * (x * rsqrt(mean(x^2) + epsilon)), in float32 up to the weight. */
static struct value *rms_norm(const struct forward *f, const char *path, struct value *input)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *hidden = tape_cast(tape, input, DTYPE_FLOAT32);
    struct value *square = tape_power(tape, hidden, 2.0);
    struct value *variance = tape_mean_last(tape, square);
    tape_drop(tape, square);
    struct value *shifted = tape_add_number(tape, variance, f->config->norm_epsilon);
    struct value *root = tape_reciprocal_root(tape, shifted);
    tape_drop(tape, shifted);
    struct value *scaled = tape_multiply(tape, hidden, root);
    tape_drop(tape, root);
    value_rebind(tape, &hidden, scaled);
    struct value *back = tape_cast(tape, hidden, value_dtype(input));
    struct value *result = tape_multiply(tape, forward_tensor(f, "%s.weight", path), back);
    return tape_frame_close(tape, frame, result);
}

static struct value *norm(const struct forward_layer *layer, const char *name, struct value *a)
{
    char path[160];
    snprintf(path, sizeof path, "%s.%s", layer->prefix, name);
    return rms_norm(layer->forward, path, a);
}

/* cat(-x2, x1) of the two halves of the last dimension. */
static struct value *rotate_half(struct tape *tape, struct value *x)
{
    int frame = tape_frame_open(tape);
    int64_t half = value_size(x, -1) / 2;
    struct value *first = tape_slice(tape, x, -1, 0, half);
    struct value *second = tape_slice(tape, x, -1, half, half);
    struct value *negative = tape_scale(tape, second, -1.0);
    return tape_frame_close(tape, frame, tape_concatenate(tape, negative, first, -1));
}

static struct value *rotate(const struct forward_layer *layer, struct value *x)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    struct value *straight = tape_multiply(tape, x, layer->cosine);
    struct value *turned = rotate_half(tape, x);
    value_rebind(tape, &turned, tape_multiply(tape, turned, layer->sine));
    return tape_frame_close(tape, frame, tape_add(tape, straight, turned));
}

static struct value *heads_of(const struct forward_layer *layer, const char *name, struct value *hidden, int64_t heads)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    return tape_frame_close(tape, frame, heads_view(layer->forward, layer_linear(layer, name, hidden), heads));
}

/* LlamaAttention; eager weights stay with the open frame. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct value *q = heads_of(layer, "self_attn.q_proj", hidden, f->config->heads);
    struct value *k = heads_of(layer, "self_attn.k_proj", hidden, f->config->kv_heads);
    struct value *v = heads_of(layer, "self_attn.v_proj", hidden, f->config->kv_heads);
    struct value *rotated_q = rotate(layer, q);
    struct value *rotated_k = rotate(layer, k);
    value_rebind(tape, &q, rotated_q);
    value_rebind(tape, &k, rotated_k);
    layer_cache(layer, &k, &v);
    struct attention_form form = {.scale = 1.0 / sqrt((double)f->config->head_dim),
                                  .dropout = f->config->attention_dropout,
                                  .causal = true,
                                  .softmax_in_float32 = true,
                                  .casts_weights = true,
                                  .weights_dtype = value_dtype(q),
                                  .mask = layer->mask};
    struct value *weights = NULL;
    struct value *out = forward_attention(f, &form, q, k, v, &weights);
    value_rebind(tape, &out, layer_linear(layer, "self_attn.o_proj", out));
    tape_drop(tape, q);
    tape_drop(tape, k);
    tape_drop(tape, v);
    return out;
}

static struct value *feed_forward(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    int frame = tape_frame_open(f->tape);
    struct value *gate = forward_activation(f, f->config->activation, layer_linear(layer, "mlp.gate_proj", hidden));
    struct value *up = layer_linear(layer, "mlp.up_proj", hidden);
    struct value *product = tape_multiply(f->tape, gate, up);
    tape_drop(f->tape, gate);
    tape_drop(f->tape, up);
    return tape_frame_close(f->tape, frame, layer_linear(layer, "mlp.down_proj", product));
}

static struct value *llama_layer(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    int frame = tape_frame_open(tape);
    struct value *hidden = norm(layer, "input_layernorm", input);
    struct value *attended = attention(layer, hidden);
    tape_drop(tape, hidden);
    hidden = tape_add(tape, input, attended);
    tape_drop(tape, attended);
    struct value *residual = hidden;
    hidden = norm(layer, "post_attention_layernorm", residual);
    value_rebind(tape, &hidden, feed_forward(layer, hidden));
    value_rebind(tape, &hidden, tape_add(tape, residual, hidden));
    return tape_frame_close(tape, frame, hidden);
}

/* cos and sin of position * frequency, [1 or B, S, D] in the dtype of like; made without gradients. */
static void rotary(const struct forward *f, const char *root, struct value *like, struct forward_layer *layer,
                   struct value *positions)
{
    struct tape *tape = f->tape;
    bool gradients = tape_gradients_enabled(tape);
    tape_gradients(tape, false);
    int frame = tape_frame_open(tape);
    int64_t column[] = {value_size(positions, 0), value_size(f->ids, 1), 1};
    struct value *places = tape_cast(tape, tape_reshape(tape, positions, 3, column), DTYPE_FLOAT32);
    struct value *angles = tape_multiply(tape, places, forward_tensor(f, "%srotary_emb.inv_freq", root));
    tape_drop(tape, places);
    struct value *both = tape_concatenate(tape, angles, angles, -1);
    struct value *cosine = tape_cosine(tape, both, 1.0);
    value_rebind(tape, &cosine, tape_scale(tape, cosine, 1.0));
    struct value *sine = tape_sine(tape, both, 1.0);
    value_rebind(tape, &sine, tape_scale(tape, sine, 1.0));
    layer->cosine = tape_hold(tape, tape_cast(tape, cosine, value_dtype(like)));
    layer->sine = tape_hold(tape, tape_cast(tape, sine, value_dtype(like)));
    tape_frame_close(tape, frame, NULL);
    tape_gradients(tape, gradients);
}

static struct value *decoder(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct forward_layer layer = {.forward = f};
    char path[64];
    snprintf(path, sizeof path, "%sembed_tokens", root);
    struct value *hidden = forward_words(f, path, f->config->pad_token);
    struct value *positions = forward_positions(f);
    layer.mask = forward_mask(f, hidden, true);
    rotary(f, root, hidden, &layer, positions);
    /* [.., S, D] -> [.., 1, S, D]: one for all heads */
    int64_t wide[] = {value_size(positions, 0), 1, value_size(f->ids, 1), f->config->head_dim};
    struct value *cosine = layer.cosine, *sine = layer.sine;
    layer.cosine = tape_reshape(tape, cosine, 4, wide);
    layer.sine = tape_reshape(tape, sine, 4, wide);
    tape_let_go(tape, cosine);
    tape_let_go(tape, sine);
    struct value *held[] = {layer.mask, layer.cosine, layer.sine, positions};
    /* inputs_embeds is another name of the first hidden state: it stays until the model returns. */
    hidden = forward_layers(llama_layer, &layer, root, "layers.", held, 4, hidden);
    snprintf(path, sizeof path, "%snorm", root);
    return tape_frame_close(tape, frame, rms_norm(f, path, hidden));
}

struct value *forward_llama(const struct forward *f)
{
    if (f->skeleton->head == HEAD_BARE) {
        return decoder(f, "");
    }
    int frame = tape_frame_open(f->tape);
    struct value *hidden = decoder(f, "model.");
    struct value *logits = forward_linear(f, "lm_head", forward_rows(f, hidden));
    if (f->labels == NULL) {
        return tape_frame_close(f->tape, frame, logits);
    }
    return tape_frame_close(f->tape, frame, forward_language_loss(f, logits, true));
}
