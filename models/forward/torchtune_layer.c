/* torchtune 0.6's decoder, line by line: modules/transformer.py, attention.py, feed_forward.py, rms_norm.py,
 * models/llama3_1/_position_embeddings.py. The names of locals are those of its functions. Only with weights in 16
 * bits: of float32 ones torch 2.11 runs a kernel in place of rms_norm's operations. */
#include <math.h>
#include <stdio.h>

#include "models/forward/own_code.h"

#include "models/config/family.h"
#include "models/forward/decoder.h"

/* F.rms_norm(x.float(), weight=self.scale); the sum with epsilon is in place. */
static struct value *rms_norm(const struct forward *f, struct value *x, struct value *scale)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *wide = tape_cast(tape, x, DTYPE_FLOAT32);
    struct value *square = tape_power(tape, wide, 2.0);
    struct value *mean = tape_mean_last(tape, square);
    tape_add_number_(tape, mean, f->config->norm_epsilon);
    struct value *root = tape_reciprocal_root(tape, mean);
    tape_drop(tape, mean);
    tape_drop(tape, square);
    struct value *result = tape_multiply(tape, wide, root);
    value_rebind(tape, &result, tape_multiply(tape, result, scale));
    return tape_frame_close(tape, frame, result);
}

/* RMSNorm.forward: that, .to(x.dtype) */
static struct value *norm(const struct forward *f, const char *path, struct value *x)
{
    int frame = tape_frame_open(f->tape);
    struct value *normed = rms_norm(f, x, part_value(f, path, "weight"));
    return tape_frame_close(f->tape, frame, tape_cast(f->tape, normed, value_dtype(x)));
}

static struct value *layer_norm(const struct forward_layer *layer, const char *name, struct value *x)
{
    char path[FORWARD_PATH_BYTES];
    path_join(path, layer->prefix, name);
    return norm(layer->forward, path, x);
}

/* The elements of pairs, shaped[..., which], times a table: each time the code names one, it is another view. */
static struct value *element_times(struct tape *tape, struct value *shaped, int which, struct value *table)
{
    struct value *element = tape_every(tape, shaped, which, 2);
    struct value *product = tape_multiply(tape, element, table);
    tape_drop(tape, element);
    return product;
}

/* Llama3ScaledRoPE: pairs of neighbours, in float32. */
static struct value *turned_pairs(const struct forward *f, struct value *x)
{
    struct tape *tape = f->tape;
    struct value *parts[2];
    int frame = tape_frame_open(tape);
    struct value *shaped = tape_cast(tape, x, DTYPE_FLOAT32);
    for (int i = 0; i < 2; i++) {
        int inner = tape_frame_open(tape);
        struct value *left = element_times(tape, shaped, i, f->cosines);
        struct value *right = element_times(tape, shaped, 1 - i, f->sines);
        parts[i] =
            tape_frame_close(tape, inner, i == 0 ? tape_subtract(tape, left, right) : tape_add(tape, left, right));
    }
    struct value *out = tape_interleave(tape, parts[0], parts[1]);
    tape_drop(tape, parts[1]);
    tape_drop(tape, parts[0]);
    return tape_frame_close(tape, frame, tape_cast(tape, out, value_dtype(x)));
}

/* Qwen2RotaryPositionalEmbeddings: halves, in the dtype of x. */
static struct value *turned_halves(const struct forward *f, struct value *x)
{
    struct tape *tape = f->tape;
    int64_t half = value_size(x, -1) / 2;
    int frame = tape_frame_open(tape);
    struct value *cosines = tape_cast(tape, f->cosines, value_dtype(x));
    struct value *sines = tape_cast(tape, f->sines, value_dtype(x));
    struct value *x1 = tape_slice(tape, x, -1, 0, half), *x2 = tape_slice(tape, x, -1, half, half);
    struct value *negative = tape_scale(tape, x2, -1.0);
    struct value *rotated = tape_concatenate(tape, negative, x1, -1);
    tape_drop(tape, negative);
    struct value *straight = tape_multiply(tape, x, cosines), *turned = tape_multiply(tape, rotated, sines);
    return tape_frame_close(tape, frame, tape_add(tape, straight, turned));
}

