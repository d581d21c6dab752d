/* Law point: what a law needs of a model. */
#include "harness/law/law_point.h"

#include <string.h>

#include "harness/base/size.h"
#include "models/config/family.h"
#include "models/forward/experts.h"

int law_element_bytes(const char *precision)
{
    if (strcmp(precision, "float32") == 0) {
        return 4;
    }
    return strcmp(precision, "float16") == 0 || strcmp(precision, "bfloat16") == 0 ? 2 : 0;
}

/* Classes of one type that keep other tensors alive are kinds of their own. */
static const char *kind_of(const struct config *config)
{
    if (config->grouped_projection) {
        return "falcon/grouped";
    }
    if (config->word_width != 0 && config->word_width != config->hidden) {
        return "opt/projected";
    }
    return config->model_type[0] != '\0' ? config->model_type : config->family->name;
}

/* The products that a law computes with. False: one is beyond 63 bits, which no model is that anybody has measured. */
static bool products_set(const struct config *config, struct law_point *point)
{
    int64_t side = config->patch > 0 ? config->image / config->patch : 0;
    bool fits = size_multiply(config->heads, config->head_dim, &point->width) &&
                size_multiply(config_cached_heads(config), config->head_dim, &point->cached_width);
    point->image_values = 0;
    if (fits && config->family->is_image) {
        fits = size_multiply(config->image, config->image, &point->image_values) &&
               size_multiply(point->image_values, config->channels, &point->image_values) &&
               size_multiply(side, side, &point->seq) && size_add(point->seq, 1, &point->seq);
    }
    return fits;
}

/* Experts in every layer, and nothing that every token uses beside them. */
static bool experts_are_alone(const struct config *config)
{
    bool are_alone = config->shared_ffn == 0 && config->expert_groups == 0;
    for (int64_t layer = 0; layer < config->layers && are_alone; layer++) {
        are_alone = experts_in_layer(config, layer);
    }
    return are_alone;
}

/* The numbers of a token in feed-forwards: of experts, of as many as it takes. False: beyond 63 bits. */
static bool ffn_set(const struct config *config, struct law_point *point)
{
    point->ffn = config->ffn;
    return config->experts == 0 || size_multiply(config->expert_ffn, config->active_experts, &point->ffn);
}

const char *law_point_obstacle(const struct config *config)
{
    const struct family *family = config->family;
    if (family == NULL || !family->has_attention) {
        return "convolutions";
    }
    if (config->experts > 0 && !experts_are_alone(config)) {
        return "experts beside shared ones or dense layers";
    }
    if (config->latent > 0) {
        return "latent attention";
    }
    if (config->decoder_layers > 0) {
        return "an encoder with a decoder";
    }
    return config->heads == 0 || config->ffn == 0 ? "layers without heads or a feed-forward" : NULL;
}

bool law_point_model(const struct config *config, const char *attention, struct law_point *point)
{
    point->kind = kind_of(config);
    point->attention = config_attends_eagerly(config) ? "eager" : attention;
    point->hidden = config->hidden;
    point->heads = config->heads;
    point->layers = config->layers;
    point->vocab = config->family->is_image ? 0 : config->vocab;
    return products_set(config, point) && ffn_set(config, point);
}

bool law_point_is_test(const struct law_point *point)
{
    return strcmp(point->target, "host") != 0;
}

int64_t law_point_tokens(const struct law_point *point)
{
    int64_t tokens = 0;
    bool fits = size_add(point->seq, point->new_tokens, &tokens) && size_multiply(point->batch, tokens, &tokens);
    return fits ? tokens : INT64_MAX;
}
