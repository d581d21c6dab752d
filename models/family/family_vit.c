/* ViT: ViTModel with its pooler, and ViTForImageClassification. Separate query, key and value projections.
 *
 * Skeleton of ViT: ViTModel with its pooler, or ViTForImageClassification without it (transformers 5.23, whose names
 * differ from those of older checkpoints).
 *
 * Worked number: google/vit-base-patch16-224 has 768 * 768 + 768 parameters in the projection of its patches, 768 + 197
 * * 768 in the class token and the positions, 7,087,872 in each of 12 layers and 1,536 in the last norm; with 1000
 * classes 769,000 more: 86,567,656. */
#include "models/family/family_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/forward/forward.h"
#include "models/forward/module_visit.h"
#include "models/skeleton/skeleton_builder.h"

/* -- the configuration */

/* A file may state the elements of a head, though the class has no such field. */
static void read_heads(struct field_reader *reader, struct config *config)
{
    if (json_kind(field_member(reader, "head_dim")) == JSON_KIND_NULL) {
        config_heads_check(reader, "num_attention_heads", config);
    }
    if (reader->code != STATUS_OK) {
        return;
    }
    config->head_dim = field_integer(reader, "head_dim", 1, CONFIG_COUNT_MAXIMUM, config->hidden / config->heads);
    if (config->heads > CONFIG_COUNT_MAXIMUM / config->head_dim) {
        field_fault(reader, "head_dim", "%" PRId64 " heads of %" PRId64 " are too large; write smaller numbers",
                    config->heads, config->head_dim);
    }
}

static void vit_read(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"hidden_size", NULL, CONFIG_OFFSET(hidden), 768, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), 12, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), 12, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"intermediate_size", NULL, CONFIG_OFFSET(ffn), 3072, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_channels", NULL, CONFIG_OFFSET(channels), 3, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"pooler_output_size", NULL, CONFIG_OFFSET(pooler), 0, 0, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    read_heads(reader, config);
    config->pooler = config->pooler > 0 ? config->pooler : config->hidden;
    config->image = field_square(reader, "image_size", CONFIG_IMAGE_MAXIMUM, 224);
    config->patch = field_square(reader, "patch_size", CONFIG_IMAGE_MAXIMUM, 16);
    if (config->patch > config->image) {
        field_fault(reader, "patch_size", "%" PRId64 " is larger than the image, %" PRId64 "; write a smaller one",
                    config->patch, config->image);
    }
    config_activation(reader, "hidden_act", ACTIVATION_GELU, config);
    const char *pooler = field_string(reader, "pooler_act");
    if (pooler != NULL && strcmp(pooler, "tanh") != 0) {
        field_fault(reader, "pooler_act", "'%.80s' is not modelled; write tanh, or take another model", pooler);
    }
    config->hidden_dropout = field_real(reader, "hidden_dropout_prob", 0, 0.999, 0);
    config->embedding_dropout = config->hidden_dropout;
    config->attention_dropout = field_real(reader, "attention_probs_dropout_prob", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "layer_norm_eps", 0, 1, 1e-12);
    config->attention_bias = field_boolean(reader, "qkv_bias", true);
    config->attention_output_bias = config->mlp_bias = true;
    config->classes = config_classes(reader);
    config->pad_token = -1;
    config->kv_heads = config->heads;
}

/* -- the skeleton */

static void skeleton_embeddings(struct skeleton_builder *builder, int parent)
{
    const struct config *config = builder->config;
    const struct initial normal = {.deviation = config->initializer_range};
    int64_t side = config->image / config->patch;
    const int64_t class_token[] = {1, 1, config->hidden};
    const int64_t positions[] = {1, side * side + 1, config->hidden};
    const int64_t kernel[] = {config->hidden, config->channels, config->patch, config->patch};
    int embeddings = builder_block(builder, parent, "embeddings", "ViTEmbeddings");
    builder_parameter(builder, "cls_token", normal, 3, class_token);
    builder_parameter(builder, "position_embeddings", normal, 3, positions);
    int patches = builder_module(builder, embeddings, "patch_embeddings", "ViTPatchEmbeddings");
    builder_module(builder, patches, "projection", "Conv2d");
    builder_parameter(builder, "weight", normal, 4, kernel);
    builder_vector(builder, "bias", (struct initial){0}, config->hidden);
    builder_dropout(builder, embeddings, "dropout");
}

