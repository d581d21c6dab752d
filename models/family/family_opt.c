/* OPT: OPTModel, and OPTForCausalLM with its tied head (transformers 5.23). Positions are learned and begin in row 2 of
 * their table; opt-350m has narrower word embeddings, projected in and out, and norms behind the sums.
 *
 * Worked number: opt-125m has (50272 + 2050) * 768 = 40,183,296 parameters in its embeddings, 7,087,872 in each of 12
 * layers and 1,536 in the last norm: 125,239,296; a tied head adds none. */
#include "models/family/family_table.h"

#include <math.h>
#include <stdio.h>

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/decoder_skeleton.h"
#include "models/forward/module_visit.h"
#include "models/skeleton/skeleton_builder.h"

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
    if (!field_boolean(reader, "layer_norm_elementwise_affine", true)) {
        field_fault(reader, "layer_norm_elementwise_affine", "norms without weights are not modelled; write true");
    }
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
    builder_activation(builder, layer, "activation_fn");
    builder_layernorm(builder, layer, "self_attn_layer_norm");
    builder_linear(builder, layer, "fc1", config->ffn, config->hidden, config->mlp_bias);
    builder_linear(builder, layer, "fc2", config->hidden, config->ffn, config->mlp_bias);
    builder_layernorm(builder, layer, "final_layer_norm");
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
        builder_layernorm(builder, decoder, "final_layer_norm");
    }
    int layers = builder_module(builder, decoder, "layers", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        skeleton_layer(builder, layers, i);
    }
    return words;
}

static void skeleton_untied(struct skeleton_builder *builder, int model)
{
    skeleton_decoder(builder, model);
}

static void opt_skeleton(struct skeleton_builder *builder, enum head head)
{
    if (decoder_task_skeleton(builder, head, skeleton_untied)) {
        return;
    }
    bool lm = head == HEAD_LM;
    int root = lm ? builder_module(builder, -1, "", "OPTForCausalLM") : -1;
    int model = builder_module(builder, root, lm ? "model" : "", "OPTModel");
    int words = skeleton_decoder(builder, model);
    decoder_head_list(builder, root, builder->config->word_width, words);
}

/* -- the forward pass */

/* Queries are scaled before attention, which scales by 1. */
static struct value *query_of(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    int frame = tape_frame_open(f->tape);
    struct value *q = layer_linear(layer, "self_attn.q_proj", hidden);
    value_rebind(f->tape, &q, tape_scale(f->tape, q, 1.0 / sqrt((double)f->config->head_dim)));
    return tape_frame_close(f->tape, frame, heads_view(f, q, f->config->heads));
}

/* OPTAttention; eager weights stay with the open frame. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct value *q = query_of(layer, hidden);
    int frame = tape_frame_open(tape);
    struct value *k = heads_view(f, layer_linear(layer, "self_attn.k_proj", hidden), f->config->heads);
    k = tape_frame_close(tape, frame, k);
    frame = tape_frame_open(tape);
    struct value *v = heads_view(f, layer_linear(layer, "self_attn.v_proj", hidden), f->config->heads);
    v = tape_frame_close(tape, frame, v);
    layer_cache(layer, &k, &v);
    struct attention_form form = {.scale = 1.0,
                                  .dropout = f->config->attention_dropout,
                                  .causal = true,
                                  .softmax_in_float32 = true,
                                  .casts_weights = true,
                                  .weights_dtype = value_dtype(q),
                                  .mask = layer->mask};
    struct value *weights = NULL;
    struct value *out = forward_attention(f, &form, q, k, v, &weights);
    value_rebind(tape, &out, layer_linear(layer, "self_attn.out_proj", out));
    tape_drop(tape, q);
    tape_drop(tape, k);
    tape_drop(tape, v);
    return out;
}

static struct value *opt_layer(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    const struct config *config = layer->forward->config;
    int frame = tape_frame_open(tape);
    struct value *normalised = config->norm_first ? layer_layernorm(layer, "self_attn_layer_norm", input) : input;
    struct value *hidden = attention(layer, normalised);
    if (normalised != input) {
        tape_drop(tape, normalised);
    }
    value_rebind(tape, &hidden, tape_dropout(tape, hidden, config->hidden_dropout));
    value_rebind(tape, &hidden, tape_add(tape, input, hidden));
    if (!config->norm_first) {
        value_rebind(tape, &hidden, layer_layernorm(layer, "self_attn_layer_norm", hidden));
    }
    struct value *residual = hidden;
    hidden = config->norm_first ? layer_layernorm(layer, "final_layer_norm", residual) : residual;
    struct value *inner = layer_linear(layer, "fc1", hidden);
    if (hidden != residual) {
        tape_drop(tape, hidden);
    }
    inner = forward_activation(layer->forward, config->activation, inner);
    value_rebind(tape, &inner, layer_linear(layer, "fc2", inner));
    value_rebind(tape, &inner, tape_dropout(tape, inner, config->hidden_dropout));
    value_rebind(tape, &inner, tape_add(tape, residual, inner));
    if (!config->norm_first) {
        value_rebind(tape, &inner, layer_layernorm(layer, "final_layer_norm", inner));
    }
    return tape_frame_close(tape, frame, inner);
}

/* Where no mask is given one of ones in float32 is made for it; cumsum, product and difference give the positions of
 * tokens, int64, which are the generation's own if there is one. Both stay with the open frame. */
