/* Vision transformers of timm (1.0.31): its VisionTransformer as the vit_* and deit_* names make it, with a class token
 * and the classifier on it. One projection makes queries, keys and values. transformers' ViT is another class, in
 * family_vit.c.
 *
 * Worked number: deit_tiny_patch16_224 has 768 * 192 + 192 parameters in the projection of its patches, 192 + 197 * 192
 * in the class token and the positions, 444,864 in each of 12 blocks, 384 in the last norm and 193,000 in the
 * classifier: 5,717,416. */
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

/* What an architecture's name stands for in timm's code: the widths by the word for its size, and the numbers. */
static const struct {
    const char *name;
    int64_t hidden, layers, heads;
} sizes[] = {
    {"tiny", 192, 12, 3}, {"small", 384, 12, 6}, {"base", 768, 12, 12}, {"large", 1024, 24, 16}, {"huge", 1280, 32, 16},
};

static const char *const architectures[] = {"vit_tiny_patch16_224",
                                            "vit_tiny_patch16_384",
                                            "vit_small_patch32_224",
                                            "vit_small_patch32_384",
                                            "vit_small_patch16_224",
                                            "vit_small_patch16_384",
                                            "vit_base_patch32_224",
                                            "vit_base_patch32_384",
                                            "vit_base_patch16_224",
                                            "vit_base_patch16_384",
                                            "vit_base_patch8_224",
                                            "vit_large_patch32_224",
                                            "vit_large_patch32_384",
                                            "vit_large_patch16_224",
                                            "vit_large_patch16_384",
                                            "vit_huge_patch14_224",
                                            "deit_tiny_patch16_224",
                                            "deit_small_patch16_224",
                                            "deit_base_patch16_224",
                                            "deit_base_patch16_384",
                                            "deit_tiny_distilled_patch16_224",
                                            "deit_small_distilled_patch16_224",
                                            "deit_base_distilled_patch16_224",
                                            "deit_base_distilled_patch16_384",
                                            NULL};

/* "deit_tiny_patch16_224" */
static void architecture_take(struct field_reader *reader, struct config *config)
{
    const char *size = strchr(config->architecture, '_') + 1, *patch = strstr(config->architecture, "_patch");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (strncmp(size, sizes[i].name, strlen(sizes[i].name)) == 0) {
            config->hidden = sizes[i].hidden;
            config->layers = sizes[i].layers;
            config->heads = sizes[i].heads;
        }
    }
    sscanf(patch, "_patch%" SCNd64 "_%" SCNd64, &config->patch, &config->image);
    if (strstr(config->architecture, "_distilled_") != NULL) {
        field_fault(reader, "architecture",
                    "'%s' is not modelled: it has a token and a classifier of distillation besides; take the "
                    "architecture of that name without _distilled",
                    config->architecture);
    }
}

/* What create_model would be given besides the name. Others than these would change the network. */
static void arguments_read(struct field_reader *reader, struct config *config)
{
    static const char *const known[] = {"img_size",       "patch_size",     "embed_dim", "depth",
                                        "num_heads",      "in_chans",       "drop_rate", "pos_drop_rate",
                                        "proj_drop_rate", "attn_drop_rate", "mlp_ratio", NULL};
    struct field_reader inner;
    if (!config_arguments(reader, known,
                          "img_size, patch_size, embed_dim, depth, num_heads, mlp_ratio, in_chans, drop_rate, "
                          "pos_drop_rate, proj_drop_rate, attn_drop_rate",
                          &inner)) {
        return;
    }
    config->image = field_integer(&inner, "img_size", 1, CONFIG_IMAGE_MAXIMUM, config->image);
    config->patch = field_integer(&inner, "patch_size", 1, CONFIG_IMAGE_MAXIMUM, config->patch);
    config->hidden = field_integer(&inner, "embed_dim", 1, CONFIG_COUNT_MAXIMUM / 4, config->hidden);
    config->layers = field_integer(&inner, "depth", 1, CONFIG_LAYERS_MAXIMUM, config->layers);
    config->heads = field_integer(&inner, "num_heads", 1, CONFIG_COUNT_MAXIMUM, config->heads);
    config->channels = field_integer(&inner, "in_chans", 1, CONFIG_COUNT_MAXIMUM, config->channels);
    config->ffn = (int64_t)((double)config->hidden * field_real(&inner, "mlp_ratio", 1e-6, 1024, 4));
    config->classifier_dropout = field_real(&inner, "drop_rate", 0, 0.999, 0);
    config->embedding_dropout = field_real(&inner, "pos_drop_rate", 0, 0.999, 0);
    config->hidden_dropout = field_real(&inner, "proj_drop_rate", 0, 0.999, 0);
    config->attention_dropout = field_real(&inner, "attn_drop_rate", 0, 0.999, 0);
    if (inner.code == STATUS_OK && config->hidden % config->heads != 0) {
        field_fault(&inner, "num_heads", "%" PRId64 " heads do not divide %" PRId64 "; write a number that does",
                    config->heads, config->hidden);
    }
    reader->code = reader->code != STATUS_OK ? reader->code : inner.code;
}

