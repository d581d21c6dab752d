/* Falcon: FalconModel, and FalconForCausalLM with its tied head (transformers 5.23). Three kinds: 7b (one key head, a
 * parallel block behind one norm), 40b and 180b (grouped keys, a parallel block behind two norms) and rw (as many keys
 * as queries, ALiBi, a block of two steps).
 *
 * Worked number: falcon-7b has 65024 * 4544 parameters in its word embedding, 4544 * (4544 + 2 * 64) + 4544^2 +
 * 8 * 4544^2 + 2 * 4544 in each of 32 layers and 2 * 4544 in the last norm: 6,921,720,704; a tied head adds none.
 * Buffers: 2 * 32 float32: 256 bytes.
 *
 * Of the real class, and so here: a single key head is given to attention as it is, grouped ones are repeated before
 * they are cached, and the eager form adds biases by distance to scores twice, by themselves and with the mask. */
#include "models/family/family_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "models/config/config_part.h"
#include "models/forward/alibi.h"
#include "models/forward/decoder.h"
#include "models/forward/decoder_skeleton.h"
#include "models/forward/forward.h"
#include "models/forward/rotary.h"
#include "models/skeleton/skeleton_builder.h"

static const struct decoder_type types[] = {
    {.model_type = "falcon",
     .classes = {.model = "FalconModel",
                 .head = "FalconForCausalLM",
                 .layer = "FalconDecoderLayer",
                 .rotary = "FalconRotaryEmbedding"}},
};

/* -- the configuration */

/* A switch that the real class reads as false if it is null. */
static bool switch_of(struct field_reader *reader, const char *key, bool fallback)
{
    const struct json *value = field_member(reader, key);
    return value != NULL && json_kind(value) == JSON_KIND_NULL ? false : field_boolean(reader, key, fallback);
}

/* config->kv_heads: of the keys that are computed; grouped ones are repeated before they are cached. */
static void heads_of_keys(struct field_reader *reader, struct config *config)
{
    bool multi_query = switch_of(reader, "multi_query", true);
    int64_t count = field_integer(reader, "num_kv_heads", 1, CONFIG_COUNT_MAXIMUM, config->heads);
    config->multi_query = !config->grouped_projection && multi_query;
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
        {"hidden_size", "n_embed", CONFIG_OFFSET(hidden), 4544, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM / 4},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), 32, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), 71, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"ffn_hidden_size", NULL, CONFIG_OFFSET(ffn), 0, 0, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), 2048, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    config_heads_check(reader, "num_attention_heads", config);
    config->ffn = config->ffn > 0 ? config->ffn : 4 * config->hidden;
    config->grouped_projection = switch_of(reader, "new_decoder_architecture", false);
    config->alibi = config->dynamic_cache_only = switch_of(reader, "alibi", false);
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
    config->rotary_dim = config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
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