static void skeleton_layer(struct skeleton_builder *builder, int parent, int64_t number)
{
    const struct config *config = builder->config;
    int64_t hidden = config->hidden, inner = config->heads * config->head_dim; /* read_heads has checked that it fits */
    int layer = builder_element(builder, parent, number, "ViTLayer");
    builder_keep_whole(builder, layer);
    int attention = builder_module(builder, layer, "attention", "ViTAttention");
    builder_linear(builder, attention, "q_proj", inner, hidden, config->attention_bias);
    builder_linear(builder, attention, "k_proj", inner, hidden, config->attention_bias);
    builder_linear(builder, attention, "v_proj", inner, hidden, config->attention_bias);
    builder_linear(builder, attention, "o_proj", hidden, inner, true);
    builder_layernorm(builder, layer, "layernorm_before");
    builder_layernorm(builder, layer, "layernorm_after");
    int mlp = builder_module(builder, layer, "mlp", "ViTMLP");
    builder_activation(builder, mlp, "activation_fn");
    builder_linear(builder, mlp, "fc1", config->ffn, hidden, true);
    builder_linear(builder, mlp, "fc2", hidden, config->ffn, true);
    builder_dropout(builder, layer, "dropout");
}

static void vit_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    int root = -1;
    int model = -1;
    if (head == HEAD_LM) {
        root = builder_module(builder, -1, "", "ViTForImageClassification");
        model = builder_module(builder, root, "vit", "ViTModel");
    } else {
        model = builder_module(builder, -1, "", "ViTModel");
    }
    skeleton_embeddings(builder, model);
    int layers = builder_module(builder, model, "layers", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        skeleton_layer(builder, layers, i);
    }
    builder_layernorm(builder, model, "layernorm");
    if (head == HEAD_LM) {
        builder_linear(builder, root, "classifier", config->classes, config->hidden, true);
    } else {
        int pooler = builder_module(builder, model, "pooler", "ViTPooler");
        builder_linear(builder, pooler, "dense", config->pooler, config->hidden, true);
        builder_silent(builder, pooler, "activation", "Tanh");
    }
}

/* -- the forward pass */

/* ViTAttention; eager weights stay with the open frame. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    static const char *const paths[] = {"attention.q_proj", "attention.k_proj", "attention.v_proj"};
    struct value *heads[3];
    struct module_visit visit = layer_enter(layer, "attention");
    hidden = module_argument(f, visit, hidden);
    for (int i = 0; i < 3; i++) {
        int frame = tape_frame_open(tape);
        heads[i] =
            tape_frame_close(tape, frame, heads_view(f, layer_linear(layer, paths[i], hidden), f->config->heads));
    }
    struct attention_form form = {.scale = 1.0 / sqrt((double)f->config->head_dim),
                                  .dropout = f->config->attention_dropout,
                                  .softmax_in_float32 = true,
                                  .casts_weights = true,
                                  .weights_dtype = value_dtype(heads[0])};
    struct value *weights = NULL;
    struct value *out = forward_attention(f, &form, heads[0], heads[1], heads[2], &weights);
    value_rebind(tape, &out, layer_linear(layer, "attention.o_proj", out));
    for (int i = 0; i < 3; i++) {
        tape_drop(tape, heads[i]);
    }
    struct value *const results[] = {out, weights};
    module_leave_all(f, visit, results, 2);
    return out;
}

static struct value *feed_forward(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct module_visit visit = layer_enter(layer, "mlp");
    int frame = tape_frame_open(f->tape);
    struct value *inner = layer_linear(layer, "mlp.fc1", module_argument(f, visit, hidden));
    inner = layer_activation(layer, "mlp.activation_fn", inner);
    return module_leave(f, visit, tape_frame_close(f->tape, frame, layer_linear(layer, "mlp.fc2", inner)));
}

static struct value *vit_layer(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    double dropout = layer->forward->config->hidden_dropout;
    int frame = tape_frame_open(tape);
    struct value *hidden = layer_layernorm(layer, "layernorm_before", input);
    value_rebind(tape, &hidden, attention(layer, hidden));
    value_rebind(tape, &hidden, tape_dropout(tape, hidden, dropout));
    value_rebind(tape, &hidden, tape_add(tape, hidden, input));
    struct value *residual = hidden;
    hidden = layer_layernorm(layer, "layernorm_after", residual);
    value_rebind(tape, &hidden, feed_forward(layer, hidden));
    value_rebind(tape, &hidden, tape_dropout(tape, hidden, dropout));
    value_rebind(tape, &hidden, tape_add(tape, hidden, residual));
    return tape_frame_close(tape, frame, hidden);
}

/* ViTPatchEmbeddings: [B, patches, hidden], a view of what the convolution makes. */
static struct value *patches_make(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    char path[64];
    snprintf(path, sizeof path, "%sembeddings.patch_embeddings", root);
    struct module_visit visit = module_enter(f, path);
    int frame = tape_frame_open(tape);
    struct value *images = module_argument(f, visit, f->images);
    snprintf(path, sizeof path, "%sembeddings.patch_embeddings.projection", root);
    struct value *map = forward_convolution(f, path, images, (struct convolution_form){f->config->patch, 0, 1});
    if (map == NULL) {
        return module_leave(f, visit, tape_frame_close(tape, frame, NULL));
    }
    int64_t flat[] = {value_size(map, 0), f->config->hidden, value_size(map, 2) * value_size(map, 3)};
    struct value *rows = tape_transpose(tape, tape_reshape(tape, map, 3, flat), 1, 2);
    return module_leave(f, visit, tape_frame_close(tape, frame, rows));
}

