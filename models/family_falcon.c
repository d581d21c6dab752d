/* Falcon: FalconModel, and FalconForCausalLM with its tied head (transformers 5.23). Three kinds: 7b (one key head, a
 * parallel block behind one norm), 40b and 180b (grouped keys, a parallel block behind two norms) and rw (as many keys
 * as queries, ALiBi, a block of two steps).
 *
 * Worked number: falcon-7b has 65024 * 4544 parameters in its word embedding, 4544 * (4544 + 2 * 64) + 4544^2 +
 * 8 * 4544^2 + 2 * 4544 in each of 32 layers and 2 * 4544 in the last norm: 6,921,720,704; a tied head adds none.
 * Buffers: 2 * 32 float32: 256 bytes. */
#include "models/family.h"

#include <inttypes.h>

#include "models/config_part.h"
#include "models/forward.h"
#include "models/skeleton_builder.h"

/* -- the configuration */

/* A switch that the real class reads as false where it is null. */
static bool switch_of(struct field_reader *reader, const char *key, bool fallback)
{
    const struct json *value = field_member(reader, key);
    return value != NULL && json_kind(value) == JSON_KIND_NULL ? false : field_boolean(reader, key, fallback);
}

/* config->kv_heads: of the keys that are computed and cached before grouped ones are repeated. */
static void heads_of_keys(struct field_reader *reader, struct config *config)
{
    bool multi_query = switch_of(reader, "multi_query", true);
    int64_t count = field_integer(reader, "num_kv_heads", 1, CONFIG_COUNT_MAXIMUM, config->heads);
    config->kv_heads = config->grouped_projection ? count : multi_query ? 1 : config->heads;
    if (config->grouped_projection && reader->code == STATUS_OK && config->heads % count != 0) {
        field_fault(reader, "num_kv_heads",
                    "%" PRId64 " does not divide the %" PRId64 " attention heads; write a number that does", count,
                    config->heads);
    }
    if (!config->grouped_projection && !multi_query && count != config->heads) {
        field_fault(reader, "num_kv_heads",
                    "%" PRId64 " is not the number of attention heads, %" PRId64
                    ", without multi_query and the new decoder; leave it out",
                    count, config->heads);
    }
}

static void blocks_of(struct field_reader *reader, struct config *config)
{
    bool parallel = switch_of(reader, "parallel_attn", true);
    int64_t fallback = config->grouped_projection ? 2 : 1;
    int64_t norms = field_integer(reader, "num_ln_in_parallel_attn", 1, 2, fallback);
    config->parallel_blocks = parallel;
    config->parallel_norms = norms;
    if (config->grouped_projection && !parallel) {
        field_fault(reader, "parallel_attn", "false does not go with new_decoder_architecture; write true");
    }
    if (!config->grouped_projection && parallel && norms == 2) {
        field_fault(reader, "num_ln_in_parallel_attn", "2 needs new_decoder_architecture; write 1");
    }
}

static void falcon_read(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), 65024, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"n_embed", "hidden_size", CONFIG_OFFSET(hidden), 4544, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM / 4},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), 32, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), 71, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"ffn_hidden_size", NULL, CONFIG_OFFSET(ffn), 0, 0, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), 2048, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    config_heads_check(reader, "num_attention_heads", config);
    config->ffn = config->ffn > 0 ? config->ffn : 4 * config->hidden;
    config->grouped_projection = switch_of(reader, "new_decoder_architecture", false);
    config->alibi = switch_of(reader, "alibi", false);
    heads_of_keys(reader, config);
    blocks_of(reader, config);
    config_activation(reader, "activation", ACTIVATION_GELU, config);
    config_rope(reader, config);
    config->hidden_dropout = field_real(reader, "hidden_dropout", 0, 0.999, 0);
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "layer_norm_epsilon", 0, 1, 1e-5);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", true);
    config->attention_bias = switch_of(reader, "bias", false);
    config->attention_output_bias = config->mlp_bias = config->attention_bias;
    config->pad_token = -1; /* Falcon's embedding has no padding index, whatever pad_token_id says */
    config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
    if (reader->code == STATUS_OK && config->head_dim % 2 != 0) {
        field_fault(reader, "num_attention_heads", "heads of %" PRId64 " are odd; rotary embeddings need an even size",
                    config->head_dim);
    }
}

/* -- the skeleton */

static void skeleton_projection(struct skeleton_builder *builder, int parent, const char *name, int64_t outputs,
                                int64_t inputs)
{
    builder_module(builder, parent, name, "FalconLinear");
    builder_matrix(builder, "weight", (struct initial){.deviation = builder->config->initializer_range}, outputs,
                   inputs);
    if (builder->config->attention_bias) {
        builder_vector(builder, "bias", (struct initial){0}, outputs);
    }
}

static void skeleton_layer(struct skeleton_builder *builder, int parent, int64_t number)
{
    const struct config *config = builder->config;
    int64_t hidden = config->hidden;
    int layer = builder_element(builder, parent, number, "FalconDecoderLayer");
    builder_keep_whole(builder, layer);
    int attention = builder_module(builder, layer, "self_attention", "FalconAttention");
    skeleton_projection(builder, attention, "query_key_value", hidden + 2 * config->kv_heads * config->head_dim,
                        hidden);
    skeleton_projection(builder, attention, "dense", hidden, hidden);
    int mlp = builder_module(builder, layer, "mlp", "FalconMLP");
    skeleton_projection(builder, mlp, "dense_h_to_4h", config->ffn, hidden);
    skeleton_projection(builder, mlp, "dense_4h_to_h", hidden, config->ffn);
    if (!config->parallel_blocks) {
        builder_layernorm(builder, layer, "post_attention_layernorm");
        builder_layernorm(builder, layer, "input_layernorm");
    } else if (config->parallel_norms == 2) {
        builder_layernorm(builder, layer, "ln_attn");
        builder_layernorm(builder, layer, "ln_mlp");
    } else {
        builder_layernorm(builder, layer, "input_layernorm");
    }
}

static void falcon_skeleton(struct skeleton_builder *builder, enum head head)
{
    static const struct buffer_kind frequencies = {
        .dtype = DTYPE_FLOAT32, .keeps_dtype = true, .initial = INITIAL_INVERSE_FREQUENCY};
    const struct config *config = builder->config;
    const int64_t half = config->head_dim / 2;
    bool lm = head == HEAD_LM;
    int root = lm ? builder_module(builder, -1, "", "FalconForCausalLM") : -1;
    int model = builder_module(builder, root, lm ? "transformer" : "", "FalconModel");
    int words = builder_embedding(builder, model, "word_embeddings", config->vocab, config->hidden);
    int blocks = builder_module(builder, model, "h", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        skeleton_layer(builder, blocks, i);
    }
    builder_layernorm(builder, model, "ln_f");
    builder_module(builder, model, "rotary_emb", "FalconRotaryEmbedding");
    builder_buffer(builder, "inv_freq", &frequencies, 1, &half);
    builder_buffer(builder, "original_inv_freq", &frequencies, 1, &half);
    if (lm) {
        int weight = builder_linear(builder, root, "lm_head", config->vocab, config->hidden, false);
        builder_tie(builder, config->tied_head ? weight : -1, words);
    }
}

static const char *const model_types[] = {"falcon", NULL};
static const char *const lora_targets[] = {"query_key_value", NULL};

const struct family family_falcon = {
    .name = "falcon",
    .model_types = model_types,
    .has_attention = true,
    .generates = true,
    .lora_targets = lora_targets,
    .read = falcon_read,
    .skeleton = falcon_skeleton,
};
