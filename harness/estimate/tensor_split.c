/* Tensor split: the table of names. Not here: what data-parallel ranks divide (shares.c). */
#include "harness/estimate/tensor_split.h"

#include <stdlib.h>
#include <string.h>

enum split {
    SPLIT_NONE,
    SPLIT_OUTPUTS, /* Linear [out, in]: dimension 0; Conv1D [in, out]: 1 */
    SPLIT_KEYS,    /* the same, by key heads */
    SPLIT_FUSED,   /* queries, keys and values in one */
    SPLIT_INPUTS,
    SPLIT_VOCABULARY /* dimension 0 */
};

/* The end of a module's path; the first that fits. */
static const struct {
    const char *name;
    enum split split;
} names[] = {
    {"attention.output.dense", SPLIT_INPUTS},
    {"intermediate.dense", SPLIT_OUTPUTS},
    {"output.dense", SPLIT_INPUTS},
    {"self_attention.dense", SPLIT_INPUTS},
    {"attention.dense", SPLIT_INPUTS},
    {"query", SPLIT_OUTPUTS},
    {"q_proj", SPLIT_OUTPUTS},
    {"q_lin", SPLIT_OUTPUTS},
    {"q", SPLIT_OUTPUTS},
    {"key", SPLIT_KEYS},
    {"value", SPLIT_KEYS},
    {"k_proj", SPLIT_KEYS},
    {"v_proj", SPLIT_KEYS},
    {"k_lin", SPLIT_KEYS},
    {"v_lin", SPLIT_KEYS},
    {"k", SPLIT_KEYS},
    {"v", SPLIT_KEYS},
    {"c_attn", SPLIT_FUSED},
    {"qkv_proj", SPLIT_FUSED},
    {"query_key_value", SPLIT_FUSED},
    {"gate_proj", SPLIT_OUTPUTS},
    {"up_proj", SPLIT_OUTPUTS},
    {"gate_up_proj", SPLIT_OUTPUTS},
    {"c_fc", SPLIT_OUTPUTS},
    {"fc1", SPLIT_OUTPUTS},
    {"lin1", SPLIT_OUTPUTS},
    {"wi", SPLIT_OUTPUTS},
    {"wi_0", SPLIT_OUTPUTS},
    {"wi_1", SPLIT_OUTPUTS},
    {"q_b_proj", SPLIT_OUTPUTS},
    {"kv_b_proj", SPLIT_OUTPUTS},
    {"dense_h_to_4h", SPLIT_OUTPUTS},
    {"o_proj", SPLIT_INPUTS},
    {"out_proj", SPLIT_INPUTS},
    {"out_lin", SPLIT_INPUTS},
    {"c_proj", SPLIT_INPUTS},
    {"down_proj", SPLIT_INPUTS},
    {"fc2", SPLIT_INPUTS},
    {"lin2", SPLIT_INPUTS},
    {"wo", SPLIT_INPUTS},
    {"o", SPLIT_INPUTS},
    {"dense_4h_to_h", SPLIT_INPUTS},
    {"embed_tokens", SPLIT_VOCABULARY},
    {"word_embeddings", SPLIT_VOCABULARY},
    {"wte", SPLIT_VOCABULARY},
    {"embed_in", SPLIT_VOCABULARY},
    {"embed_out", SPLIT_VOCABULARY},
    {"shared", SPLIT_VOCABULARY},
    {"lm_head", SPLIT_VOCABULARY},
};

/* Whether path[0..length) ends in whole components of name. */
static bool ends_in(const char *path, size_t length, const char *name)
{
    size_t count = strlen(name);
    return length >= count && strncmp(path + length - count, name, count) == 0 &&
           (length == count || path[length - count - 1] == '.');
}

/* The length of a tensor's path without ".weight" or ".bias": that of its module, or of a parameter that stands for
 * one. */
