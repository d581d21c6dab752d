/* litgpt 0.5's decoder, line by line: litgpt/model.py. The names of locals are those of its functions. */
#include <math.h>
#include <stdio.h>

#include "models/forward/own_code.h"

#include "models/config/family.h"
#include "models/forward/decoder.h"
#include "models/forward/rotary.h"

/* RMSNorm.forward */
static struct value *norm(const struct forward *f, const char *path, struct value *input)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *weight = part_value(f, path, "weight");
    struct value *x = tape_cast(tape, input, DTYPE_FLOAT32);
    struct value *square = tape_multiply(tape, x, x);
    struct value *norm_x = tape_mean_last(tape, square);
    tape_drop(tape, square);
    struct value *shifted = tape_add_number(tape, norm_x, f->config->norm_epsilon);
    struct value *root = tape_reciprocal_root(tape, shifted);
    tape_drop(tape, shifted);
    struct value *x_normed = tape_multiply(tape, x, root);
    struct value *scaled = tape_multiply(tape, x_normed, tape_cast(tape, weight, DTYPE_FLOAT32));
    return tape_frame_close(tape, frame, tape_cast(tape, scaled, value_dtype(input)));
}

static struct value *layer_norm(const struct forward_layer *layer, const char *name, struct value *x)
{
    char path[FORWARD_PATH_BYTES];
    path_join(path, layer->prefix, name);
    return norm(layer->forward, path, x);
}

/* apply_rope */
static struct value *apply_rope(const struct forward *f, struct value *x)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t half = value_size(x, -1) / 2;
    struct value *x1 = tape_slice(tape, x, -1, 0, half), *x2 = tape_slice(tape, x, -1, half, half);
    struct value *negative = tape_scale(tape, x2, -1.0);
    struct value *rotated = tape_concatenate(tape, negative, x1, -1);
    tape_drop(tape, negative);
    struct value *straight = tape_multiply(tape, x, f->cosines), *turned = tape_multiply(tape, rotated, f->sines);
    struct value *roped = tape_add(tape, straight, turned);
    tape_drop(tape, straight);
    tape_drop(tape, turned);
    return tape_frame_close(tape, frame, tape_cast(tape, roped, value_dtype(x)));
}

/* torch.cat((roped, x[..., n:]), dim=-1), n being all of it. */
static struct value *beside_rest(struct tape *tape, struct value *roped, struct value *x)
{
    int frame = tape_frame_open(tape);
    struct value *rest = tape_slice(tape, x, -1, value_size(x, -1), 0);
    return tape_frame_close(tape, frame, tape_concatenate(tape, roped, rest, -1));
}

/* CausalSelfAttention.forward */
static struct value *attention(const struct forward_layer *layer, struct value *x)
{
    const struct forward *f = layer->forward;
    const struct config *config = f->config;
    struct tape *tape = f->tape;
    const int64_t heads[] = {config->heads, config->kv_heads, config->kv_heads};
    int64_t sizes[3];
    int frame = tape_frame_open(tape);
    struct value *parts[3], *roped[2];
    struct value *qkv = layer_linear(layer, "self_attn.qkv", x);
    for (int i = 0; i < 3; i++) {
        sizes[i] = heads[i] * config->head_dim;
    }
    tape_split_sizes(tape, qkv, 2, 3, sizes, parts);
    for (int i = 0; i < 3; i++) {
        value_rebind(tape, &parts[i], heads_view(f, parts[i], heads[i]));
    }
    for (int i = 0; i < 2; i++) {
        int inner = tape_frame_open(tape);
        roped[i] = tape_frame_close(tape, inner, apply_rope(f, tape_alias(tape, parts[i])));
    }
    for (int i = 0; i < 2; i++) {
        value_rebind(tape, &parts[i], beside_rest(tape, roped[i], parts[i]));
    }
    for (int i = 1; i < 3; i++) {
        value_rebind(tape, &parts[i], tape_repeat_heads(tape, parts[i], config->heads));
    }
    struct attention_form form = {.scale = 1.0 / sqrt((double)config->head_dim), .causal = true, .heads_first = true};
    struct value *weights = NULL;
    struct value *y = forward_attention(f, &form, parts[0], parts[1], parts[2], &weights);
    return tape_frame_close(tape, frame, layer_linear(layer, "self_attn.o_proj", y));
}

/* LLaMAMLP.forward */
static struct value *mlp(const struct forward_layer *layer, struct value *x)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    struct value *fc_1 = layer_linear(layer, "mlp.gate_proj", x), *fc_2 = layer_linear(layer, "mlp.up_proj", x);
    struct value *opened = tape_silu(tape, fc_1);
    struct value *product = tape_multiply(tape, opened, fc_2);
    tape_drop(tape, opened);
    return tape_frame_close(tape, frame, layer_linear(layer, "mlp.down_proj", product));
}

/* Block.forward */
static struct value *layer_block(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    int frame = tape_frame_open(tape);
    struct value *x_normed = layer_norm(layer, "input_layernorm", input);
    struct value *attention_output = attention(layer, x_normed);
    struct value *x = tape_add(tape, attention_output, input);
    value_rebind(tape, &x_normed, layer_norm(layer, "post_attention_layernorm", x));
    struct value *out = mlp(layer, x_normed);
    return tape_frame_close(tape, frame, tape_add(tape, out, x));
}

struct value *litgpt_body(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    char path[FORWARD_PATH_BYTES];
    int frame = tape_frame_open(tape);
    snprintf(path, sizeof path, "%sembed_tokens", root);
    struct value *x = forward_words(f, path, -1);
    struct forward_layer layer = {.forward = f};
    for (int64_t i = 0; i < f->config->layers; i++) {
        layer.index = i;
        snprintf(layer.prefix, sizeof layer.prefix, "%slayers.%lld", root, (long long)i);
        value_rebind(tape, &x, forward_block(f, layer_block, layer.prefix, &layer, sizeof layer, NULL, 0, x));
    }
    snprintf(path, sizeof path, "%snorm", root);
    return tape_frame_close(tape, frame, norm(f, path, x));
}
