/* Phi-3 (and Phi-4, whose model type it is): Llama's layer with fused projections, dropout on the residual stream, and
 * perhaps a sliding window in every layer.
 *
 * Worked number: Phi-3-mini-4k has 2 * 32064 * 3072 parameters in its embedding and its head, 113,252,352 in each of 32
 * layers (9216 * 3072 + 3072^2 of attention, 16384 * 3072 + 3072 * 8192 of the feed-forward, 2 * 3072 of norms) and
 * 3,072 in the last norm: 3,821,079,552. Buffers: 2 * 48 float32: 384 bytes. */
#include "models/family/family_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/rotary.h"

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
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), 32064, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_size", NULL, CONFIG_OFFSET(hidden), 3072, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), 32, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), 32, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_key_value_heads", NULL, CONFIG_OFFSET(kv_heads), 0, 0, CONFIG_COUNT_MAXIMUM},
        {"intermediate_size", NULL, CONFIG_OFFSET(ffn), 8192, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), 4096, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"head_dim", NULL, CONFIG_OFFSET(head_dim), 0, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    if (config->head_dim == 0) {
        config_heads_check(reader, "num_attention_heads", config);
    }
    config->kv_heads = config->kv_heads > 0 ? config->kv_heads : config->heads;
    if (config->head_dim == 0 && reader->code == STATUS_OK) {
        config->head_dim = config->hidden / config->heads;
    }
    config_grouped_check(reader, config);
    config_rope(reader, config);
    config->rotary_follows = phi3_tables_follow(reader);
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

static void skeleton_norm(struct skeleton_builder *builder, int parent, const char *name)
{
    builder_module(builder, parent, name, "Phi3RMSNorm");
    builder_vector(builder, "weight", (struct initial){.constant = 1}, builder->config->hidden);
}

static void skeleton_layer(struct skeleton_builder *builder, int parent, int64_t number)
{
    const struct config *config = builder->config;
    int64_t queries = config->heads * config->head_dim; /* config_grouped_check has seen that it fits */
    int64_t keys = config->kv_heads * config->head_dim;
    int layer = builder_element(builder, parent, number, "Phi3DecoderLayer");
    builder_keep_whole(builder, layer);
    int attention = builder_module(builder, layer, "self_attn", "Phi3Attention");
    builder_linear(builder, attention, "o_proj", config->hidden, queries, false);
    builder_linear(builder, attention, "qkv_proj", queries + 2 * keys, config->hidden, false);
    int mlp = builder_module(builder, layer, "mlp", "Phi3MLP");
    builder_linear(builder, mlp, "gate_up_proj", 2 * config->ffn, config->hidden, false);
    builder_linear(builder, mlp, "down_proj", config->hidden, config->ffn, false);
    builder_activation(builder, mlp, "activation_fn");
    skeleton_norm(builder, layer, "input_layernorm");
    skeleton_norm(builder, layer, "post_attention_layernorm");
    builder_dropout(builder, layer, "resid_attn_dropout");
    builder_dropout(builder, layer, "resid_mlp_dropout");
}

static void phi3_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    int root = head == HEAD_LM ? builder_module(builder, -1, "", "Phi3ForCausalLM") : -1;
    int model = builder_module(builder, root, head == HEAD_LM ? "model" : "", "Phi3Model");
    int words = builder_embedding(builder, model, "embed_tokens", config->vocab, config->hidden);
    int layers = builder_module(builder, model, "layers", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        skeleton_layer(builder, layers, i);
    }
    skeleton_norm(builder, model, "norm");
    builder_module(builder, model, "rotary_emb", "Phi3RotaryEmbedding");
    rotary_buffers(builder, "", config->rotary_dim, config->rope_theta);
    if (head == HEAD_LM) {
        int weight = builder_linear(builder, root, "lm_head", config->vocab, config->hidden, false);
        builder_tie(builder, config->tied_head ? weight : -1, words);
    }
}

/* -- the forward pass */

/* heads of a part of the fused projection, a view [B, heads, S, D]. */
static struct value *heads_slice(const struct forward_layer *layer, struct value *fused, int64_t first, int64_t heads)
{
    const struct forward *f = layer->forward;
    int64_t width = f->config->head_dim;
    int frame = tape_frame_open(f->tape);
    struct value *part = tape_slice(f->tape, fused, 2, first * width, heads * width);
    return tape_frame_close(f->tape, frame, heads_view(f, part, heads));
}

/* apply_rotary_pos_emb: turned, and joined to what passes even where nothing does. */
static struct value *turn(const struct forward_layer *layer, struct value *heads)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    return tape_frame_close(tape, frame, rotary_join(layer, rotary_turn_first(layer, heads), heads));
}

/* Phi3Attention; eager weights stay with the open frame. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct config *config = layer->forward->config;
    struct tape *tape = layer->forward->tape;
    struct value *fused = layer_linear(layer, "self_attn.qkv_proj", hidden);
    struct value *q = heads_slice(layer, fused, 0, config->heads);
    struct value *k = heads_slice(layer, fused, config->heads, config->kv_heads);
    struct value *v = heads_slice(layer, fused, config->heads + config->kv_heads, config->kv_heads);
    struct value *turned_q = turn(layer, q);
    struct value *turned_k = turn(layer, k);
    value_rebind(tape, &q, turned_q);
    value_rebind(tape, &k, turned_k);
    struct value *out = decoder_attend(layer, "self_attn.o_proj", true, q, k, v);
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

static struct value *phi3_layer(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    double dropout = layer->forward->config->hidden_dropout;
    int frame = tape_frame_open(tape);
    struct value *hidden = layer_rms_norm(layer, "input_layernorm", input);
    value_rebind(tape, &hidden, attention(layer, hidden));
    struct value *dropped = tape_dropout(tape, hidden, dropout);
    struct value *residual = tape_add(tape, input, dropped);
    if (dropped != hidden) {
        tape_drop(tape, dropped);
    }
    tape_drop(tape, hidden);
    hidden = layer_rms_norm(layer, "post_attention_layernorm", residual);
    value_rebind(tape, &hidden, feed_forward(layer, hidden));
    dropped = tape_dropout(tape, hidden, dropout);
    return tape_frame_close(tape, frame, tape_add(tape, residual, dropped));
}

static struct value *decoder(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    char path[64];
    snprintf(path, sizeof path, "%sembed_tokens", root);
    struct value *hidden = forward_words(f, path, f->config->pad_token);
    struct decoder_tables tables = decoder_tables_make(f, DECODER_MASKS_ONE, hidden);
    decoder_rotary_make(f, &tables, DECODER_KINDS_ALL, root, "rotary_emb.inv_freq", hidden);
    hidden = decoder_layers(f, phi3_layer, &tables, root, hidden);
    snprintf(path, sizeof path, "%snorm", root);
    return tape_frame_close(tape, frame, forward_rms_norm(f, path, hidden));
}

static struct value *phi3_forward(const struct forward *f)
{
    return decoder_forward(f, decoder, "model.");
}

static const char *const model_types[] = {"phi3", NULL};

const struct family family_phi3 = {
    .name = "phi3",
    .model_types = model_types,
    .has_attention = true,
    .generates = true,
    .read = phi3_read,
    .skeleton = phi3_skeleton,
    .forward = phi3_forward,
};
