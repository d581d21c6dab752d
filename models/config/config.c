/* Configuration: what is asked of one that has been read. Not the reading, which each family does for itself. */
#include "models/config/config.h"

#include "models/config/family.h"

int64_t config_cached_heads(const struct config *config)
{
    return config->grouped_projection ? config->heads : config->kv_heads;
}

bool config_layer_slides(const struct config *config, int64_t layer)
{
    return (config->windowed[layer / 8] >> (layer % 8) & 1) != 0;
}

void config_layer_slide(struct config *config, int64_t layer)
{
    config->windowed[layer / 8] |= (unsigned char)(1 << (layer % 8));
}

bool config_attends_eagerly(const struct config *config)
{
    return config->family->attends_eagerly || config->lacks_fused_attention;
}
