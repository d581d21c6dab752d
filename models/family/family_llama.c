/* Llama and its kin (Mistral, Qwen2, Qwen3): RMSNorm, rotary positions, grouped heads, SwiGLU; with or without the
 * head.
 *
 * Skeleton of Llama, Mistral, Qwen2 and Qwen3: the bare model, or ...ForCausalLM (transformers 5.23). They differ by
 * the names of their classes, by biases and windows, which the configuration states, and Qwen3 normalises queries and
 * keys.
 *
 * Worked number: Llama-2-7b has 32000 * 4096 + 32 * (4 * 4096^2 + 3 * 4096 * 11008 + 2 * 4096) + 4096 = 6,607,343,616
 * parameters, and 32000 * 4096 more in its head: 6,738,415,616. Buffers: 2 * 64 float32: 512 bytes. */
#include "models/family/family_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/rotary.h"
#include "models/skeleton/skeleton_builder.h"

/* -- the configuration */

/* What the classes of one model type have by default, where it is not Llama's. */
struct llama_defaults {
    const char *model_type;
    int64_t vocab, kv_heads, ffn, positions, head_dim; /* kv_heads and head_dim 0: as the heads say */
};

static const struct llama_defaults *llama_defaults_of(const struct config *config)
{
    static const struct llama_defaults rows[] = {
        {"llama", 32000, 0, 11008, 2048, 0},
        {"mistral", 32000, 8, 14336, 131072, 0},
        {"qwen2", 151936, 32, 22016, 32768, 0},
        {"qwen3", 151936, 32, 22016, 32768, 128},
    };
    for (size_t i = 1; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(config->model_type, rows[i].model_type) == 0) {
            return &rows[i];
        }
    }
    return &rows[0];
}

/* Mistral: every layer; Qwen: those from max_window_layers on, or as layer_types says, where it is switched on. */
static void llama_read_window(struct field_reader *reader, struct config *config)
{
    bool mistral = strcmp(config->model_type, "mistral") == 0;
    bool qwen = strncmp(config->model_type, "qwen", 4) == 0;
    int64_t window = 4096;
    if (!mistral && !(qwen && field_boolean(reader, "use_sliding_window", false))) {
        return;
    }
    if (field_member(reader, "sliding_window") != NULL) {
        window = field_integer(reader, "sliding_window", 1, CONFIG_COUNT_MAXIMUM, 0);
    }
    int64_t first = mistral ? 0 : field_integer(reader, "max_window_layers", 0, CONFIG_COUNT_MAXIMUM, 28);
    if (window > 0 && !(qwen && config_layer_types(reader, config))) {
        for (int64_t i = first; i < config->layers && reader->code == STATUS_OK; i++) {
            config_layer_slide(config, i);
        }
    }
    config_window(config, window);
}

