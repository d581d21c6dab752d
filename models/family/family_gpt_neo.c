/* GPT-Neo: GPTNeoModel, and GPTNeoForCausalLM with its tied head (transformers 5.23). Layers see all tokens before them
 * or a window of the last ones, which each tells by a buffer of booleans; its class knows the eager form alone, in
 * float32 and without a scale.
 *
 * Worked number: gpt-neo-125m has 50257 * 768 + 2048 * 768 parameters in its embeddings, 7,085,568 in each of 12 blocks
 * and 1,536 in the last norm: 125,198,592; a tied head adds none. Its buffers are 12 * 2048^2 bytes: 50,331,648. */
#include "models/family/family_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/decoder_skeleton.h"
#include "models/forward/forward.h"
#include "models/forward/module_visit.h"
#include "models/skeleton/skeleton_builder.h"

static const struct decoder_type types[] = {
    {.model_type = "gpt_neo", .classes = {.model = "GPTNeoModel", .head = "GPTNeoForCausalLM", .layer = "GPTNeoBlock"}},
};

/* -- the configuration */

/* [["global", "local"], 6]: the kinds, and how often they follow one another; layer: how many there are so far. */
static void kinds_read(struct field_reader *reader, const struct json *item, struct config *config, int64_t *layer)
{
    const struct json *kinds = json_at(item, 0);
    int64_t times = json_integer_or(json_at(item, 1), -1);
    size_t count = json_kind(kinds) == JSON_KIND_ARRAY ? json_count(kinds) : 0;
    if (json_count(item) != 2 || count == 0 || times < 0 || times > CONFIG_LAYERS_MAXIMUM) {
        field_fault(reader, "attention_types",
                    "an element is not a list of kinds and how often they follow; write [[\"global\", \"local\"], 12]");
        return;
    }
    for (int64_t turn = 0; turn < times && *layer <= config->layers; turn++) {
        for (size_t i = 0; i < count && *layer <= config->layers; i++, (*layer)++) {
            const char *kind = json_string_or(json_at(kinds, i), "");
            bool is_local = strcmp(kind, "local") == 0;
            if (!is_local && strcmp(kind, "global") != 0) {
                field_fault(reader, "attention_types", "'%.80s' is not known; known are global, local", kind);
                return;
            }
            if (is_local && *layer < config->layers) {
                config->local_layers[*layer / 8] |= (unsigned char)(1 << (*layer % 8));
            }
        }
    }
}

/* Absent, they are those of 24 layers, as the class has it. */
static void neo_read_types(struct field_reader *reader, struct config *config)
{
    enum { DEFAULT_LAYERS = 24 };
    const struct json *kinds = field_member(reader, "attention_types");
    int64_t layer = 0;
    if (json_kind(kinds) == JSON_KIND_NULL) {
        for (; layer < DEFAULT_LAYERS && layer < config->layers; layer++) {
            config->local_layers[layer / 8] |= (unsigned char)((layer % 2) << (layer % 8));
        }
        layer = DEFAULT_LAYERS;
    } else if (json_kind(kinds) != JSON_KIND_ARRAY) {
        field_fault(reader, "attention_types", "it is not a list; write [[[\"global\", \"local\"], 12]]");
    }
    for (size_t i = 0; i < json_count(kinds) && reader->code == STATUS_OK; i++) {
        kinds_read(reader, json_at(kinds, i), config, &layer);
    }
    if (reader->code == STATUS_OK && layer != config->layers) {
        field_fault(reader, "attention_types",
                    "the layers it names are %s than num_layers, %" PRId64 "; write kinds for each layer",
                    layer > config->layers ? "more" : "fewer", config->layers);
    }
}

static void neo_read(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), 50257, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_size", NULL, CONFIG_OFFSET(hidden), 2048, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM / 4},
        {"num_layers", NULL, CONFIG_OFFSET(layers), 24, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_heads", NULL, CONFIG_OFFSET(heads), 16, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"intermediate_size", NULL, CONFIG_OFFSET(ffn), 0, 0, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), 2048, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"window_size", NULL, CONFIG_OFFSET(local_window), 256, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    config_heads_check(reader, "num_heads", config);
    config->ffn = config->ffn > 0 ? config->ffn : 4 * config->hidden;
    config_activation(reader, "activation_function", ACTIVATION_GELU_NEW, config);
    config->hidden_dropout = field_real(reader, "resid_dropout", 0, 0.999, 0);
    config->embedding_dropout = field_real(reader, "embed_dropout", 0, 0.999, 0);
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "layer_norm_epsilon", 0, 1, 1e-5);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", true);
    config->attention_output_bias = config->mlp_bias = true;
    config->pad_token = -1; /* its embedding has no padding index, whatever pad_token_id says */
    config->attention_scale = 1;
    config->kv_heads = config->heads;
    config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
    if (reader->code == STATUS_OK) {
        neo_read_types(reader, config);
    }
}

