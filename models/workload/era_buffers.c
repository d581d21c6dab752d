/* Era buffers: taken as a module is moved, the buffers of a module behind those of its children. Not here: which class
 * had which in which release, which is the family's table. */
#include "models/workload/era_buffers.h"

#include <string.h>

#include "models/config/family.h"

struct era_buffers era_buffers_of(const struct build *build)
{
    const struct forward *forward = &build->forward;
    int release = release_numbers_of(forward->workload->release).of[LIBRARY_TRANSFORMERS];
    return (struct era_buffers){.era = family_era_of(forward->config, release)};
}

static bool text_ends(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

bool era_lacks(const struct era_buffers *buffers, const struct skeleton_tensor *tensor)
{
    return buffers->era != NULL && text_ends(tensor->path, "original_inv_freq");
}

static void buffers_take(struct build *build, int count, enum dtype dtype, int rank, const int64_t *size)
{
    struct tape *tape = build->forward.tape;
    for (int i = 0; i < count; i++) {
        struct value *buffer =
            tape_leaf(tape, CATEGORY_BUFFERS, dtype, rank, size, false, "buffer of an older release");
        tape_fill(tape, tape_hold(tape, buffer), 0.0);
    }
}

/* The module whose buffers the eras count: the attention of a block; -1: the tensor is in none. */
static int attention_of(const struct skeleton *skeleton, int position)
{
    static const char *const names[] = {".self_attn", ".attn", ".attention"};
    if (position >= skeleton->tensor_count) {
        return -1;
    }
    int module = skeleton->tensors[skeleton->load_order[position]].module;
    for (; module >= 0; module = skeleton->modules[module].parent) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            if (text_ends(skeleton->modules[module].path, names[i])) {
                return module;
            }
        }
    }
    return -1;
}

/* Where the release has frequencies in its blocks alone, those of the skeleton's model stand for the first block's. */
void era_load_behind(struct era_buffers *buffers, struct build *build, int position)
{
    const struct family_era *era = buffers->era;
    const struct skeleton *skeleton = build->forward.skeleton;
    int module = era != NULL ? attention_of(skeleton, position) : -1;
    if (module < 0 || attention_of(skeleton, position + 1) == module) {
        return;
    }
    const struct config *config = build->forward.config;
    enum dtype dtype = workload_dtype(build->forward.workload);
    int64_t frequencies[] = {config->head_dim / 2}, angles[] = {config->positions, config->head_dim};
    int64_t mask[] = {config->positions, config->positions}, one = 1;
    bool stands = buffers->blocks == 0 && era->model_frequencies == 0 && era->block_frequencies > 0;
    buffers_take(build, era->block_frequencies - (stands ? 1 : 0), DTYPE_FLOAT32, 1, frequencies);
    buffers_take(build, 2 * era->block_caches, dtype, 2, angles);
    buffers_take(build, era->block_masks, DTYPE_BOOL, 2, mask);
    buffers_take(build, era->block_scalars, dtype, 0, &one);
    buffers->blocks++;
}

void era_load_last(struct era_buffers *buffers, struct build *build)
{
    const struct config *config = build->forward.config;
    int64_t mask[] = {config->positions, config->positions};
    if (buffers->era != NULL) {
        buffers_take(build, buffers->era->model_masks, DTYPE_BOOL, 2, mask);
    }
}