static size_t stem_length(const char *path)
{
    const char *dot = strrchr(path, '.');
    bool plain = dot != NULL && (strcmp(dot, ".weight") == 0 || strcmp(dot, ".bias") == 0);
    return plain ? (size_t)(dot - path) : strlen(path);
}

static enum split split_of(const char *path)
{
    size_t length = stem_length(path);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (ends_in(path, length, names[i].name)) {
            return names[i].split;
        }
    }
    return SPLIT_NONE;
}

/* Whether the size is divided, and then what is left of it on a rank. */
static bool size_divides(const struct config *config, enum split split, int64_t size, int64_t degree, int64_t *left)
{
    int64_t keys = config->kv_heads > 0 ? config->kv_heads : config->heads;
    int64_t key_degree = keys < degree ? keys : degree;
    if (split == SPLIT_FUSED && keys != config->heads) {
        int64_t wanted = (config->heads + 2 * keys) * config->head_dim;
        *left = (config->heads / degree + 2 * (keys / key_degree)) * config->head_dim;
        return size == wanted;
    }
    int64_t divisor = split == SPLIT_KEYS ? key_degree : degree;
    *left = size / divisor;
    return size % divisor == 0;
}

/* The dimension that is divided; -1: none. Experts in one tensor have one more in front. */
static int dimension_of(const struct skeleton *skeleton, const struct skeleton_tensor *tensor, enum split split)
{
    bool turned = module_is_conv1d(&skeleton->modules[tensor->module]);
    bool by_inputs = split == SPLIT_INPUTS;
    if (split == SPLIT_NONE || tensor->is_buffer || tensor->is_adapter || tensor->rank < 1 || tensor->rank > 3) {
        return -1;
    }
    if (tensor->rank == 1) {
        return by_inputs ? -1 : 0;
    }
    return tensor->rank - 2 + (by_inputs != turned ? 1 : 0);
}

/* The number after "experts." in the path; -1 if all experts are one tensor or there are none. */
static long expert_number(const char *experts)
{
    const char *digits = experts + strlen("experts");
    return digits[0] == '.' && digits[1] >= '0' && digits[1] <= '9' ? strtol(digits + 1, NULL, 10) : -1;
}

static const char *experts_in(const char *path)
{
    const char *found = strstr(path, "experts");
    bool starts = found != NULL && (found == path || found[-1] == '.');
    return starts && (found[strlen("experts")] == '.') ? found : NULL;
}

/* Of experts that are tensors of their own, the device holds those whose number is a multiple of degree. Experts that
 * share one tensor are divided along dimension 0. */
static struct tensor_share expert_share(const struct skeleton_tensor *tensor, const char *experts, int64_t degree)
{
    struct tensor_share share = {
        .element_count = tensor->element_count, .row_count = tensor->rank > 0 ? tensor->size[0] : 1, .is_expert = true};
    long number = expert_number(experts);
    if (number >= 0) {
        share.element_count = number % degree == 0 ? share.element_count : 0;
    } else if (share.row_count % degree == 0) {
        share.element_count /= degree;
        share.row_count /= degree;
    }
    return share;
}

struct tensor_share tensor_share_of(const struct skeleton *skeleton, int tensor, const struct parallel *parallel)
{
    const struct skeleton_tensor *row = &skeleton->tensors[tensor];
    const char *experts = experts_in(row->path);
    if (experts != NULL && parallel->expert > 1) {
        return expert_share(row, experts, parallel->expert);
    }
    struct tensor_share share = {.element_count = row->element_count, .row_count = row->rank > 0 ? row->size[0] : 1};
    enum split split = parallel->tensor > 1 ? split_of(row->path) : SPLIT_NONE;
    int dimension = dimension_of(skeleton, row, split);
    int64_t left = 0;
    if (dimension >= 0 && size_divides(skeleton->config, split, row->size[dimension], parallel->tensor, &left)) {
        share.element_count = row->element_count / row->size[dimension] * left;
        share.row_count = dimension == 0 ? left : share.row_count;
    }
    return share;
}
