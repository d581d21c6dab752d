/* Skeletons of decoders. Not here: what one family lists in its layers. */
#include "models/forward/decoder_skeleton.h"

#include <stdio.h>
#include <string.h>

#include "models/config/family.h"
#include "models/config/head.h"
#include "models/forward/decoder.h"
#include "models/forward/experts.h"
#include "models/forward/rotary.h"

void decoder_head_list(struct skeleton_builder *builder, int root, int64_t width, int words)
{
    const struct config *config = builder->config;
    if (root >= 0) {
        int weight = builder_linear(builder, root, "lm_head", config->vocab, width, false);
        builder_tie(builder, config->tied_head && words >= 0 ? weight : -1, words);
    }
}

static void rotary_list(struct skeleton_builder *builder, int model, const char *class_name)
{
    const struct config *config = builder->config;
    builder_module(builder, model, "rotary_emb", class_name);
    if (config->rope_local_theta == 0) {
        rotary_buffers(builder, "", config->rotary_dim, config->rope_theta);
        return;
    }
    if (decoder_has_layers(config, false)) {
        rotary_buffers(builder, "full_attention_", config->rotary_dim, config->rope_theta);
    }
    if (decoder_has_layers(config, true)) {
        rotary_buffers(builder, "sliding_attention_", config->rotary_dim, config->rope_local_theta);
    }
}

/* The tensor of the words. */
static int model_list(struct skeleton_builder *builder, int model)
{
    const struct config *config = builder->config;
    const struct decoder *decoder = config->family->decoder;
    const struct decoder_type *type = decoder_type_of(config);
    const struct decoder_classes *classes = &type->classes;
    builder_module(builder, model, decoder->names.words, classes->words != NULL ? classes->words : "Embedding");
    int words = builder_matrix(builder, "weight", (struct initial){.deviation = config->initializer_range},
                               config->vocab, config->hidden);
    if (decoder->after_words != NULL) {
        decoder->after_words(builder, model);
    }
    int layers = builder_module(builder, model, decoder->names.layers, "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        decoder->layer_list(builder, layers, i, type);
    }
    if (classes->norm != NULL) {
        builder_rms_norm(builder, model, decoder->names.norm, classes->norm, config->hidden);
    } else {
        builder_layernorm(builder, model, decoder->names.norm);
    }
    if (classes->rotary != NULL) {
        rotary_list(builder, model, classes->rotary);
    }
    return words;
}

static void task_list(struct skeleton_builder *builder, int model)
{
    model_list(builder, model);
}

bool decoder_task_skeleton(struct skeleton_builder *builder, enum head head, task_model_list *list)
{
    const struct task_head *task = decoder_task_head(builder->config, head);
    const char *model = decoder_type_of(builder->config)->classes.model, *ending = strstr(model, "Model");
    char prefix[CLASS_NAME_BYTES];
    snprintf(prefix, sizeof prefix, "%.*s", ending != NULL ? (int)(ending - model) : 0, model);
    if (task != NULL) {
        task_head_skeleton(builder, task, prefix, model, list);
    }
    return task != NULL;
}

void decoder_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    const struct decoder_classes *classes = &decoder_type_of(config)->classes;
    if (decoder_task_skeleton(builder, head, task_list)) {
        return;
    }
    bool lm = head == HEAD_LM;
    int root = lm ? builder_module(builder, -1, "", classes->head) : -1;
    bool head_first = builder->model_code == MODEL_CODE_LITGPT; /* and tied to nothing */
    if (head_first) {
        decoder_head_list(builder, root, config->hidden, -1);
    }
    int model = builder_module(builder, root, lm ? config->family->decoder->names.inside : "", classes->model);
    int words = model_list(builder, model);
    if (!head_first) {
        decoder_head_list(builder, root, config->hidden, words);
    }
}

int decoder_layer_list(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type,
                       decoder_part_list *const parts[2])
{
    const struct config *config = builder->config;
    static const char *const norms[] = {"input_layernorm", "post_attention_layernorm"};
    const char *norm = type->classes.norm;
    int layer = builder_element(builder, layers, number, type->classes.layer);
    bool own = builder->model_code == MODEL_CODE_LITGPT; /* which lists each norm before what it is for */
    builder_keep_whole(builder, layer);
    for (int i = 0; i < 2; i++) {
        if (own) {
            builder_rms_norm(builder, layer, norms[i], norm, config->hidden);
        }
        parts[i](builder, layer, number, type);
    }
    for (int i = 0; i < 2 && !own; i++) {
        builder_rms_norm(builder, layer, norms[i], norm, config->hidden);
    }
    if (config->norms_behind) {
        builder_rms_norm(builder, layer, "pre_feedforward_layernorm", norm, config->hidden);
        builder_rms_norm(builder, layer, "post_feedforward_layernorm", norm, config->hidden);
    }
    return layer;
}

void decoder_attention_list(struct skeleton_builder *builder, int layer, int64_t number,
                            const struct decoder_type *type)
{
    (void)number;
    const struct config *config = builder->config;
    int64_t queries = config->heads * config->head_dim; /* config_grouped_check has seen that it fits */
    int64_t keys = config->kv_heads * config->head_dim;
    int attention = builder_module(builder, layer, "self_attn", type->classes.attention);
    if (builder->model_code == MODEL_CODE_LITGPT) {
        builder_linear(builder, attention, "qkv", queries + 2 * keys, config->hidden, config->attention_bias);
    } else {
        builder_linear(builder, attention, "q_proj", queries, config->hidden, config->attention_bias);
        builder_linear(builder, attention, "k_proj", keys, config->hidden, config->attention_bias);
        builder_linear(builder, attention, "v_proj", keys, config->hidden, config->attention_bias);
    }
    builder_linear(builder, attention, "o_proj", config->hidden, queries, config->attention_output_bias);
    if (config->head_norms) {
        builder_rms_norm(builder, attention, "q_norm", type->classes.norm, config->head_dim);
        builder_rms_norm(builder, attention, "k_norm", type->classes.norm, config->head_dim);
    }
}

void decoder_gated_list(struct skeleton_builder *builder, int layer, int64_t number, const struct decoder_type *type)
{
    (void)number;
    experts_dense_list(builder, layer, "mlp", type->classes.mlp, builder->config->ffn, builder->config->mlp_bias);
}