/* Patches as rows, a class token before them, positions added. */
static struct value *embeddings(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t one[] = {value_size(f->images, 0), 1, f->config->hidden};
    struct value *patches = patches_make(f, root);
    struct value *token = tape_expand(tape, forward_tensor(f, "%sembeddings.cls_token", root), 3, one);
    struct value *rows = tape_concatenate(tape, token, patches, 1);
    /* patches and rows are one name in the real code: the former are gone once the latter are there */
    struct value *result = tape_frame_close(tape, frame, rows);
    frame = tape_frame_open(tape);
    struct value *placed = tape_add(tape, result, forward_tensor(f, "%sembeddings.position_embeddings", root));
    value_rebind(tape, &result, tape_frame_close(tape, frame, placed));
    value_rebind(tape, &result, tape_dropout(tape, result, f->config->hidden_dropout));
    return result;
}

static struct value *encoder(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    struct forward_layer layer = {.forward = f};
    char path[64];
    snprintf(path, sizeof path, "%sembeddings", root);
    struct value *embedded = module_run(f, path, embeddings, root); /* keeps its name until the model returns */
    struct value *hidden = forward_layers(vit_layer, &layer, root, "layers.", NULL, 0, embedded);
    snprintf(path, sizeof path, "%slayernorm", root);
    struct value *normed = forward_layernorm(f, path, hidden);
    tape_drop(tape, hidden);
    tape_drop(tape, embedded);
    return normed;
}

static struct value *vit_forward(const struct forward *f)
{
    struct tape *tape = f->tape;
    if (f->skeleton->head == HEAD_BARE) {
        struct value *hidden = encoder(f, "");
        forward_pooler(f, "", hidden);
        return hidden;
    }
    int frame = tape_frame_open(tape);
    struct value *hidden = module_run(f, "vit", encoder, "vit.");
    struct value *logits = forward_linear(f, "classifier", tape_select(tape, hidden, 1, 0));
    if (f->labels == NULL) {
        return tape_frame_close(tape, frame, logits);
    }
    return tape_frame_close(tape, frame, forward_class_loss(f, logits));
}

static const char *const model_types[] = {"vit", NULL};

const struct family family_vit = {
    .name = "vit",
    .model_types = model_types,
    .is_image = true,
    .has_attention = true,
    .read = vit_read,
    .skeleton = vit_skeleton,
    .forward = vit_forward,
};
