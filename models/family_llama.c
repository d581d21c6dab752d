/* Llama and its kin (Mistral, Qwen2): RMSNorm, rotary positions, grouped heads, SwiGLU; with or without the head.
 *
 * Skeleton of Llama, Mistral and Qwen2: the bare model, or ...ForCausalLM (transformers 5.23). The three differ by the
 * names of their classes and by biases, which the configuration states.
 *
 * Worked number: Llama-2-7b has 32000 * 4096 + 32 * (4 * 4096^2 + 3 * 4096 * 11008 + 2 * 4096) + 4096 = 6,607,343,616
 * parameters, and 32000 * 4096 more in its head: 6,738,415,616. Buffers: 2 * 64 float32: 512 bytes. */
#include "models/family.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/config_part.h"
#include "models/forward.h"
#include "models/rotary.h"
#include "models/skeleton_builder.h"

/* -- the configuration */

static void llama_check(struct field_reader *reader, const struct config *config)
{
    if (reader->code != STATUS_OK) {
        return;
    }
    if (config->heads % config->kv_heads != 0) {
        field_fault(reader, "num_key_value_heads",
                    "%" PRId64 " does not divide the %" PRId64 " attention heads; write a number that does",
                    config->kv_heads, config->heads);
    }
    if (config->heads > CONFIG_COUNT_MAXIMUM / config->head_dim) {
        field_fault(reader, "head_dim", "%" PRId64 " heads of %" PRId64 " are too large; write smaller numbers",
                    config->heads, config->head_dim);
    }
    if (config->head_dim % 2 != 0) {
        field_fault(reader, "head_dim", "%" PRId64 " is odd; rotary embeddings need an even size of a head",
                    config->head_dim);
    }
}

static void llama_read(struct field_reader *reader, struct config *config)
{
    bool mistral = strcmp(config->model_type, "mistral") == 0;
    bool qwen2 = strcmp(config->model_type, "qwen2") == 0;
    const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), qwen2 ? 151936 : 32000, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_size", NULL, CONFIG_OFFSET(hidden), 4096, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), 32, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), 32, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_key_value_heads", NULL, CONFIG_OFFSET(kv_heads),
         qwen2     ? 32
         : mistral ? 8
                   : 0,
         0, CONFIG_COUNT_MAXIMUM},
        {"intermediate_size", NULL, CONFIG_OFFSET(ffn),
         qwen2     ? 22016
         : mistral ? 14336
                   : 11008,
         FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions),
         qwen2     ? 32768
         : mistral ? 131072
                   : 2048,
         FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"head_dim", NULL, CONFIG_OFFSET(head_dim), 0, 0, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    if (config->head_dim == 0 || (!mistral && !qwen2)) {
        config_heads_check(reader, "num_attention_heads", config);
    }
    config->kv_heads = config->kv_heads > 0 ? config->kv_heads : config->heads;
    if (config->head_dim == 0 && reader->code == STATUS_OK) {
        config->head_dim = config->hidden / config->heads;
    }
    llama_check(reader, config);
    config_activation(reader, "hidden_act", ACTIVATION_SILU, config);
    config_rope(reader, config);
    config_pad_token(reader, -1, config);
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "rms_norm_eps", 0, 1, 1e-6);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", false);
    bool windowed = mistral || (qwen2 && field_boolean(reader, "use_sliding_window", false));
    config->sliding_window = windowed ? 4096 : 0;
    if (windowed && field_member(reader, "sliding_window") != NULL) {
        config->sliding_window = field_integer(reader, "sliding_window", 1, CONFIG_COUNT_MAXIMUM, 0);
    }
    bool plain = !mistral && !qwen2; /* only Llama's own class reads these two */
    config->attention_bias = qwen2 || (plain && field_boolean(reader, "attention_bias", false));
    config->attention_output_bias = plain && config->attention_bias;
    config->mlp_bias = plain && field_boolean(reader, "mlp_bias", false);
}

/* -- the skeleton */

struct llama_classes {
    const char *model_type, *model, *head, *layer, *attention, *mlp, *norm, *rotary;
};

static const struct llama_classes classes_of_types[] = {
    {"llama", "LlamaModel", "LlamaForCausalLM", "LlamaDecoderLayer", "LlamaAttention", "LlamaMLP", "LlamaRMSNorm",
     "LlamaRotaryEmbedding"},
    {"mistral", "MistralModel", "MistralForCausalLM", "MistralDecoderLayer", "MistralAttention", "MistralMLP",
     "MistralRMSNorm", "MistralRotaryEmbedding"},
    {"qwen2", "Qwen2Model", "Qwen2ForCausalLM", "Qwen2DecoderLayer", "Qwen2Attention", "Qwen2MLP", "Qwen2RMSNorm",
     "Qwen2RotaryEmbedding"},
};