static void layer_list(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type)
{
    const struct config *config = builder->config;
    int64_t hidden = config->hidden;
    int layer = builder_element(builder, layers, number, type->classes.layer);
    builder_keep_whole(builder, layer);
    int attention = builder_module(builder, layer, "self_attention", "FalconAttention");
    skeleton_projection(builder, attention, "query_key_value", hidden + 2 * config->kv_heads * config->head_dim,
                        hidden);
    skeleton_projection(builder, attention, "dense", hidden, hidden);
    builder_dropout(builder, attention, "attention_dropout");
    int mlp = builder_module(builder, layer, "mlp", "FalconMLP");
    skeleton_projection(builder, mlp, "dense_h_to_4h", config->ffn, hidden);
    builder_activation(builder, mlp, "act");
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

/* -- the forward pass */

/* Row `part` of every head's three rows: [B, S, heads, D], views. */
static void heads_select(const struct forward *f, struct value *fused, struct value *parts[3])
{
    int64_t size[] = {value_size(fused, 0), value_size(fused, 1), f->config->heads, 3, f->config->head_dim};
    struct value *rows = tape_reshape(f->tape, fused, 5, size);
    for (int i = 0; i < 3; i++) {
        parts[i] = tape_select(f->tape, rows, 3, i);
    }
    tape_drop(f->tape, rows);
}

/* Queries, and behind those of a group their key and their value, which lists of one index copy. The groups of the new
 * decoder are repeated for each query; a single key head of multi_query stays one. */
static void heads_pick(const struct forward *f, struct value *fused, struct value *parts[3])
{
    struct tape *tape = f->tape;
    const struct config *config = f->config;
    int64_t batch = value_size(fused, 0), rows = value_size(fused, 1), width = config->head_dim;
    int64_t groups = config->kv_heads, shared = config->heads / groups;
    int64_t size[] = {batch, rows, groups, shared + 2, width}, wide[] = {batch, rows, groups, shared, width};
    struct value *view = tape_reshape(tape, fused, 5, size);
    struct value *picked[] = {tape_slice(tape, view, 3, 0, shared), tape_index(tape, view, 3, shared),
                              tape_index(tape, view, 3, shared + 1)};
    for (int i = 0; i < 3; i++) {
        bool repeats = config->grouped_projection;
        int64_t flat[] = {batch, rows, repeats || i == 0 ? config->heads : groups, width};
        int frame = tape_frame_open(tape);
        struct value *heads = repeats ? tape_expand(tape, picked[i], 5, wide) : picked[i];
        parts[i] = tape_frame_close(tape, frame, tape_reshape(tape, heads, 4, flat));
    }
    for (int i = 0; i < 3; i++) {
        tape_drop(tape, picked[i]);
    }
    tape_drop(tape, view);
}

/* _split_heads: queries, keys and values, [B, heads, S, D], keys and values with as many heads as are cached. */
static void heads_split(const struct forward *f, struct value *fused, struct value *parts[3])
{
    bool picks = f->config->grouped_projection || f->config->multi_query;
    (picks ? heads_pick : heads_select)(f, fused, parts);
    for (int i = 0; i < 3; i++) {
        value_rebind(f->tape, &parts[i], tape_transpose(f->tape, parts[i], 1, 2));
    }
}

/* Attention weights with positions in queries and keys: no dropout acts on them. */
static struct value *weights_make(const struct forward_layer *layer, struct value *q, struct value *k)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *scores = tape_matmul(tape, q, tape_transpose(tape, k, 2, 3));
    scores = tape_scale_(tape, scores, 1.0 / sqrt((double)f->config->head_dim));
    struct value *masked = tape_add(tape, scores, layer->mask);
    return tape_frame_close(tape, frame, tape_softmax(tape, masked, false));
}

/* With biases by distance, which the mask holds too: the real class adds them twice here, and once in its fused form.
 * dtype: of the hidden state. Scores stay with the open frame. */
static struct value *weights_make_biased(const struct forward_layer *layer, enum dtype dtype, struct value *q,
                                         struct value *k)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct value *product = tape_matmul(tape, q, tape_transpose(tape, k, 2, 3));
    struct value *scores = tape_cast(tape, product, DTYPE_FLOAT32);
    struct value *logits = tape_add(tape, scores, layer->alibi);
    logits = tape_scale_(tape, logits, 1.0 / sqrt((double)f->config->head_dim));
    int frame = tape_frame_open(tape);
    struct value *masked = tape_add(tape, logits, layer->mask);
    struct value *lowered = tape_cast(tape, masked, dtype); /* softmax(dtype=), whose argument stays until it is done */
    struct value *weights = tape_softmax(tape, lowered, false);
    tape_drop(tape, lowered);
    tape_drop(tape, masked);
    value_rebind(tape, &weights, tape_dropout(tape, weights, f->config->attention_dropout));
    return tape_frame_close(tape, frame, weights);
}

/* [B, heads, S, D] -> [B, S, heads * D]; a copy if the heads are not side by side. Takes over out. */
static struct value *heads_merge(struct tape *tape, struct value *out)
{
    if (out == NULL) {
        return NULL;
    }
    int64_t size[] = {value_size(out, 0), value_size(out, 2), value_size(out, 1) * value_size(out, 3)};
    int frame = tape_frame_open(tape);
    struct value *joined = tape_reshape(tape, tape_transpose(tape, out, 1, 2), 3, size);
    joined = tape_frame_close(tape, frame, joined);
    tape_drop(tape, out);
    return joined;
}