static void timm_vit_read(struct field_reader *reader, struct config *config)
{
    config->channels = 3;
    architecture_take(reader, config);
    config->ffn = 4 * config->hidden;
    if (json_get(field_member(reader, "pretrained_cfg"), "input_size") != NULL) {
        config->image = config_input_size(reader);
    }
    arguments_read(reader, config);
    if (config->patch > config->image || config->ffn < 1) {
        field_fault(reader, "model_args",
                    "patches of %" PRId64 " in images of %" PRId64 ", and %" PRId64
                    " inner rows, make no network; write a smaller patch_size or a larger mlp_ratio",
                    config->patch, config->image, config->ffn);
    }
    config->classes = config_timm_classes(reader);
    activation_set(ACTIVATION_GELU, config);
    config->activation_class = "GELU";
    config->norm_epsilon = 1e-6;
    config->attention_bias = config->attention_output_bias = config->mlp_bias = true;
    config->pad_token = -1;
    config->kv_heads = config->heads;
    config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
}

/* -- the skeleton */

/* Modules that do nothing in these networks. */
static void idle(struct skeleton_builder *builder, int parent, const char *name)
{
    builder_silent(builder, parent, name, "Identity");
}

static void skeleton_block(struct skeleton_builder *builder, int parent, int64_t number)
{
    const struct config *config = builder->config;
    int64_t hidden = config->hidden;
    int block = builder_element(builder, parent, number, "Block");
    builder_layernorm(builder, block, "norm1");
    int attention = builder_module(builder, block, "attn", "Attention");
    builder_linear(builder, attention, "qkv", 3 * hidden, hidden, true);
    idle(builder, attention, "q_norm");
    idle(builder, attention, "k_norm");
    builder_dropout(builder, attention, "attn_drop");
    idle(builder, attention, "norm");
    builder_linear(builder, attention, "proj", hidden, hidden, true);
    builder_dropout(builder, attention, "proj_drop");
    idle(builder, block, "ls1");
    idle(builder, block, "drop_path1");
    builder_layernorm(builder, block, "norm2");
    int mlp = builder_module(builder, block, "mlp", "Mlp");
    builder_linear(builder, mlp, "fc1", config->ffn, hidden, true);
    builder_activation(builder, mlp, "act");
    builder_dropout(builder, mlp, "drop1");
    idle(builder, mlp, "norm");
    builder_linear(builder, mlp, "fc2", hidden, config->ffn, true);
    builder_dropout(builder, mlp, "drop2");
    idle(builder, block, "ls2");
    idle(builder, block, "drop_path2");
}

static void skeleton_patches(struct skeleton_builder *builder, int root)
{
    const struct config *config = builder->config;
    const int64_t kernel[] = {config->hidden, config->channels, config->patch, config->patch};
    /* The framework's uniform(-1 / sqrt(inputs), 1 / sqrt(inputs)) has this deviation. */
    double inputs = (double)config->channels * (double)config->patch * (double)config->patch;
    struct initial uniform = {.deviation = 1 / sqrt(3.0 * inputs)};
    int patches = builder_module(builder, root, "patch_embed", "PatchEmbed");
    builder_module(builder, patches, "proj", "Conv2d");
    builder_parameter(builder, "weight", uniform, 4, kernel);
    builder_vector(builder, "bias", uniform, config->hidden);
    idle(builder, patches, "norm");
}

