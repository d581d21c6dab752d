/* GPT-2: GPT2Model, and GPT2LMHeadModel with its tied head. Projections are stored [in, out].
 *
 * Skeleton of GPT-2: GPT2Model, or GPT2LMHeadModel (transformers 5.23, which registers no causal mask).
 *
 * Worked number: gpt2 has 50257 * 768 + 1024 * 768 parameters in its embeddings, 7,087,872 in each of 12 blocks and
 * 1,536 in the last norm: 124,439,808; a tied head adds none. */
#include "models/family/family_table.h"

#include <math.h>
#include <stdio.h>

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/decoder_skeleton.h"
#include "models/forward/forward.h"
#include "models/skeleton/skeleton_builder.h"

static const struct decoder_type types[] = {
    {.model_type = "gpt2", .classes = {.model = "GPT2Model", .head = "GPT2LMHeadModel", .layer = "GPT2Block"}},
};

/* -- the configuration */

static void gpt2_read(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), 50257, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"n_embd", NULL, CONFIG_OFFSET(hidden), 768, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"n_layer", NULL, CONFIG_OFFSET(layers), 12, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"n_head", NULL, CONFIG_OFFSET(heads), 12, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"n_inner", NULL, CONFIG_OFFSET(ffn), 0, 0, CONFIG_COUNT_MAXIMUM},
        {"n_positions", NULL, CONFIG_OFFSET(positions), 1024, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    config_heads_check(reader, "n_head", config);
    config->ffn = config->ffn > 0 ? config->ffn : 4 * config->hidden;
    config_activation(reader, "activation_function", ACTIVATION_GELU_NEW, config);
    config->hidden_dropout = field_real(reader, "resid_pdrop", 0, 0.999, 0.1);
    config->embedding_dropout = field_real(reader, "embd_pdrop", 0, 0.999, 0.1);
    config->attention_dropout = field_real(reader, "attn_pdrop", 0, 0.999, 0.1);
    config->norm_epsilon = field_real(reader, "layer_norm_epsilon", 0, 1, 1e-5);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", true);
    config->attention_bias = config->attention_output_bias = config->mlp_bias = true;
    config->pad_token = -1; /* GPT-2's embedding has no padding index, whatever pad_token_id says */
    config_refuse_true(reader, "add_cross_attention");
    config_refuse_true(reader, "reorder_and_upcast_attn");
    config->kv_heads = config->heads;
    config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
}

/* -- the skeleton */

/* Conv1D is a linear layer whose weight is stored transposed: [inputs, outputs]. */
static void skeleton_projection(struct skeleton_builder *builder, int parent, const char *name, int64_t inputs,
                                int64_t outputs, double deviation)
{
    builder_module(builder, parent, name, "Conv1D");
    builder_matrix(builder, "weight", (struct initial){.deviation = deviation}, inputs, outputs);
    builder_vector(builder, "bias", (struct initial){0}, outputs);
}

static void layer_list(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type)
{
    const struct config *config = builder->config;
    int64_t hidden = config->hidden;
    /* Projections that end in the residual stream start smaller, so that its variance does not grow with depth. */
    double residual = config->initializer_range / sqrt(2.0 * (double)config->layers);
    int block = builder_element(builder, layers, number, type->classes.layer);
    builder_keep_whole(builder, block);
    builder_layernorm(builder, block, "ln_1");
    int attention = builder_module(builder, block, "attn", "GPT2Attention");
    skeleton_projection(builder, attention, "c_attn", hidden, 3 * hidden, config->initializer_range);
    skeleton_projection(builder, attention, "c_proj", hidden, hidden, residual);
    builder_dropout(builder, attention, "attn_dropout");
    builder_dropout(builder, attention, "resid_dropout");
    builder_layernorm(builder, block, "ln_2");
    int mlp = builder_module(builder, block, "mlp", "GPT2MLP");
    skeleton_projection(builder, mlp, "c_fc", hidden, config->ffn, config->initializer_range);
    skeleton_projection(builder, mlp, "c_proj", config->ffn, hidden, residual);
    builder_activation(builder, mlp, "act");
    builder_dropout(builder, mlp, "dropout");
}

static void positions_list(struct skeleton_builder *builder, int model)
{
    builder_embedding(builder, model, "wpe", builder->config->positions, builder->config->hidden);
    builder_dropout(builder, model, "drop");
}

/* -- the forward pass */

/* The three thirds of one projection, as heads. */
static void heads_split(const struct forward_layer *layer, struct value *hidden, struct value *heads[3])
{
    const struct forward *f = layer->forward;
    struct value *parts[3];
    struct value *fused = layer_linear_t(layer, "attn.c_attn", hidden);
    tape_split(f->tape, fused, 2, 3, parts);
    tape_drop(f->tape, fused);
    for (int i = 0; i < 3; i++) {
        heads[i] = heads_view(f, parts[i], f->config->heads);
        tape_drop(f->tape, parts[i]);
    }
}

