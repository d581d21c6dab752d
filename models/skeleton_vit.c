/* Skeleton of ViT: ViTModel with its pooler, or ViTForImageClassification without it (transformers 5.23, whose names
 * differ from those of older checkpoints).
 *
 * Worked number: google/vit-base-patch16-224 has 768 * 768 + 768 parameters in the projection of its patches, 768 + 197
 * * 768 in the class token and the positions, 7,087,872 in each of 12 layers and 1,536 in the last norm; with 1000
 * classes 769,000 more: 86,567,656. */
#include "models/skeleton_builder.h"

static void vit_embeddings(struct skeleton_builder *builder, int parent)
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
}

static void vit_layer(struct skeleton_builder *builder, int parent, int64_t number)
{
    const struct config *config = builder->config;
    int64_t hidden = config->hidden;
    int layer = builder_element(builder, parent, number, "ViTLayer");
    builder_keep_whole(builder, layer);
    int attention = builder_module(builder, layer, "attention", "ViTAttention");
    builder_linear(builder, attention, "q_proj", hidden, hidden, config->attention_bias);
    builder_linear(builder, attention, "k_proj", hidden, hidden, config->attention_bias);
    builder_linear(builder, attention, "v_proj", hidden, hidden, config->attention_bias);
    builder_linear(builder, attention, "o_proj", hidden, hidden, true);
    builder_layernorm(builder, layer, "layernorm_before");
    builder_layernorm(builder, layer, "layernorm_after");
    int mlp = builder_module(builder, layer, "mlp", "ViTMLP");
    builder_linear(builder, mlp, "fc1", config->ffn, hidden, true);
    builder_linear(builder, mlp, "fc2", hidden, config->ffn, true);
}

void skeleton_vit(struct skeleton_builder *builder, enum head head)
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
    vit_embeddings(builder, model);
    int layers = builder_module(builder, model, "layers", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        vit_layer(builder, layers, i);
    }
    builder_layernorm(builder, model, "layernorm");
    if (head == HEAD_LM) {
        builder_linear(builder, root, "classifier", config->classes, config->hidden, true);
    } else {
        int pooler = builder_module(builder, model, "pooler", "ViTPooler");
        builder_linear(builder, pooler, "dense", config->pooler, config->hidden, true);
    }
}
