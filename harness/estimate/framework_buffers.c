/* Framework buffers: the table of releases. Not a description of today's models: that is the skeleton. */
#include "harness/estimate/framework_buffers.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"

struct era {
    const char *model_type;
    int until; /* the first release that differs */
    int block_frequencies, block_caches, block_masks, block_scalars;
    int model_frequencies, model_masks;
};

/* Rows of a model type in the order of releases; past the last one the skeleton is right. */
static const struct era eras[] = {
    {.model_type = "llama", .until = 4038, .block_frequencies = 1, .block_caches = 1},
    {.model_type = "llama", .until = 4039, .block_frequencies = 1, .block_caches = 1, .model_masks = 1},
    {.model_type = "llama", .until = 4041, .block_frequencies = 1, .block_caches = 1},
    {.model_type = "llama", .until = 4043, .block_frequencies = 1},
    {.model_type = "llama", .until = 4048, .block_frequencies = 1, .model_frequencies = 1},
    {.model_type = "llama", .until = 5000, .model_frequencies = 1},
    {.model_type = "mistral", .until = 4042, .block_frequencies = 1, .block_caches = 1},
    {.model_type = "mistral", .until = 4048, .block_frequencies = 1},
    {.model_type = "mistral", .until = 5000, .model_frequencies = 1},
    {.model_type = "qwen2", .until = 4045, .block_frequencies = 1, .block_caches = 1},
    {.model_type = "qwen2", .until = 4048, .block_frequencies = 1, .model_frequencies = 1},
    {.model_type = "qwen2", .until = 5000, .model_frequencies = 1},
    {.model_type = "gpt2", .until = 5000, .block_masks = 1, .block_scalars = 1},
    {.model_type = "gpt2", .until = 5001, .block_masks = 1},
};

enum status_code framework_release_parse(const char *text, int *release, struct status *error)
{
    unsigned major = 0;
    unsigned minor = 0;
    int length = 0;
    if (text[0] == '\0' || strcmp(text, "current") == 0) {
        *release = FRAMEWORK_RELEASE_CURRENT;
        return STATUS_OK;
    }
    if (text[0] < '0' || text[0] > '9' || sscanf(text, "%2u.%3u%n", &major, &minor, &length) != 2 ||
        (text[length] != '\0' && text[length] != '.')) {
        return status_set(error, STATUS_INVALID,
                          "'%.40s' is not a release of transformers; write one like 4.31, or current", text);
    }
    *release = (int)(major * 1000 + minor);
    return STATUS_OK;
}

static const struct era *era_find(const char *model_type, int release)
{
    for (size_t i = 0; i < sizeof eras / sizeof eras[0]; i++) {
        if (strcmp(eras[i].model_type, model_type) == 0 && release < eras[i].until) {
            return &eras[i];
        }
    }
    return NULL;
}

enum status_code framework_buffers_of(const struct config *config, int release, struct framework_buffers *buffers,
                                      struct status *error)
{
    const struct era *era = era_find(config->model_type, release);
    if (era == NULL) {
        *buffers = (struct framework_buffers){.as_skeleton = true};
        return STATUS_OK;
    }
    int64_t frequencies = config->head_dim / 2 * 4;
    int64_t caches = 0;
    int64_t mask = 0;
    if (!size_multiply(config->positions, config->head_dim, &caches) || !size_multiply(caches, 2 * 4, &caches) ||
        !size_multiply(config->positions, config->positions, &mask)) {
        return status_set(error, STATUS_OVERFLOW, "%s: buffers of %lld positions do not fit 63 bits", config->name,
                          (long long)config->positions);
    }
    mask /= 8;
    struct framework_buffers result = {0};
    if (!size_add(era->block_frequencies * frequencies + era->block_masks * mask, era->block_scalars * 4,
                  &result.block_bytes) ||
        !size_add(result.block_bytes, era->block_caches * caches, &result.block_bytes) ||
        !size_add(era->model_frequencies * frequencies, era->model_masks * mask, &result.model_bytes)) {
        return status_set(error, STATUS_OVERFLOW, "%s: buffers of %lld positions do not fit 63 bits", config->name,
                          (long long)config->positions);
    }
    *buffers = result;
    return STATUS_OK;
}