/* GPT2Attention; eager weights stay with the open frame. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct value *heads[3];
    heads_split(layer, hidden, heads);
    layer_cache(layer, &heads[1], &heads[2]);
    struct attention_form form = {.scale = 1.0 / sqrt((double)f->config->head_dim),
                                  .dropout = f->config->attention_dropout,
                                  .causal = true,
                                  .casts_weights = true,
                                  .weights_dtype = value_dtype(heads[2]),
                                  .mask = layer->mask};
    struct value *weights = NULL;
    struct value *out = forward_attention(f, &form, heads[0], heads[1], heads[2], &weights);
    value_rebind(tape, &out, layer_linear_t(layer, "attn.c_proj", out));
    value_rebind(tape, &out, tape_dropout(tape, out, f->config->hidden_dropout));
    for (int i = 0; i < 3; i++) {
        tape_drop(tape, heads[i]);
    }
    if (forward_has(f, RELEASE_WEIGHTS_DROPPED)) {
        tape_drop(tape, weights);
    }
    return out;
}

static struct value *feed_forward(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    int frame = tape_frame_open(f->tape);
    struct value *inner = layer_linear_t(layer, "mlp.c_fc", hidden);
    inner = forward_activation(f, f->config->activation, inner);
    value_rebind(f->tape, &inner, layer_linear_t(layer, "mlp.c_proj", inner));
    value_rebind(f->tape, &inner, tape_dropout(f->tape, inner, f->config->hidden_dropout));
    return tape_frame_close(f->tape, frame, inner);
}

static struct value *gpt2_block(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    int frame = tape_frame_open(tape);
    struct value *hidden = layer_layernorm(layer, "ln_1", input);
    struct value *attended = attention(layer, hidden);
    value_rebind(tape, &hidden, tape_add(tape, attended, input));
    struct value *residual = hidden;
    hidden = layer_layernorm(layer, "ln_2", residual);
    struct value *fed = feed_forward(layer, hidden);
    value_rebind(tape, &hidden, tape_add(tape, residual, fed));
    return tape_frame_close(tape, frame, hidden);
}

static struct value *embeddings(const struct forward *f, const char *root, struct value **positions)
{
    struct tape *tape = f->tape;
    char path[64];
    snprintf(path, sizeof path, "%swte", root);
    struct value *words = forward_words(f, path, -1);
    *positions = forward_positions(f);
    snprintf(path, sizeof path, "%swpe", root);
    struct value *places = forward_embedding(f, path, *positions, -1);
    /* The real code keeps words and places by name until the model returns: they stay in the caller's frame. */
    return tape_add(tape, words, places);
}

static struct value *transformer(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *positions = NULL;
    struct value *hidden = embeddings(f, root, &positions);
    forward_packing_ask(f, hidden);
    struct value *mask = forward_mask(f, hidden, true);
    tape_recomputation_argument(tape, mask);
    value_rebind(tape, &hidden, tape_dropout(tape, hidden, f->config->embedding_dropout));
    struct forward_layer layer = {.forward = f, .mask = mask, .positions = positions};
    hidden = decoder_layers(&layer, NULL, root, hidden);
    char path[64];
    snprintf(path, sizeof path, "%sln_f", root);
    value_rebind(tape, &hidden, forward_layernorm(f, path, hidden));
    return tape_frame_close(tape, frame, hidden);
}

static const struct decoder gpt2 = {
    .names = {.inside = "transformer", .words = "wte", .layers = "h", .norm = "ln_f"},
    .types = DECODER_TYPES(types),
    .heads = decoder_heads_transformer,
    .after_words = positions_list,
    .layer_list = layer_list,
    .passes_words = true,
    .names_layers = true,
    .layer = gpt2_block,
    .model = transformer,
};

static const struct family_era eras[] = {
    {.model_type = "gpt2", .until = 5000, .block_masks = 1, .block_scalars = 1},
    {.model_type = "gpt2", .until = 5001, .block_masks = 1},
    {.model_type = NULL},
};

static const char *const model_types[] = {"gpt2", NULL};
static const char *const lora_targets[] = {"c_attn", NULL};

const struct family family_gpt2 = {
    .name = "gpt2",
    .model_types = model_types,
    .has_attention = true,
    .bounds_positions = true,
    .generates = true,
    .lora_targets = lora_targets,
    .eras = eras,
    .read = gpt2_read,
    .has_head = decoder_has_head,
    .decoder = &gpt2,
    .skeleton = decoder_skeleton,
    .forward = decoder_forward,
};