static void timm_vit_skeleton(struct skeleton_builder *builder, enum head head)
{
    (void)head; /* always with its classifier */
    const struct config *config = builder->config;
    int64_t side = config->image / config->patch;
    const int64_t class_token[] = {1, 1, config->hidden};
    const int64_t positions[] = {1, side * side + 1, config->hidden};
    int root = builder_module(builder, -1, "", "VisionTransformer");
    builder_parameter(builder, "cls_token", (struct initial){.deviation = 1e-6}, 3, class_token);
    builder_parameter(builder, "pos_embed", (struct initial){.deviation = config->initializer_range}, 3, positions);
    skeleton_patches(builder, root);
    builder_dropout(builder, root, "pos_drop");
    idle(builder, root, "patch_drop");
    idle(builder, root, "norm_pre");
    int blocks = builder_module(builder, root, "blocks", "Sequential");
    for (int64_t i = 0; i < config->layers; i++) {
        skeleton_block(builder, blocks, i);
    }
    builder_layernorm(builder, root, "norm");
    idle(builder, root, "fc_norm");
    builder_dropout(builder, root, "head_drop");
    if (config->classes > 0) {
        builder_linear(builder, root, "head", config->classes, config->hidden, true);
    } else {
        idle(builder, root, "head");
    }
}

/* -- the forward pass */

/* [B, N, 3 * h] -> [3, B, heads, N, D], and its three parts. */
static struct value *heads_split(const struct forward_layer *layer, struct value *hidden, struct value *parts[3])
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(hidden, 0), value_size(hidden, 1), 3, f->config->heads, f->config->head_dim};
    struct value *rows = tape_reshape(tape, layer_linear(layer, "attn.qkv", hidden), 5, size);
    /* permute(2, 0, 3, 1, 4): [B, N, 3, H, D] -> [3, N, B, H, D] -> [3, B, N, H, D] -> [3, B, H, N, D] */
    struct value *turned = tape_transpose(tape, tape_transpose(tape, rows, 0, 2), 1, 2);
    struct value *all = tape_frame_close(tape, frame, tape_transpose(tape, turned, 2, 3));
    tape_unbind(tape, all, 0, 3, parts);
    return all;
}

/* The scores of scaled queries, which the eager form makes. */
static struct value *attend_eagerly(const struct forward *f, struct value *q, struct value *k, struct value *v)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *scaled = tape_scale(tape, q, 1.0 / sqrt((double)f->config->head_dim));
    struct value *turned = tape_transpose(tape, k, 2, 3);
    struct value *weights = tape_matmul(tape, scaled, turned);
    tape_drop(tape, turned);
    value_rebind(tape, &weights, tape_softmax(tape, weights, false));
    value_rebind(tape, &weights, tape_dropout(tape, weights, f->config->attention_dropout));
    struct value *out = tape_matmul(tape, weights, v);
    struct value *both[] = {out, weights, scaled};
    tape_frame_close_all(tape, frame, both, 3);
    return out;
}