/* x [b, s, heads, d] -> the same, turned: pos_embeddings(x). */
static struct value *turned(const struct forward *f, struct value *x)
{
    return (own_code_turns_halves(f) ? turned_halves : turned_pairs)(f, x);
}

/* rows = rows.view(b, s, heads, d) */
static void heads_see(const struct forward_layer *layer, struct value **rows, int64_t heads)
{
    int64_t size[] = {value_size(*rows, 0), value_size(*rows, 1), heads, layer->forward->config->head_dim};
    value_rebind(layer->forward->tape, rows, tape_reshape(layer->forward->tape, *rows, 4, size));
}

/* MultiHeadAttention.forward(x, x) */
static struct value *attention(const struct forward_layer *layer, struct value *x)
{
    const struct forward *f = layer->forward;
    const struct config *config = f->config;
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *q = layer_linear(layer, "self_attn.q_proj", x);
    heads_see(layer, &q, config->heads);
    value_rebind(tape, &q, turned(f, q));
    value_rebind(tape, &q, tape_transpose(tape, q, 1, 2));
    struct value *k = layer_linear(layer, "self_attn.k_proj", x);
    struct value *v = layer_linear(layer, "self_attn.v_proj", x);
    heads_see(layer, &k, config->kv_heads);
    heads_see(layer, &v, config->kv_heads);
    value_rebind(tape, &k, turned(f, k));
    value_rebind(tape, &k, tape_transpose(tape, k, 1, 2));
    value_rebind(tape, &v, tape_transpose(tape, v, 1, 2));
    value_rebind(tape, &k, tape_repeat_heads(tape, k, config->heads));
    value_rebind(tape, &v, tape_repeat_heads(tape, v, config->heads));
    struct attention_form form = {
        .scale = 1.0 / sqrt((double)config->head_dim), .dropout = config->attention_dropout, .causal = true};
    struct value *weights = NULL;
    struct value *output = forward_attention(f, &form, q, k, v, &weights);
    return tape_frame_close(tape, frame, layer_linear(layer, "self_attn.o_proj", output));
}

/* FeedForward.forward */
static struct value *mlp(const struct forward_layer *layer, struct value *x)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    struct value *h = layer_activation(layer, "mlp.act_fn", layer_linear(layer, "mlp.gate_proj", x));
    struct value *up = layer_linear(layer, "mlp.up_proj", x);
    struct value *product = tape_multiply(tape, h, up);
    tape_drop(tape, up);
    value_rebind(tape, &h, product);
    return tape_frame_close(tape, frame, layer_linear(layer, "mlp.down_proj", h));
}

/* TransformerSelfAttentionLayer.forward */
static struct value *layer_block(struct tape *tape, const void *context, struct value *x)
{
    const struct forward_layer *layer = context;
    int frame = tape_frame_open(tape);
    struct value *h = layer_norm(layer, "input_layernorm", x);
    struct value *attn_out = attention(layer, h);
    value_rebind(tape, &h, tape_add(tape, attn_out, x));
    struct value *normed = layer_norm(layer, "post_attention_layernorm", h);
    struct value *mlp_out = mlp(layer, normed);
    tape_drop(tape, normed);
    return tape_frame_close(tape, frame, tape_add(tape, h, mlp_out));
}

struct value *torchtune_body(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    char path[FORWARD_PATH_BYTES];
    int frame = tape_frame_open(tape);
    snprintf(path, sizeof path, "%sembed_tokens", root);
    struct value *h = forward_words(f, path, -1);
    struct forward_layer layer = {.forward = f};
    for (int64_t i = 0; i < f->config->layers; i++) {
        layer.index = i;
        snprintf(layer.prefix, sizeof layer.prefix, "%slayers.%lld", root, (long long)i);
        value_rebind(tape, &h, forward_block(f, layer_block, layer.prefix, &layer, sizeof layer, NULL, 0, h));
    }
    snprintf(path, sizeof path, "%snorm", root);
    return tape_frame_close_with(tape, frame, norm(f, path, h), h);
}
