/* Law point: what a law needs of a model. */
#include "harness/law/law_point.h"

#include <string.h>

#include "models/config/family.h"

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

bool law_point_model(const struct config *config, const char *attention, struct law_point *point)
{
    const struct family *family = config->family;
    if (family == NULL || !family->has_attention || config->experts > 0 || config->latent > 0 ||
        config->decoder_layers > 0 || config->heads == 0 || config->ffn == 0) {
        return false;
    }
    point->kind = kind_of(config);
    point->attention = family->attends_eagerly ? "eager" : attention;
    point->hidden = config->hidden;
    point->heads = config->heads;
    point->width = config->heads * config->head_dim;
    point->cached_width = config_cached_heads(config) * config->head_dim;
    point->layers = config->layers;
    point->ffn = config->ffn;
    point->vocab = family->is_image ? 0 : config->vocab;
    point->image_values = family->is_image ? config->channels * config->image * config->image : 0;
    if (family->is_image) {
        int64_t side = config->image / config->patch;
        point->seq = side * side + 1;
    }
    return true;
}
