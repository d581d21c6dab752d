/* BLOOM: BloomModel, and BloomForCausalLM with its tied head (transformers 5.23). Queries, keys and values are one
 * projection, head by head; positions are biases by distance (ALiBi), which any length has.
 *
 * Worked number: bloom-560m has 250880 * 1024 parameters in its word embedding, 2 * 1024 in the norm behind it,
 * 12 * 1024^2 + 13 * 1024 in each of 24 layers and 2 * 1024 in the last norm: 559,214,592; a tied head adds none. */
#include "models/family/family_table.h"

#include <math.h>
#include <stdio.h>

#include "models/config/config_part.h"
#include "models/forward/alibi.h"
#include "models/forward/decoder.h"
#include "models/forward/decoder_skeleton.h"
#include "models/forward/forward.h"
#include "models/forward/module_visit.h"
#include "models/skeleton/skeleton_builder.h"

static const struct decoder_type types[] = {
    {.model_type = "bloom", .classes = {.model = "BloomModel", .head = "BloomForCausalLM", .layer = "BloomBlock"}},
};

/* -- the configuration */

static void bloom_read(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), 250880, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_size", "n_embed", CONFIG_OFFSET(hidden), 64, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM / 4},
        {"n_layer", NULL, CONFIG_OFFSET(layers), 2, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"n_head", NULL, CONFIG_OFFSET(heads), 8, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
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

static void layer_list(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type)
{
    const struct config *config = builder->config;
    int64_t hidden = config->hidden;
    int block = builder_element(builder, layers, number, type->classes.layer);
    builder_keep_whole(builder, block);
    builder_layernorm(builder, block, "input_layernorm");
    int attention = builder_module(builder, block, "self_attention", "BloomAttention");
    builder_linear(builder, attention, "query_key_value", 3 * hidden, hidden, true);
    builder_linear(builder, attention, "dense", hidden, hidden, true);
    builder_dropout(builder, attention, "attention_dropout");
    builder_layernorm(builder, block, "post_attention_layernorm");
    int mlp = builder_module(builder, block, "mlp", "BloomMLP");
    builder_linear(builder, mlp, "dense_h_to_4h", config->ffn, hidden, true);
    builder_silent(builder, mlp, "gelu_impl", "BloomGelu");
    builder_linear(builder, mlp, "dense_4h_to_h", hidden, config->ffn, true);
}

static void norm_list(struct skeleton_builder *builder, int model)
{
    builder_layernorm(builder, model, "word_embeddings_layernorm");
}

/* -- the forward pass */

/* Row `part` of every head's three rows of the fused projection: [B, heads, S, D], a view. */
static struct value *part_of(const struct forward *f, struct value *fused, int part)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(fused, 0), value_size(fused, 1), f->config->heads, 3, f->config->head_dim};
    struct value *rows = tape_select(tape, tape_reshape(tape, fused, 5, size), 3, part);
    return tape_frame_close(tape, frame, tape_transpose(tape, rows, 1, 2));
}

/* [B, heads, T, D] -> [B * heads, T, D]; a copy if they cannot be joined. Takes over a. */
static struct value *heads_flat(struct tape *tape, struct value *a)
{
    if (a == NULL) {
        return NULL;
    }
    int64_t size[] = {value_size(a, 0) * value_size(a, 1), value_size(a, 2), value_size(a, 3)};
    struct value *flat = tape_reshape(tape, a, 3, size);
    tape_drop(tape, a);
    return flat;
}

/* The weights of the values, [B, heads, S, T], in the dtype of q; scores keep their names with the open frame. */
static struct value *weights_make(const struct forward_layer *layer, struct value *q, struct value *k)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    int64_t heads = f->config->heads, batch = value_size(q, 0) / heads;
    int64_t size[] = {batch, heads, value_size(q, 1), value_size(k, 1)};
    struct value *turned = tape_transpose(tape, k, 1, 2);
    struct value *scores = tape_biased_product(tape, layer->alibi, q, turned, 1.0 / sqrt((double)f->config->head_dim));
    struct value *masked = tape_reshape(tape, scores, 4, size);
    if (layer->mask != NULL) {
        value_rebind(tape, &masked, tape_add(tape, masked, layer->mask));
    }
    int frame = tape_frame_open(tape);
    struct value *weights = tape_softmax(tape, masked, true);
    value_rebind(tape, &weights, tape_cast(tape, weights, value_dtype(q)));
    value_rebind(tape, &weights, tape_dropout(tape, weights, f->config->attention_dropout));
    return tape_frame_close(tape, frame, weights);
}

/* x is what a projection made; it goes when the sum is there. */
static struct value *dropped_and_added(const struct forward *f, struct value *x, struct value *residual)
{
    struct value *sum = decoder_dropout_add(f, x, residual, f->config->hidden_dropout);
    tape_drop(f->tape, x);
    return sum;
}

