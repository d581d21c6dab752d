/* Phi-3 (and Phi-4, whose model type it is): Llama's layer with fused projections, dropout on the residual stream, and
 * perhaps a sliding window in every layer.
 *
 * Worked number: Phi-3-mini-4k has 2 * 32064 * 3072 parameters in its embedding and its head, 113,252,352 in each of 32
 * layers (9216 * 3072 + 3072^2 of attention, 16384 * 3072 + 3072 * 8192 of the feed-forward, 2 * 3072 of norms) and
 * 3,072 in the last norm: 3,821,079,552. Buffers: 2 * 48 float32: 384 bytes. */
#include "models/family/family_table.h"

#include <inttypes.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/decoder_skeleton.h"
#include "models/forward/rotary.h"

static const struct decoder_type types[] = {
    {.model_type = "phi3",
     .classes = DECODER_CLASSES("Phi3"),
     .sizes = {.vocab = 32064,
               .hidden = 3072,
               .layers = 32,
               .heads = 32,
               .ffn = 8192,
               .positions = 4096,
               .head_dim_null = FIELD_NULL_REFUSED}},
};

/* -- the configuration */

/* "su" and "yarn" are older names of longrope, whose tables follow the length of the sequence: the class computes them
 * anew at each pass. */
static bool phi3_tables_follow(struct field_reader *reader)
{
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct json *object = field_member(reader, keys[i]);
        const char *type = json_string_or(json_get(object, "rope_type"), json_string_or(json_get(object, "type"), ""));
        if (strcmp(type, "longrope") == 0 || strcmp(type, "su") == 0 || strcmp(type, "yarn") == 0) {
            return true;
        }
        if (type[0] != '\0' && strcmp(type, "default") != 0) {
            field_fault(reader, keys[i],
                        "rotary tables of type '%.40s' are not modelled; known are default and longrope", type);
        }
    }
    return false;
}

static void phi3_read(struct field_reader *reader, struct config *config)
{
    decoder_read_sizes(reader, config);
    decoder_read_heads(reader, config);
    config_rope(reader, config);
    if (phi3_tables_follow(reader)) {
        config->only_loads = (struct config_stillness){
            .cause = "its rotary tables follow the length of the sequence (longrope), which is not modelled",
            .remedy = "take the model of the original context"};
    }
    double factor = field_real(reader, "partial_rotary_factor", 0, 1, 1);
    config->rotary_dim = (int64_t)((double)config->head_dim * factor);
    if (reader->code == STATUS_OK && (config->rotary_dim < 2 || config->rotary_dim % 2 != 0)) {
        field_fault(reader, "partial_rotary_factor",
                    "it turns %" PRId64 " elements of a head; write a part that makes an "
                    "even number, 2 or more",
                    config->rotary_dim);
    }
    config_activation(reader, "hidden_act", ACTIVATION_SILU, config);
    config_pad_token(reader, config->vocab > 32000 ? 32000 : -1, config);
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->hidden_dropout = field_real(reader, "resid_pdrop", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "rms_norm_eps", 0, 1, 1e-5);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", false);
    int64_t window = field_integer(reader, "sliding_window", 1, CONFIG_COUNT_MAXIMUM, 0);
    for (int64_t i = 0; i < config->layers && window > 0; i++) {
        config_layer_slide(config, i);
    }
    config_window(config, window);
}

/* -- the skeleton */

static void attention_list(struct skeleton_builder *builder, int layer, int64_t number, const struct decoder_type *type)
{
    (void)number;
    const struct config *config = builder->config;
    int64_t queries = config->heads * config->head_dim; /* config_grouped_check has seen that it fits */
    int64_t keys = config->kv_heads * config->head_dim;
    int attention = builder_module(builder, layer, "self_attn", type->classes.attention);
    builder_linear(builder, attention, "o_proj", config->hidden, queries, false);
    builder_linear(builder, attention, "qkv_proj", queries + 2 * keys, config->hidden, false);
}

static void feed_list(struct skeleton_builder *builder, int layer, int64_t number, const struct decoder_type *type)
{
    (void)number;
    const struct config *config = builder->config;
    int mlp = builder_module(builder, layer, "mlp", type->classes.mlp);
    builder_linear(builder, mlp, "gate_up_proj", 2 * config->ffn, config->hidden, false);
    builder_linear(builder, mlp, "down_proj", config->hidden, config->ffn, false);
    builder_activation(builder, mlp, "activation_fn");
}