static const struct llama_classes *llama_classes_of(const struct config *config)
{
    for (size_t i = 1; i < sizeof classes_of_types / sizeof classes_of_types[0]; i++) {
        if (strcmp(config->model_type, classes_of_types[i].model_type) == 0) {
            return &classes_of_types[i];
        }
    }
    return &classes_of_types[0];
}

static void skeleton_norm(struct skeleton_builder *builder, int parent, const char *name, const char *class_name)
{
    builder_module(builder, parent, name, class_name);
    builder_vector(builder, "weight", (struct initial){.constant = 1}, builder->config->hidden);
}

static void skeleton_layer(struct skeleton_builder *builder, int parent, int64_t number,
                           const struct llama_classes *classes)
{
    const struct config *config = builder->config;
    int64_t queries = config->heads * config->head_dim; /* config.c has checked that it fits */
    int64_t keys = config->kv_heads * config->head_dim;
    int layer = builder_element(builder, parent, number, classes->layer);
    builder_keep_whole(builder, layer);
    int attention = builder_module(builder, layer, "self_attn", classes->attention);
    builder_linear(builder, attention, "q_proj", queries, config->hidden, config->attention_bias);
    builder_linear(builder, attention, "k_proj", keys, config->hidden, config->attention_bias);
    builder_linear(builder, attention, "v_proj", keys, config->hidden, config->attention_bias);
    builder_linear(builder, attention, "o_proj", config->hidden, queries, config->attention_output_bias);
    int mlp = builder_module(builder, layer, "mlp", classes->mlp);
    builder_linear(builder, mlp, "gate_proj", config->ffn, config->hidden, config->mlp_bias);
    builder_linear(builder, mlp, "up_proj", config->ffn, config->hidden, config->mlp_bias);
    builder_linear(builder, mlp, "down_proj", config->hidden, config->ffn, config->mlp_bias);
    skeleton_norm(builder, layer, "input_layernorm", classes->norm);
    skeleton_norm(builder, layer, "post_attention_layernorm", classes->norm);
}

static void llama_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    const struct llama_classes *classes = llama_classes_of(config);
    int root = -1;
    int model = -1;
    if (head == HEAD_LM) {
        root = builder_module(builder, -1, "", classes->head);
        model = builder_module(builder, root, "model", classes->model);
    } else {
        model = builder_module(builder, -1, "", classes->model);
    }
    int words = builder_embedding(builder, model, "embed_tokens", config->vocab, config->hidden);
    int layers = builder_module(builder, model, "layers", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        skeleton_layer(builder, layers, i, classes);
    }
    skeleton_norm(builder, model, "norm", classes->norm);
    builder_module(builder, model, "rotary_emb", classes->rotary);
    /* Angles need float32: casting the model leaves them as they are. */
    static const struct buffer_kind frequencies = {
        .dtype = DTYPE_FLOAT32, .keeps_dtype = true, .initial = INITIAL_INVERSE_FREQUENCY};
    const int64_t half[] = {config->head_dim / 2};
    builder_buffer(builder, "inv_freq", &frequencies, 1, half);
    builder_buffer(builder, "original_inv_freq", &frequencies, 1, half);
    if (head == HEAD_LM) {
        int weight = builder_linear(builder, root, "lm_head", config->vocab, config->hidden, false);
        builder_tie(builder, config->tied_head ? weight : -1, words);
    }
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
    struct value *rotated_q = rotary_turn(layer, q);
    struct value *rotated_k = rotary_turn(layer, k);
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
    struct value *hidden = layer_rms_norm(layer, "input_layernorm", input);
    struct value *attended = attention(layer, hidden);
    tape_drop(tape, hidden);
    hidden = tape_add(tape, input, attended);
    tape_drop(tape, attended);
    struct value *residual = hidden;
    hidden = layer_rms_norm(layer, "post_attention_layernorm", residual);
    value_rebind(tape, &hidden, feed_forward(layer, hidden));
    value_rebind(tape, &hidden, tape_add(tape, residual, hidden));
    return tape_frame_close(tape, frame, hidden);
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
    rotary_make(&layer, root, hidden, positions);
    struct value *held[] = {layer.mask, layer.cosine, layer.sine, positions};
    /* inputs_embeds is another name of the first hidden state: it stays until the model returns. */
    hidden = forward_layers(llama_layer, &layer, root, "layers.", held, 4, hidden);
    snprintf(path, sizeof path, "%snorm", root);
    return tape_frame_close(tape, frame, forward_rms_norm(f, path, hidden));
}

static struct value *llama_forward(const struct forward *f)
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

static const char *const model_types[] = {"llama", "mistral", "qwen2", NULL};
static const char *const lora_targets[] = {"q_proj", "v_proj", NULL};

const struct family family_llama = {
    .name = "llama",
    .model_types = model_types,
    .has_attention = true,
    .generates = true,
    .lora_targets = lora_targets,
    .read = llama_read,
    .skeleton = llama_skeleton,
    .forward = llama_forward,
};