static struct value *positions_of(const struct forward *f)
{
    struct tape *tape = f->tape;
    int64_t cached = f->cache != NULL ? f->cache->length : 0;
    int64_t size[] = {value_size(f->ids, 0), value_size(f->ids, 1)}, seen[] = {size[0], size[1] + cached};
    enum dtype dtype = f->seen != NULL ? DTYPE_INT64 : DTYPE_FLOAT32;
    if (f->seen == NULL && f->mask == NULL) {
        tensor_passing(tape, dtype, 2, seen);
    }
    if (f->positions != NULL) {
        return f->positions;
    }
    int frame = tape_frame_open(tape);
    tensor_passing(tape, dtype, 2, seen); /* the sum keeps its name */
    struct value *product = tensor_passing(tape, dtype, 2, seen);
    value_rebind(tape, &product, tensor_passing(tape, dtype, 2, seen));
    if (dtype != DTYPE_INT64) {
        value_rebind(tape, &product, tensor_passing(tape, DTYPE_INT64, 2, seen));
    }
    return tape_frame_close(tape, frame, product);
}

/* OPTLearnedPositionalEmbedding: the positions, moved by the offset of their table. */
static struct value *places_of(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(f->ids, 0), value_size(f->ids, 1)};
    int64_t cached = f->cache != NULL ? f->cache->length : 0;
    char path[64];
    struct value *rows = NULL;
    if (f->seen != NULL) {
        rows = tape_token_positions(tape, f->seen, 0, POSITION_OFFSET - 1, POSITION_OFFSET - 1);
    } else {
        rows = tensor_passing(tape, DTYPE_INT64, 2, size);
        tape_sequence(tape, rows, cached + POSITION_OFFSET);
    }
    snprintf(path, sizeof path, "%sdecoder.embed_positions", root);
    return tape_frame_close(tape, frame, forward_embedding(f, path, rows, -1));
}

/* The embeddings keep their names until the model returns: they stay in the caller's frame. */
static struct value *embeddings(const struct forward *f, const char *root, struct value **mask,
                                struct value **positions)
{
    struct tape *tape = f->tape;
    char path[64];
    snprintf(path, sizeof path, "%sdecoder.embed_tokens", root);
    struct value *words = forward_words(f, path, f->config->pad_token);
    *positions = positions_of(f);
    *mask = forward_mask(f, words, true);
    struct value *places = places_of(f, root);
    if (f->config->word_width != f->config->hidden) {
        snprintf(path, sizeof path, "%sdecoder.project_in", root);
        value_rebind(tape, &words, forward_linear(f, path, words));
    }
    struct value *near = tape_move(tape, places, value_place(tape, words)); /* .to(inputs_embeds.device): has no name */
    struct value *sum = tape_add(tape, words, near);
    if (near != places) {
        tape_drop(tape, near);
    }
    return sum;
}

static struct value *decoder(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *mask = NULL, *positions = NULL;
    struct value *hidden = embeddings(f, root, &mask, &positions);
    struct forward_layer layer = {.forward = f, .mask = mask, .positions = positions};
    hidden = decoder_layers(&layer, NULL, root, hidden);
    char path[64];
    if (f->config->final_norm) {
        snprintf(path, sizeof path, "%sdecoder.final_layer_norm", root);
        value_rebind(tape, &hidden, forward_layernorm(f, path, hidden));
    }
    if (f->config->word_width != f->config->hidden) {
        snprintf(path, sizeof path, "%sdecoder.project_out", root);
        value_rebind(tape, &hidden, forward_linear(f, path, hidden));
    }
    return tape_frame_close(tape, frame, hidden);
}

/* OPTModel: its decoder is a module of its own. */
static struct value *model(const struct forward *f, const char *root)
{
    char path[64];
    snprintf(path, sizeof path, "%sdecoder", root);
    return module_run(f, path, decoder, root);
}

static const struct decoder_type types[] = {{.model_type = "opt", .classes = {.model = "OPTModel"}}};

static const struct task_head task_heads[] = {
    TASK_HEAD_LAST("model"), TASK_HEAD_QUESTION("model"), {.head = HEAD_DEFAULT}};

static const struct decoder opt = {
    .types = DECODER_TYPES(types),
    .heads = task_heads,
    .names = {.inside = "model", .layers = "decoder.layers"},
    .passes_words = true,
    .layer = opt_layer,
    .model = model,
};

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
    .has_head = decoder_has_head,
    .skeleton = opt_skeleton,
    .decoder = &opt,
    .forward = decoder_forward,
};
