/* OPT: OPTModel, and OPTForCausalLM with its tied head (transformers 5.23). Positions are learned and begin in row 2 of
 * their table; opt-350m has narrower word embeddings, projected in and out, and norms behind the sums.
 *
 * Worked number: opt-125m has (50272 + 2050) * 768 = 40,183,296 parameters in its embeddings, 7,087,872 in each of 12
 * layers and 1,536 in the last norm: 125,239,296; a tied head adds none. */
#include "models/family.h"

#include "models/config_part.h"
#include "models/forward.h"
#include "models/skeleton_builder.h"

/* -- the configuration */

enum { POSITION_OFFSET = 2 };

static void opt_read(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), 50272, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_size", NULL, CONFIG_OFFSET(hidden), 768, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), 12, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), 12, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"ffn_dim", NULL, CONFIG_OFFSET(ffn), 3072, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), 2048, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"word_embed_proj_dim", NULL, CONFIG_OFFSET(word_width), 0, 0, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    config_heads_check(reader, "num_attention_heads", config);
    config->word_width = config->word_width > 0 ? config->word_width : config->hidden;
    config->position_offset = POSITION_OFFSET;
    config_activation(reader, "activation_function", ACTIVATION_RELU, config);
    config->hidden_dropout = field_real(reader, "dropout", 0, 0.999, 0.1);
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = 1e-5; /* the real classes know no other */
    config->norm_first = field_boolean(reader, "do_layer_norm_before", true);
    config->final_norm = config->norm_first && !field_boolean(reader, "_remove_final_layer_norm", false);
    config->norm_affine = field_boolean(reader, "layer_norm_elementwise_affine", true);
    config->initializer_range = field_real(reader, "init_std", 0, 1, 0.02);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", true);
    bool bias = field_boolean(reader, "enable_bias", true);
    config->attention_bias = config->attention_output_bias = config->mlp_bias = bias;
    config_pad_token(reader, 1, config);
    if (field_real(reader, "layerdrop", 0, 1, 0) > 0) {
        field_fault(reader, "layerdrop", "layers that are left out at random are not modelled; write 0.0");
    }
    config->kv_heads = config->heads;
    config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
}

/* -- the skeleton */

static void skeleton_norm(struct skeleton_builder *builder, int parent, const char *name)
{
    if (builder->config->norm_affine) {
        builder_layernorm(builder, parent, name);
    }
}

static void skeleton_layer(struct skeleton_builder *builder, int parent, int64_t number)
{
    static const char *const projections[] = {"k_proj", "v_proj", "q_proj", "out_proj"};
    const struct config *config = builder->config;
    int layer = builder_element(builder, parent, number, "OPTDecoderLayer");
    builder_keep_whole(builder, layer);
    int attention = builder_module(builder, layer, "self_attn", "OPTAttention");
    for (size_t i = 0; i < sizeof projections / sizeof projections[0]; i++) {
        builder_linear(builder, attention, projections[i], config->hidden, config->hidden, config->attention_bias);
    }
    skeleton_norm(builder, layer, "self_attn_layer_norm");
    builder_linear(builder, layer, "fc1", config->ffn, config->hidden, config->mlp_bias);
    builder_linear(builder, layer, "fc2", config->hidden, config->ffn, config->mlp_bias);
    skeleton_norm(builder, layer, "final_layer_norm");
}

static int skeleton_decoder(struct skeleton_builder *builder, int model)
{
    const struct config *config = builder->config;
    int decoder = builder_module(builder, model, "decoder", "OPTDecoder");
    int words = builder_embedding(builder, decoder, "embed_tokens", config->vocab, config->word_width);
    builder_module(builder, decoder, "embed_positions", "OPTLearnedPositionalEmbedding");
    builder_matrix(builder, "weight", (struct initial){.deviation = config->initializer_range},
                   config->positions + config->position_offset, config->hidden);
    if (config->word_width != config->hidden) {
        builder_linear(builder, decoder, "project_out", config->word_width, config->hidden, false);
        builder_linear(builder, decoder, "project_in", config->hidden, config->word_width, false);
    }
    if (config->final_norm) {
        skeleton_norm(builder, decoder, "final_layer_norm");
    }
    int layers = builder_module(builder, decoder, "layers", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        skeleton_layer(builder, layers, i);
    }
    return words;
}

static void opt_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    bool lm = head == HEAD_LM;
    int root = lm ? builder_module(builder, -1, "", "OPTForCausalLM") : -1;
    int model = builder_module(builder, root, lm ? "model" : "", "OPTModel");
    int words = skeleton_decoder(builder, model);
    if (lm) {
        int weight = builder_linear(builder, root, "lm_head", config->vocab, config->word_width, false);
        builder_tie(builder, config->tied_head ? weight : -1, words);
    }
}

static const char *const model_types[] = {"opt", NULL};
static const char *const lora_targets[] = {"q_proj", "v_proj", NULL};

const struct family family_opt = {
    .name = "opt",
    .model_types = model_types,
    .has_attention = true,
    .bounds_positions = true,
    .generates = true,
    .lora_targets = lora_targets,
    .read = opt_read,
    .skeleton = opt_skeleton,
};