/* Whether our own kernel reads keys by its own rules, without a mask if none is needed. */
static bool is_native(const struct forward_layer *layer)
{
    return layer->forward->workload->attention == ATTENTION_NATIVE && layer->alibi == NULL;
}

/* scaled_dot_product_attention, [B, S, heads * D]; with rotary positions it is given no dropout. */
static struct value *attend_fused(const struct forward_layer *layer, struct value *const parts[3])
{
    const struct forward *f = layer->forward;
    if (is_native(layer)) {
        struct attention_form form = {
            .scale = 1.0 / sqrt((double)f->config->head_dim), .causal = true, .mask = layer->mask};
        struct value *weights = NULL;
        return forward_attention(f, &form, parts[0], parts[1], parts[2], &weights);
    }
    struct attention_settings settings = {.scale = 1.0 / sqrt((double)f->config->head_dim),
                                          .dropout = layer->alibi != NULL ? f->config->attention_dropout : 0.0,
                                          .broadcast = true,
                                          .native = f->workload->attention == ATTENTION_NATIVE,
                                          .mask = layer->mask};
    return heads_merge(f->tape, tape_attention(f->tape, parts[0], parts[1], parts[2], &settings));
}

/* FalconAttention. *weights: what it returns besides, held. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden, struct value **weights)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *parts[3];
    struct value *fused = layer_linear_apart(layer, "self_attention.query_key_value", hidden);
    if (fused == NULL) {
        return tape_frame_close(tape, frame, NULL);
    }
    heads_split(f, fused, parts);
    if (layer->alibi == NULL) {
        struct value *turned[] = {rotary_turn(layer, parts[0]), rotary_turn(layer, parts[1])};
        value_rebind(tape, &parts[0], turned[0]);
        value_rebind(tape, &parts[1], turned[1]);
    }
    layer_cache(layer, &parts[1], &parts[2]);
    struct value *out = NULL;
    if (f->workload->attention == ATTENTION_EAGER) {
        struct value *made = layer->alibi == NULL ? weights_make(layer, parts[0], parts[1])
                                                  : weights_make_biased(layer, value_dtype(hidden), parts[0], parts[1]);
        *weights = tape_hold(tape, made);
        out = heads_merge(tape, tape_matmul(tape, made, parts[2]));
    } else {
        out = attend_fused(layer, parts);
    }
    return tape_frame_close(tape, frame, layer_linear_apart(layer, "self_attention.dense", out));
}

static struct value *feed_forward(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    int frame = tape_frame_open(f->tape);
    struct value *wide = layer_linear_apart(layer, "mlp.dense_h_to_4h", hidden);
    wide = forward_activation(f, f->config->activation, wide);
    return tape_frame_close(f->tape, frame, layer_linear_apart(layer, "mlp.dense_4h_to_h", wide));
}

static struct value *falcon_layer(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    const struct config *config = layer->forward->config;
    bool two_norms = config->parallel_blocks && config->parallel_norms == 2;
    int frame = tape_frame_open(tape);
    struct value *residual = input, *weights = NULL;
    struct value *normed = layer_layernorm(layer, two_norms ? "ln_attn" : "input_layernorm", input);
    struct value *fed_normed = two_norms ? layer_layernorm(layer, "ln_mlp", input) : normed;
    struct value *attended = attention(layer, normed, &weights);
    if (!config->parallel_blocks) { /* dropout of this sum has the probability of attention's */
        residual = decoder_dropout_add(layer->forward, attended, input, config->attention_dropout);
        fed_normed = layer_layernorm(layer, "post_attention_layernorm", residual);
    }
    struct value *fed = feed_forward(layer, fed_normed);
    if (config->parallel_blocks) {
        fed = tape_add_(tape, fed, attended);
    }
    struct value *output = decoder_dropout_add(layer->forward, fed, residual, config->hidden_dropout);
    output = tape_frame_close(tape, frame, output);
    decoder_weights_return(tape, layer->last, weights);
    return output;
}

