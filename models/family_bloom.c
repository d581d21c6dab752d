/* BLOOM: BloomModel, and BloomForCausalLM with its tied head (transformers 5.23). Queries, keys and values are one
 * projection, head by head; positions are biases by distance (ALiBi), which any length has.
 *
 * Worked number: bloom-560m has 250880 * 1024 parameters in its word embedding, 2 * 1024 in the norm behind it,
 * 12 * 1024^2 + 13 * 1024 in each of 24 layers and 2 * 1024 in the last norm: 559,214,592; a tied head adds none. */
#include "models/family.h"

#include "models/config_part.h"
#include "models/forward.h"
#include "models/skeleton_builder.h"

/* -- the configuration */

static void bloom_read(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), 250880, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"n_embed", "hidden_size", CONFIG_OFFSET(hidden), 64, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM / 4},
        {"n_layer", "num_hidden_layers", CONFIG_OFFSET(layers), 2, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"n_head", "num_attention_heads", CONFIG_OFFSET(heads), 8, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    config_heads_check(reader, "n_head", config);
    config->ffn = 4 * config->hidden;
    config->hidden_dropout = field_real(reader, "hidden_dropout", 0, 0.999, 0);
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "layer_norm_epsilon", 0, 1, 1e-5);
    config->residual_after_norm = field_boolean(reader, "apply_residual_connection_post_layernorm", false);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", true);
    config->attention_bias = config->attention_output_bias = config->mlp_bias = true;
    config->alibi = true;
    config->pad_token = -1; /* BLOOM's embedding has no padding index, whatever pad_token_id says */
    if (field_integer(reader, "pretraining_tp", 1, CONFIG_COUNT_MAXIMUM, 1) > 1) {
        config_refuse_true(reader, "slow_but_exact");
    }
    config->kv_heads = config->heads;
    config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
}

/* -- the skeleton */

static void skeleton_block(struct skeleton_builder *builder, int parent, int64_t number)
{
    const struct config *config = builder->config;
    int64_t hidden = config->hidden;
    int block = builder_element(builder, parent, number, "BloomBlock");
    builder_keep_whole(builder, block);
    builder_layernorm(builder, block, "input_layernorm");
    int attention = builder_module(builder, block, "self_attention", "BloomAttention");
    builder_linear(builder, attention, "query_key_value", 3 * hidden, hidden, true);
    builder_linear(builder, attention, "dense", hidden, hidden, true);
    builder_layernorm(builder, block, "post_attention_layernorm");
    int mlp = builder_module(builder, block, "mlp", "BloomMLP");
    builder_linear(builder, mlp, "dense_h_to_4h", config->ffn, hidden, true);
    builder_linear(builder, mlp, "dense_4h_to_h", hidden, config->ffn, true);
}

static void bloom_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    bool lm = head == HEAD_LM;
    int root = lm ? builder_module(builder, -1, "", "BloomForCausalLM") : -1;
    int model = builder_module(builder, root, lm ? "transformer" : "", "BloomModel");
    int words = builder_embedding(builder, model, "word_embeddings", config->vocab, config->hidden);
    builder_layernorm(builder, model, "word_embeddings_layernorm");
    int blocks = builder_module(builder, model, "h", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        skeleton_block(builder, blocks, i);
    }
    builder_layernorm(builder, model, "ln_f");
    if (lm) {
        int weight = builder_linear(builder, root, "lm_head", config->vocab, config->hidden, false);
        builder_tie(builder, config->tied_head ? weight : -1, words);
    }
}

static const char *const model_types[] = {"bloom", NULL};
static const char *const lora_targets[] = {"query_key_value", NULL};

const struct family family_bloom = {
    .name = "bloom",
    .model_types = model_types,
    .has_attention = true,
    .generates = true,
    .lora_targets = lora_targets,
    .read = bloom_read,
    .skeleton = bloom_skeleton,
};