/* -- the skeleton */

static void skeleton_attention(struct skeleton_builder *builder, int block, int64_t number)
{
    const struct config *config = builder->config;
    int64_t hidden = config->hidden;
    bool is_local = (config->local_layers[number / 8] >> (number % 8) & 1) != 0;
    int64_t window = is_local ? config->local_window : config->positions;
    const struct buffer_kind seen = {.dtype = DTYPE_BOOL, .initial = INITIAL_WINDOW, .constant = (double)window};
    const int64_t square[] = {1, 1, config->positions, config->positions};
    int outer = builder_module(builder, block, "attn", "GPTNeoAttention");
    int attention = builder_module(builder, outer, "attention", "GPTNeoSelfAttention");
    builder_buffer(builder, "bias", &seen, 4, square);
    builder_dropout(builder, attention, "attn_dropout");
    builder_dropout(builder, attention, "resid_dropout");
    builder_linear(builder, attention, "k_proj", hidden, hidden, false);
    builder_linear(builder, attention, "v_proj", hidden, hidden, false);
    builder_linear(builder, attention, "q_proj", hidden, hidden, false);
    builder_linear(builder, attention, "out_proj", hidden, hidden, true);
}

static void layer_list(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type)
{
    const struct config *config = builder->config;
    int block = builder_element(builder, layers, number, type->classes.layer);
    builder_keep_whole(builder, block);
    builder_layernorm(builder, block, "ln_1");
    skeleton_attention(builder, block, number);
    builder_layernorm(builder, block, "ln_2");
    int mlp = builder_module(builder, block, "mlp", "GPTNeoMLP");
    builder_linear(builder, mlp, "c_fc", config->ffn, config->hidden, true);
    builder_linear(builder, mlp, "c_proj", config->hidden, config->ffn, true);
    builder_activation(builder, mlp, "act");
    builder_dropout(builder, mlp, "dropout");
}

static void positions_list(struct skeleton_builder *builder, int model)
{
    builder_embedding(builder, model, "wpe", builder->config->positions, builder->config->hidden);
    builder_dropout(builder, model, "drop");
}

/* -- the forward pass */

/* The weights of the values, in the dtype of v: scores in float32, hidden by the layer's own booleans and by the mask.
 * What is not returned goes when the caller's frame is closed: the lowest number is a tensor, which keeps its name. */
static struct value *weights_make(const struct forward_layer *layer, struct value *q, struct value *k, struct value *v)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    int64_t rows = value_size(q, 2), columns = value_size(k, 2), none = 0;
    struct value *queries = tape_cast(tape, q, DTYPE_FLOAT32), *keys = tape_cast(tape, k, DTYPE_FLOAT32);
    struct value *turned = tape_transpose(tape, keys, 2, 3);
    struct value *scores = tape_matmul(tape, queries, turned);
    tape_drop(tape, turned);
    struct value *seen = forward_tensor(f, "%s.attn.attention.bias", layer->prefix);
    seen = tape_slice(tape, tape_slice(tape, seen, 2, columns - rows, rows), 3, 0, columns);
    if (scores == NULL) {
        return NULL;
    }
    tensor_passing(tape, value_dtype(scores), 0, &none);
    value_rebind(tape, &scores, tape_where_beside_lowest(tape, seen, scores));
    if (layer->mask != NULL) {
        value_rebind(tape, &scores, tape_add(tape, scores, layer->mask));
    }
    value_rebind(tape, &scores, tape_softmax(tape, scores, false));
    value_rebind(tape, &scores, tape_cast(tape, scores, value_dtype(v)));
    value_rebind(tape, &scores, tape_dropout(tape, scores, f->config->attention_dropout));
    return scores;
}

/* _merge_heads: [B, heads, S, D] -> [B, S, heads * D], always a copy if there are several rows. */
static struct value *heads_merge(struct tape *tape, struct value *out)
{
    if (out == NULL) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(out, 0), value_size(out, 2), value_size(out, 1) * value_size(out, 3)};
    struct value *rows = tape_contiguous(tape, tape_transpose(tape, out, 1, 2));
    return tape_frame_close(tape, frame, tape_reshape(tape, rows, 3, size));
}

/* GPTNeoSelfAttention. *weights: what it returns besides. Both belong to the open frame. */
static struct value *attend(const struct forward_layer *layer, struct value *hidden, struct value **weights)
{
    static const char *const paths[] = {"attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj"};
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct value *parts[3];
    for (int i = 0; i < 3; i++) {
        parts[i] = layer_linear(layer, paths[i], hidden);
    }
    for (int i = 0; i < 3; i++) {
        value_rebind(tape, &parts[i], heads_view(f, parts[i], f->config->heads));
    }
    layer_cache(layer, &parts[1], &parts[2]);
    if (parts[0] == NULL || parts[1] == NULL || parts[2] == NULL) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *both[2] = {NULL, weights_make(layer, parts[0], parts[1], parts[2])};
    both[0] = tape_matmul(tape, both[1], parts[2]);
    tape_frame_close_all(tape, frame, both, 2);
    *weights = both[1];
    struct value *out = both[0];
    value_rebind(tape, &out, heads_merge(tape, out));
    value_rebind(tape, &out, layer_linear(layer, "attn.attention.out_proj", out));
    out = layer_dropout(layer, "attn.attention.resid_dropout", out, f->config->hidden_dropout);
    for (int i = 0; i < 3; i++) {
        tape_drop(tape, parts[i]);
    }
    return out;
}