/* BloomAttention and the sum with the residual. *weights: what it returns besides. */
static struct value *attend(const struct forward_layer *layer, struct value *hidden, struct value *residual,
                            struct value **weights)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct value *fused = layer_linear(layer, "self_attention.query_key_value", hidden);
    if (fused == NULL) {
        return NULL;
    }
    struct value *q = part_of(f, fused, 0), *k = part_of(f, fused, 1), *v = part_of(f, fused, 2);
    layer_cache(layer, &k, &v);
    q = heads_flat(tape, q);
    k = heads_flat(tape, k);
    v = heads_flat(tape, v);
    if (q == NULL || k == NULL || v == NULL) {
        return NULL;
    }
    int64_t batch = value_size(hidden, 0), heads = f->config->heads, width = f->config->head_dim;
    int64_t split[] = {batch, heads, value_size(v, 1), width};
    int64_t joined[] = {batch, value_size(hidden, 1), heads * width};
    *weights = weights_make(layer, q, k);
    int frame = tape_frame_open(tape);
    struct value *out = tape_matmul(tape, *weights, tape_reshape(tape, v, 4, split));
    out = tape_frame_close(tape, frame, tape_reshape(tape, tape_transpose(tape, out, 1, 2), 3, joined));
    struct value *projected = layer_linear(layer, "self_attention.dense", out);
    return dropped_and_added(f, projected, residual);
}

/* attend, as the module that it is. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden, struct value *residual,
                               struct value **weights)
{
    const struct forward *f = layer->forward;
    struct forward_layer inside = *layer;
    struct module_visit visit = layer_enter(layer, "self_attention");
    hidden = module_argument(f, visit, hidden);
    residual = module_argument(f, visit, residual);
    inside.alibi = module_argument(f, visit, layer->alibi);
    inside.mask = module_argument(f, visit, layer->mask);
    struct value *out = attend(&inside, hidden, residual, weights);
    struct value *const results[] = {out, *weights};
    module_leave_all(f, visit, results, 2);
    return out;
}

static struct value *feed_forward(const struct forward_layer *layer, struct value *hidden, struct value *residual)
{
    const struct forward *f = layer->forward;
    struct module_visit visit = layer_enter(layer, "mlp");
    hidden = module_argument(f, visit, hidden);
    residual = module_argument(f, visit, residual);
    int frame = tape_frame_open(f->tape);
    struct value *wide = layer_linear(layer, "mlp.dense_h_to_4h", hidden);
    value_rebind(f->tape, &wide, tape_gelu_function(f->tape, wide));
    struct value *inner = layer_linear(layer, "mlp.dense_4h_to_h", wide);
    return module_leave(f, visit, tape_frame_close(f->tape, frame, dropped_and_added(f, inner, residual)));
}

static struct value *bloom_block(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    bool after_norm = layer->forward->config->residual_after_norm;
    int frame = tape_frame_open(tape);
    struct value *normalised = layer_layernorm(layer, "input_layernorm", input);
    struct value *weights = NULL;
    int inner = tape_frame_open(tape);
    struct value *attended = attention(layer, normalised, after_norm ? normalised : input, &weights);
    weights = tape_hold(tape, weights);
    attended = tape_frame_close(tape, inner, attended);
    value_rebind(tape, &normalised, layer_layernorm(layer, "post_attention_layernorm", attended));
    struct value *result = feed_forward(layer, normalised, after_norm ? normalised : attended);
    result = tape_frame_close(tape, frame, result);
    decoder_weights_return(tape, layer->last, weights);
    return result;
}

static struct value *transformer(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    char path[64];
    snprintf(path, sizeof path, "%sword_embeddings", root);
    struct value *words = forward_words(f, path, -1), *last = NULL;
    /* A static cache that has been filled counts its tokens on the device, and so the sum with the new ones is
     * there. */
    if (f->cache != NULL && f->cache->kind == CACHE_STATIC && f->cache->length > 0) {
        int64_t one = 1;
        tensor_passing(tape, DTYPE_INT64, 0, &one);
    }
    snprintf(path, sizeof path, "%sword_embeddings_layernorm", root);
    struct value *hidden = forward_layernorm(f, path, words);
    if (hidden == NULL) {
        return tape_frame_close(tape, frame, NULL);
    }
    struct forward_layer layer = {.forward = f, .last = f->workload->checkpointing ? NULL : &last};
    layer.alibi = alibi_biases(f, ALIBI_BLOOM, value_dtype(hidden));
    layer.mask = forward_mask(f, words, true);
    hidden = decoder_layers(&layer, NULL, root, hidden);
    snprintf(path, sizeof path, "%sln_f", root);
    value_rebind(tape, &hidden, forward_layernorm(f, path, hidden));
    tape_let_go(tape, last);
    return tape_frame_close(tape, frame, hidden);
}

static const struct decoder bloom = {
    .names = {.inside = "transformer", .words = "word_embeddings", .layers = "h", .norm = "ln_f"},
    .types = DECODER_TYPES(types),
    .heads = decoder_heads_transformer,
    .after_words = norm_list,
    .layer_list = layer_list,
    .passes_words = true,
    .layer = bloom_block,
    .model = transformer,
};

static const char *const model_types[] = {"bloom", NULL};
static const char *const lora_targets[] = {"query_key_value", NULL};

const struct family family_bloom = {
    .name = "bloom",
    .model_types = model_types,
    .has_attention = true,
    .attends_eagerly = true,
    .lacks_position_ids = true,
    .generates = true,
    .lora_targets = lora_targets,
    .read = bloom_read,
    .has_head = decoder_has_head,
    .decoder = &bloom,
    .skeleton = decoder_skeleton,
    .forward = decoder_forward,
};
