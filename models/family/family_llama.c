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

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/decoder_skeleton.h"

/* Which layers have a sliding window: none, each, or where use_sliding_window is on those that the file names. */
enum llama_windows { WINDOWS_NONE, WINDOWS_EVERYWHERE, WINDOWS_SWITCHED };

struct llama_type {
    struct decoder_type decoder;
    enum llama_windows windows;
    bool head_norms;         /* queries and keys of a head are normalised */
    bool heads_divide;       /* heads must divide the hidden size though the file states head_dim */
    bool biases_projections; /* queries, keys and values have biases, and the output has none; else as it says */
    bool reads_biases;       /* attention_bias */
    bool reads_mlp_bias;     /* mlp_bias */
};

static const struct llama_type types[] = {
    {.decoder = {.model_type = "llama",
                 .classes = DECODER_CLASSES("Llama"),
                 .sizes = {.vocab = 32000, .hidden = 4096, .layers = 32, .heads = 32, .ffn = 11008, .positions = 2048}},
     .heads_divide = true,
     .reads_biases = true,
     .reads_mlp_bias = true},
    {.decoder = {.model_type = "mistral",
                 .classes = DECODER_CLASSES("Mistral"),
                 .heads = decoder_heads_generic,
                 .sizes = {.vocab = 32000,
                           .hidden = 4096,
                           .layers = 32,
                           .heads = 32,
                           .kv_heads = 8,
                           .ffn = 14336,
                           .positions = 131072}},
     .windows = WINDOWS_EVERYWHERE},
    {.decoder = {.model_type = "qwen2",
                 .classes = DECODER_CLASSES("Qwen2"),
                 .sizes = {.vocab = 151936,
                           .hidden = 4096,
                           .layers = 32,
                           .heads = 32,
                           .kv_heads = 32,
                           .ffn = 22016,
                           .positions = 32768}},
     .windows = WINDOWS_SWITCHED,
     .biases_projections = true},
    {.decoder = {.model_type = "qwen3",
                 .classes = DECODER_CLASSES("Qwen3"),
                 .sizes = {.vocab = 151936,
                           .hidden = 4096,
                           .layers = 32,
                           .heads = 32,
                           .kv_heads = 32,
                           .ffn = 22016,
                           .positions = 32768,
                           .head_dim = 128,
                           .head_dim_null = FIELD_NULL_REFUSED}},
     .windows = WINDOWS_SWITCHED,
     .head_norms = true,
     .reads_biases = true},
};

static const struct llama_type *llama_type_of(const struct config *config)
{
    return (const struct llama_type *)decoder_type_of(config);
}

/* -- the configuration */

/* Mistral: every layer; Qwen: those from max_window_layers on, or as layer_types says, if it is switched on. */
static void llama_read_window(struct field_reader *reader, struct config *config)
{
    enum llama_windows windows = llama_type_of(config)->windows;
    bool everywhere = windows == WINDOWS_EVERYWHERE, switched = windows == WINDOWS_SWITCHED;
    int64_t window = 4096;
    if (!everywhere && !(switched && field_boolean(reader, "use_sliding_window", false))) {
        return;
    }
    if (field_member(reader, "sliding_window") != NULL) {
        window = field_integer(reader, "sliding_window", 1, CONFIG_COUNT_MAXIMUM, 0);
    }
    int64_t first = everywhere ? 0 : field_integer(reader, "max_window_layers", 0, CONFIG_COUNT_MAXIMUM, 28);
    if (window > 0 && !(switched && config_layer_types(reader, config))) {
        for (int64_t i = first; i < config->layers && reader->code == STATUS_OK; i++) {
            config_layer_slide(config, i);
        }
    }
    config_window(config, window);
}

static void llama_read(struct field_reader *reader, struct config *config)
{
    const struct llama_type *own = llama_type_of(config);
    decoder_read_sizes(reader, config);
    if (own->heads_divide) {
        config_heads_check(reader, "num_attention_heads", config);
    }
    decoder_read_heads(reader, config);
    config->rotary_dim = config->head_dim;
    config_activation(reader, "hidden_act", ACTIVATION_SILU, config);
    config_rope(reader, config);
    config_pad_token(reader, -1, config);
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "rms_norm_eps", 0, 1, 1e-6);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", false);
    llama_read_window(reader, config);
    config->head_norms = own->head_norms;
    config->attention_bias =
        own->biases_projections || (own->reads_biases && field_boolean(reader, "attention_bias", false));
    config->attention_output_bias = !own->biases_projections && config->attention_bias;
    config->mlp_bias = own->reads_mlp_bias && field_boolean(reader, "mlp_bias", false);
}

/* -- the skeleton and the forward pass */

static void layer_list(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type)
{
    decoder_part_list *const parts[] = {decoder_attention_list, decoder_gated_list};
    decoder_layer_list(builder, layers, number, type, parts);
}

static struct value *llama_layer(struct tape *tape, const void *layer, struct value *input)
{
    (void)tape;
    return decoder_layer(layer, input, decoder_attention, decoder_gated_feed_forward);
}

static enum decoder_masks llama_masks(const struct forward *f)
{
    return llama_type_of(f->config)->windows == WINDOWS_EVERYWHERE ? DECODER_MASKS_ONE : DECODER_MASKS_USED;
}

static const struct decoder llama = {
    .names = DECODER_NAMES_LLAMA,
    .types = DECODER_TYPES(types),
    .heads = decoder_heads_llama,
    .layer_list = layer_list,
    .layer = llama_layer,
    .masks = llama_masks,
};

static const struct family_era eras[] = {
    {.model_type = "llama", .until = 4038, .block_frequencies = 1, .block_caches = 1},
    {.model_type = "llama", .until = 4039, .block_frequencies = 1, .block_caches = 1, .model_masks = 1},
    {.model_type = "llama", .until = 4041, .block_frequencies = 1, .block_caches = 1},
    {.model_type = "llama", .until = 4043, .block_frequencies = 1},
    {.model_type = "llama", .until = 4048, .block_frequencies = 1, .model_frequencies = 1},
    {.model_type = "llama", .until = 5000, .model_frequencies = 1},
    {.model_type = "mistral", .until = 4042, .block_frequencies = 1, .block_caches = 1},
    {.model_type = "mistral", .until = 4048, .block_frequencies = 1},
    {.model_type = "mistral", .until = 5000, .model_frequencies = 1},
    {.model_type = "qwen2", .until = 4045, .block_frequencies = 1, .block_caches = 1},
    {.model_type = "qwen2", .until = 4048, .block_frequencies = 1, .model_frequencies = 1},
    {.model_type = "qwen2", .until = 5000, .model_frequencies = 1},
    {.model_type = "qwen3", .until = 5000, .model_frequencies = 1},
    {.model_type = NULL},
};

static const char *const model_types[] = {"llama", "mistral", "qwen2", "qwen3", NULL};
static const char *const lora_targets[] = {"q_proj", "v_proj", NULL};

const struct family family_llama = {
    .name = "llama",
    .model_types = model_types,
    .has_attention = true,
    .generates = true,
    .lora_targets = lora_targets,
    .eras = eras,
    .read = llama_read,
    .has_head = decoder_has_head,
    .decoder = &llama,
    .skeleton = decoder_skeleton,
    .forward = decoder_forward,
};