/* Attention: the names of the projection and its parts last until it returns. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct module_visit visit = layer_enter(layer, "attn");
    int frame = tape_frame_open(tape);
    struct value *parts[3];
    heads_split(layer, module_argument(f, visit, hidden), parts);
    struct attention_form form = {.scale = 1.0 / sqrt((double)f->config->head_dim),
                                  .dropout = f->config->attention_dropout};
    struct value *weights = NULL, *out = NULL;
    if (f->workload->attention == ATTENTION_EAGER) {
        int64_t joined[] = {value_size(hidden, 0), value_size(hidden, 1), f->config->hidden};
        int inner = tape_frame_open(tape);
        struct value *heads = attend_eagerly(f, parts[0], parts[1], parts[2]);
        out = tape_reshape(tape, tape_transpose(tape, heads, 1, 2), 3, joined);
        out = tape_frame_close(tape, inner, out);
    } else {
        out = forward_attention(f, &form, parts[0], parts[1], parts[2], &weights);
    }
    value_rebind(tape, &out, layer_linear(layer, "attn.proj", out));
    out = layer_dropout(layer, "attn.proj_drop", out, f->config->hidden_dropout);
    return module_leave(f, visit, tape_frame_close(tape, frame, out));
}

static struct value *feed_forward(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    int frame = tape_frame_open(f->tape);
    struct value *inner = layer_linear(layer, "mlp.fc1", hidden);
    inner = layer_activation(layer, "mlp.act", inner);
    inner = layer_dropout(layer, "mlp.drop1", inner, f->config->hidden_dropout);
    value_rebind(f->tape, &inner, layer_linear(layer, "mlp.fc2", inner));
    inner = layer_dropout(layer, "mlp.drop2", inner, f->config->hidden_dropout);
    return tape_frame_close(f->tape, frame, inner);
}

static struct value *timm_block(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    int frame = tape_frame_open(tape);
    struct value *hidden = input;
    for (int part = 0; part < 2; part++) {
        int inner = tape_frame_open(tape);
        struct value *normed = layer_layernorm(layer, part == 0 ? "norm1" : "norm2", hidden);
        struct value *made = part == 0 ? attention(layer, normed) : feed_forward(layer, normed);
        tape_drop(tape, normed);
        struct value *sum = tape_frame_close(tape, inner, tape_add(tape, hidden, made));
        if (hidden != input) {
            tape_drop(tape, hidden);
        }
        hidden = sum;
    }
    return tape_frame_close(tape, frame, hidden);
}

/* PatchEmbed: [B, patches, hidden], a view of what the convolution makes. */
static struct value *patches_make(const struct forward *f)
{
    struct tape *tape = f->tape;
    struct module_visit visit = module_enter(f, "patch_embed");
    int frame = tape_frame_open(tape);
    struct value *images = module_argument(f, visit, f->images);
    struct value *map =
        forward_convolution(f, "patch_embed.proj", images, (struct convolution_form){f->config->patch, 0, 1});
    if (map == NULL) {
        return module_leave(f, visit, tape_frame_close(tape, frame, NULL));
    }
    int64_t flat[] = {value_size(map, 0), f->config->hidden, value_size(map, 2) * value_size(map, 3)};
    struct value *rows = tape_transpose(tape, tape_reshape(tape, map, 3, flat), 1, 2);
    return module_leave(f, visit, tape_frame_close(tape, frame, rows));
}

/* _pos_embed: a class token before the patches, whose name lasts until it returns, and positions added. */
static struct value *embeddings(const struct forward *f)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t one[] = {value_size(f->images, 0), 1, f->config->hidden};
    struct value *patches = patches_make(f);
    struct value *token = tape_expand(tape, forward_tensor(f, "cls_token"), 3, one);
    struct value *rows = tape_concatenate(tape, token, patches, 1);
    value_rebind(tape, &rows, tape_add(tape, rows, forward_tensor(f, "pos_embed")));
    value_rebind(tape, &rows, forward_dropout(f, "pos_drop", rows, f->config->embedding_dropout));
    return tape_frame_close(tape, frame, rows);
}

static struct value *timm_vit_forward(const struct forward *f)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct forward_layer layer = {.forward = f};
    struct value *embedded = embeddings(f);
    struct value *hidden = forward_layers(timm_block, &layer, "", "blocks.", NULL, 0, embedded);
    tape_drop(tape, embedded);
    value_rebind(tape, &hidden, forward_layernorm(f, "norm", hidden));
    struct value *pooled = tape_select(tape, hidden, 1, 0);
    value_rebind(tape, &pooled, forward_dropout(f, "head_drop", pooled, f->config->classifier_dropout));
    struct value *logits = pooled;
    if (f->config->classes > 0) {
        logits = forward_linear(f, "head", pooled);
        tape_drop(tape, pooled);
    }
    tape_drop(tape, hidden);
    if (f->labels == NULL) {
        return tape_frame_close(tape, frame, logits);
    }
    return tape_frame_close(tape, frame, forward_criterion(f, logits));
}

const struct family family_timm_vit = {
    .name = "timm_vit",
    .architectures = architectures,
    .is_image = true,
    .has_attention = true,
    .read = timm_vit_read,
    .skeleton = timm_vit_skeleton,
    .forward = timm_vit_forward,
};