static void layer_list(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type)
{
    decoder_part_list *const parts[] = {attention_list, feed_list};
    int layer = decoder_layer_list(builder, layers, number, type, parts);
    builder_dropout(builder, layer, "resid_attn_dropout");
    builder_dropout(builder, layer, "resid_mlp_dropout");
}

/* -- the forward pass */

/* The parts of the fused projection, views [B, heads, S, D]: all are sliced before one becomes heads. */
static void heads_slice(const struct forward_layer *layer, struct value *fused, struct value *parts[3])
{
    const struct forward *f = layer->forward;
    const struct config *config = f->config;
    const int64_t heads[] = {config->heads, config->kv_heads, config->kv_heads};
    int64_t first = 0;
    for (int i = 0; i < 3; i++) {
        parts[i] = tape_slice(f->tape, fused, 2, first, heads[i] * config->head_dim);
        first += heads[i] * config->head_dim;
    }
    for (int i = 0; i < 3; i++) {
        value_rebind(f->tape, &parts[i], heads_view(f, parts[i], heads[i]));
    }
}

/* apply_rotary_pos_emb: queries and keys turned, and joined to what passes even if nothing does. */
static void turn(const struct forward_layer *layer, struct value *heads[2])
{
    struct tape *tape = layer->forward->tape;
    struct rotary_cut cuts[] = {rotary_cut(layer, heads[0]), rotary_cut(layer, heads[1])};
    struct value *joined[2];
    for (int i = 0; i < 2; i++) {
        int frame = tape_frame_open(tape);
        struct value *turned = rotary_turn(layer, cuts[i].turning);
        joined[i] = tape_frame_close(tape, frame, rotary_join(layer, turned, cuts[i].passing));
    }
    for (int i = 0; i < 2; i++) {
        tape_drop(tape, cuts[i].turning);
        tape_drop(tape, cuts[i].passing);
        value_rebind(tape, &heads[i], joined[i]);
    }
}

/* Phi3Attention; eager weights stay with the open frame. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden)
{
    struct tape *tape = layer->forward->tape;
    struct value *fused = layer_linear(layer, "self_attn.qkv_proj", hidden);
    struct value *parts[3]; /* queries, keys, values */
    heads_slice(layer, fused, parts);
    turn(layer, parts);
    struct value *out = decoder_attend(layer, "self_attn.o_proj", true, parts[0], parts[1], parts[2]);
    tape_drop(tape, fused);
    return out;
}

static struct value *feed_forward(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *parts[2]; /* the gate, and what it lets through */
    struct value *fused = layer_linear(layer, "mlp.gate_up_proj", hidden);
    tape_split(tape, fused, 2, 2, parts);
    tape_drop(tape, fused);
    struct value *gate = tape_hold(tape, parts[0]); /* it keeps its name until the module returns */
    struct value *opened = forward_activation(f, f->config->activation, gate);
    value_rebind(tape, &parts[1], tape_multiply(tape, parts[1], opened));
    tape_drop(tape, opened);
    struct value *out = layer_linear(layer, "mlp.down_proj", parts[1]);
    out = tape_frame_close(tape, frame, out);
    tape_let_go(tape, gate);
    return out;
}

static struct value *phi3_layer(struct tape *tape, const void *layer, struct value *input)
{
    (void)tape;
    return decoder_layer(layer, input, attention, feed_forward);
}

static const struct decoder phi3 = {
    .names = DECODER_NAMES_LLAMA,
    .types = DECODER_TYPES(types),
    .heads = decoder_heads_classes,
    .layer_list = layer_list,
    .layer = phi3_layer,
};

static const char *const model_types[] = {"phi3", NULL};

const struct family family_phi3 = {
    .name = "phi3",
    .model_types = model_types,
    .has_attention = true,
    .generates = true,
    .read = phi3_read,
    .has_head = decoder_has_head,
    .decoder = &phi3,
    .skeleton = decoder_skeleton,
    .forward = decoder_forward,
};