/* attend, as the module that it is: its buffer comes with it. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden, struct value **weights)
{
    const struct forward *f = layer->forward;
    struct forward_layer inside = *layer;
    struct module_visit visit = layer_enter(layer, "attn.attention");
    hidden = module_argument(f, visit, hidden);
    inside.mask = module_argument(f, visit, layer->mask);
    struct value *out = attend(&inside, hidden, weights);
    struct value *const results[] = {out, *weights};
    module_leave_all(f, visit, results, 2);
    return out;
}

static struct value *feed_forward(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    int frame = tape_frame_open(f->tape);
    struct value *inner = layer_linear(layer, "mlp.c_fc", hidden);
    inner = layer_activation(layer, "mlp.act", inner);
    value_rebind(f->tape, &inner, layer_linear(layer, "mlp.c_proj", inner));
    inner = layer_dropout(layer, "mlp.dropout", inner, f->config->hidden_dropout);
    return tape_frame_close(f->tape, frame, inner);
}

static struct value *neo_block(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    int frame = tape_frame_open(tape);
    struct value *weights = NULL;
    struct value *hidden = layer_layernorm(layer, "ln_1", input);
    struct value *attended = attention(layer, hidden, &weights);
    weights = tape_hold(tape, weights);
    value_rebind(tape, &hidden, tape_add(tape, attended, input));
    struct value *residual = hidden;
    hidden = layer_layernorm(layer, "ln_2", residual);
    struct value *fed = feed_forward(layer, hidden);
    value_rebind(tape, &hidden, tape_add(tape, residual, fed));
    hidden = tape_frame_close(tape, frame, hidden);
    decoder_weights_return(tape, tape_recomputes(tape) ? NULL : layer->last, weights);
    return hidden;
}

/* The sum of words and places; what it is made of keeps its name with the caller's frame, as in the real code. */
static struct value *embeddings(const struct forward *f, const char *root, struct value **mask)
{
    char path[64];
    snprintf(path, sizeof path, "%swte", root);
    struct value *words = forward_words(f, path, -1), *positions = forward_positions(f);
    struct forward asking = *f;
    asking.cache = f->workload->checkpointing ? NULL : f->cache; /* this class drops it before it makes the mask */
    forward_packing_ask(&asking, words);
    *mask = forward_mask(f, words, true);
    snprintf(path, sizeof path, "%swpe", root);
    return tape_add(f->tape, words, forward_embedding(f, path, positions, -1));
}

static struct value *transformer(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *mask = NULL, *last = NULL;
    struct value *hidden = embeddings(f, root, &mask);
    value_rebind(tape, &hidden, tape_dropout(tape, hidden, f->config->embedding_dropout));
    struct forward_layer layer = {.forward = f, .mask = mask, .last = &last};
    hidden = decoder_layers(&layer, NULL, root, hidden);
    char path[64];
    snprintf(path, sizeof path, "%sln_f", root);
    /* the last block's output and weights are still what the loop's name stands for */
    struct value *normed = forward_layernorm(f, path, hidden);
    tape_let_go(tape, last);
    return tape_frame_close(tape, frame, normed);
}

static const struct decoder gpt_neo = {
    .names = {.inside = "transformer", .words = "wte", .layers = "h", .norm = "ln_f"},
    .types = DECODER_TYPES(types),
    .heads = decoder_heads_transformer,
    .after_words = positions_list,
    .layer_list = layer_list,
    .passes_words = true,
    .names_layers = true,
    .layer = neo_block,
    .model = transformer,
};

static const struct family_era eras[] = {
    {.model_type = "gpt_neo", .until = 5000, .block_masks = 1, .block_scalars = 1},
    {.model_type = NULL},
};

static const char *const model_types[] = {"gpt_neo", NULL};
static const char *const lora_targets[] = {"q_proj", "v_proj", NULL};

const struct family family_gpt_neo = {
    .name = "gpt_neo",
    .model_types = model_types,
    .has_attention = true,
    .attends_eagerly = true,
    .bounds_positions = true,
    .generates = true,
    .lora_targets = lora_targets,
    .eras = eras,
    .read = neo_read,
    .has_head = decoder_has_head,
    .decoder = &gpt_neo,
    .skeleton = decoder_skeleton,
    .forward = decoder_forward,
};
