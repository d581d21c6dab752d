/* Framework buffers, in bytes. Not the tables of releases: each family has its own (struct family_era). */
#include "harness/estimate/framework_buffers.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "models/config/family.h"

/* transformers 5.0, models/t5/modeling_t5.py: T5Stack makes its own embed_tokens. */
enum { TIES_APART_SINCE = 5000 };

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
                          "'%.40s' is not a release of transformers; write one like 4.31, current, or file", text);
    }
    *release = (int)(major * 1000 + minor);
    return STATUS_OK;
}

enum status_code framework_buffers_of(const struct config *config, int release, struct framework_buffers *buffers,
                                      struct status *error)
{
    const struct family_era *era = family_era_of(config, release);
    const bool counts_tied = release >= TIES_APART_SINCE;
    if (era == NULL) {
        *buffers = (struct framework_buffers){.as_skeleton = true, .counts_tied = counts_tied};
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
    struct framework_buffers result = {.counts_tied = counts_tied};
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