/* The biases [B, heads, 1, T] and, in place of tables.masks[0], the mask [B, heads, S, T] with biases as scores have
 * them. Where the real class overwrites a bias by the lowest number the two are added, which rounds to it. */
static struct value *alibi_join(const struct forward *f, struct value *alibi, struct value **mask)
{
    struct tape *tape = f->tape;
    enum dtype dtype = value_dtype(alibi);
    int64_t size[] = {value_size(f->ids, 0), f->config->heads, 1, value_size(alibi, 2)};
    struct value *biases = tape_reshape(tape, alibi, 4, size);
    if (value_dtype(*mask) == DTYPE_BOOL) {
        value_rebind(tape, mask, tape_mask_numbers(tape, *mask, dtype));
    }
    int frame = tape_frame_open(tape);
    struct value *scaled = tape_scale(tape, biases, 1.0 / sqrt((double)f->config->head_dim));
    int64_t square[] = {value_size(*mask, 0), 1, value_size(*mask, 2), value_size(*mask, 3)};
    tensor_passing(tape, DTYPE_BOOL, 4, square);
    value_rebind(tape, mask, tape_frame_close(tape, frame, tape_add(tape, *mask, scaled)));
    return biases;
}

/* Biases of all keys, or NULL. Where no mask says which tokens are seen the model makes one and keeps it by name. */
static struct value *biases_make(const struct forward *f, enum dtype dtype)
{
    struct tape *tape = f->tape;
    if (!f->config->alibi) {
        return NULL;
    }
    if (f->seen == NULL) {
        int64_t cached = f->cache != NULL ? f->cache->length : 0;
        int64_t size[] = {value_size(f->ids, 0), cached + value_size(f->ids, 1)};
        tensor_passing(tape, DTYPE_INT64, 2, size);
    }
    int frame = tape_frame_open(tape);
    return tape_frame_close(tape, frame, alibi_biases(f, ALIBI_FALCON, dtype));
}

static struct value *decoder(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    char path[64];
    snprintf(path, sizeof path, "%sword_embeddings", root);
    struct value *words = forward_words(f, path, -1), *last = NULL;
    if (words == NULL) {
        return tape_frame_close(tape, frame, NULL);
    }
    struct forward_layer layer = {.forward = f, .last = f->workload->checkpointing ? NULL : &last};
    layer.alibi = biases_make(f, value_dtype(words));
    layer.positions = forward_positions(f);
    layer.mask = is_native(&layer) ? forward_mask(f, words, true) : forward_mask_always(f, words);
    if (layer.alibi != NULL) {
        layer.alibi = alibi_join(f, layer.alibi, &layer.mask);
    }
    rotary_make(&layer, root, "rotary_emb.inv_freq", words, layer.positions);
    struct value *hidden = decoder_layers(&layer, NULL, root, words); /* the model keeps its embedded words by name */
    snprintf(path, sizeof path, "%sln_f", root);
    hidden = forward_layernorm(f, path, hidden);
    tape_let_go(tape, last);
    return tape_frame_close(tape, frame, hidden);
}

static const struct decoder falcon = {
    .names = {.inside = "transformer", .words = "word_embeddings", .layers = "h", .norm = "ln_f"},
    .types = DECODER_TYPES(types),
    .heads = decoder_heads_transformer,
    .layer_list = layer_list,
    .layer = falcon_layer,
    .model = decoder,
};

static const char *const model_types[] = {"falcon", NULL};
static const char *const lora_targets[] = {"query_key_value", NULL};

const struct family family_falcon = {
    .name = "falcon",
    .model_types = model_types,
    .has_attention = true,
    .generates = true,
    .lora_targets = lora_targets,
    .read = falcon_read,
    .has_head = decoder_has_head,
    .decoder = &falcon,
    .skeleton = decoder_skeleton,
    .forward = decoder_forward,
};
