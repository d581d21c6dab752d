/* Skeleton of Llama, Mistral and Qwen2: the bare model, or ...ForCausalLM (transformers 5.23). The three differ by the
 * names of their classes and by biases, which the configuration states.
 *
 * Worked number: Llama-2-7b has 32000 * 4096 + 32 * (4 * 4096^2 + 3 * 4096 * 11008 + 2 * 4096) + 4096 = 6,607,343,616
 * parameters, and 32000 * 4096 more in its head: 6,738,415,616. Buffers: 2 * 64 float32: 512 bytes. */
#include "models/skeleton_builder.h"

#include <string.h>

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

static void llama_norm(struct skeleton_builder *builder, int parent, const char *name, const char *class_name)
{
    builder_module(builder, parent, name, class_name);
    builder_vector(builder, "weight", (struct initial){.constant = 1}, builder->config->hidden);
}

static void llama_layer(struct skeleton_builder *builder, int parent, int64_t number,
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
    llama_norm(builder, layer, "input_layernorm", classes->norm);
    llama_norm(builder, layer, "post_attention_layernorm", classes->norm);
}

void skeleton_llama(struct skeleton_builder *builder, enum head head)
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
        llama_layer(builder, layers, i, classes);
    }
    llama_norm(builder, model, "norm", classes->norm);
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