static void llama_read(struct field_reader *reader, struct config *config)
{
    const struct llama_defaults *own = llama_defaults_of(config);
    bool plain = strcmp(own->model_type, "llama") == 0; /* only Llama's own class reads these biases */
    bool qwen2 = strcmp(own->model_type, "qwen2") == 0, qwen3 = strcmp(own->model_type, "qwen3") == 0;
    const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), own->vocab, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_size", NULL, CONFIG_OFFSET(hidden), 4096, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), 32, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), 32, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_key_value_heads", NULL, CONFIG_OFFSET(kv_heads), own->kv_heads, 0, CONFIG_COUNT_MAXIMUM},
        {"intermediate_size", NULL, CONFIG_OFFSET(ffn), own->ffn, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), own->positions, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"head_dim", NULL, CONFIG_OFFSET(head_dim), own->head_dim, qwen3 ? FIELD_NULL_REFUSED : 0,
         CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    if (config->head_dim == 0 || plain) {
        config_heads_check(reader, "num_attention_heads", config);
    }
    config->kv_heads = config->kv_heads > 0 ? config->kv_heads : config->heads;
    if (config->head_dim == 0 && reader->code == STATUS_OK) {
        config->head_dim = config->hidden / config->heads;
    }
    config_grouped_check(reader, config);
    config->rotary_dim = config->head_dim;
    config_activation(reader, "hidden_act", ACTIVATION_SILU, config);
    config_rope(reader, config);
    config_pad_token(reader, -1, config);
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "rms_norm_eps", 0, 1, 1e-6);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", false);
    llama_read_window(reader, config);
    config->head_norms = qwen3;
    config->attention_bias = qwen2 || ((plain || qwen3) && field_boolean(reader, "attention_bias", false));
    config->attention_output_bias = !qwen2 && config->attention_bias;
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
    {"qwen3", "Qwen3Model", "Qwen3ForCausalLM", "Qwen3DecoderLayer", "Qwen3Attention", "Qwen3MLP", "Qwen3RMSNorm",
     "Qwen3RotaryEmbedding"},
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
    if (config->head_norms) {
        builder_rms_norm(builder, attention, "q_norm", classes->norm, config->head_dim);
        builder_rms_norm(builder, attention, "k_norm", classes->norm, config->head_dim);
    }
    int mlp = builder_module(builder, layer, "mlp", classes->mlp);
    builder_linear(builder, mlp, "gate_proj", config->ffn, config->hidden, config->mlp_bias);
    builder_linear(builder, mlp, "up_proj", config->ffn, config->hidden, config->mlp_bias);
    builder_linear(builder, mlp, "down_proj", config->hidden, config->ffn, config->mlp_bias);
    builder_activation(builder, mlp, "act_fn");
    builder_rms_norm(builder, layer, "input_layernorm", classes->norm, config->hidden);
    builder_rms_norm(builder, layer, "post_attention_layernorm", classes->norm, config->hidden);
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
    builder_rms_norm(builder, model, "norm", classes->norm, config->hidden);
    builder_module(builder, model, "rotary_emb", classes->rotary);
    rotary_buffers(builder, "", config->rotary_dim, config->rope_theta);
    if (head == HEAD_LM) {
        int weight = builder_linear(builder, root, "lm_head", config->vocab, config->hidden, false);
        builder_tie(builder, config->tied_head ? weight : -1, words);
    }
}

/* -- the forward pass */

static struct value *llama_layer(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    int frame = tape_frame_open(tape);
    struct value *hidden = layer_rms_norm(layer, "input_layernorm", input);
    struct value *attended = decoder_attention(layer, hidden);
    tape_drop(tape, hidden);
    hidden = tape_add(tape, input, attended);
    tape_drop(tape, attended);
    struct value *residual = hidden;
    hidden = layer_rms_norm(layer, "post_attention_layernorm", residual);
    value_rebind(tape, &hidden, decoder_gated_feed_forward(layer, hidden));
    value_rebind(tape, &hidden, tape_add(tape, residual, hidden));
    return tape_frame_close(tape, frame, hidden);
}

static struct value *decoder(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    char path[64];
    snprintf(path, sizeof path, "%sembed_tokens", root);
    struct value *hidden = forward_words(f, path, f->config->pad_token);
    bool mistral = strcmp(f->config->model_type, "mistral") == 0;
    struct decoder_tables tables = decoder_tables_make(f, mistral ? DECODER_MASKS_ONE : DECODER_MASKS_USED, hidden);
    decoder_rotary_make(f, &tables, DECODER_KINDS_ALL, root, "rotary_emb.inv_freq", hidden);
    /* inputs_embeds is another name of the first hidden state: it stays until the model returns. */
    hidden = decoder_layers(f, llama_layer, &tables, root, hidden);
    snprintf(path, sizeof path, "%snorm", root);
    return tape_frame_close(tape, frame, forward_rms_norm(f, path, hidden));
}

static struct value *llama_forward(const struct forward *f)
{
    return decoder_forward(f, decoder, "model.");
}

static const char *const model_types[] = {"llama", "mistral", "qwen2", "qwen3", NULL};
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
