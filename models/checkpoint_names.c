/* Checkpoint names: candidates, tried one after another. Not a comparison of what was found. */
#include "models/checkpoint_names.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 1024 };

/* What transformers passes over (_keys_to_ignore_on_load_unexpected of 4.x, and buffers that became non-persistent).
 * rank 0: any. */
static const struct {
    const char *ending;
    int rank;
    enum name_meaning meaning;
} passed_over[] = {
    {"attn.bias", 4, NAME_BUFFER},
    {"attn.masked_bias", 0, NAME_BUFFER},
    {"attention.bias", 4, NAME_BUFFER},
    {"attention.masked_bias", 0, NAME_BUFFER},
    {"embeddings.position_ids", 0, NAME_BUFFER},
    {"rotary_emb.inv_freq", 0, NAME_BUFFER},
    {"cls.seq_relationship.weight", 0, NAME_HEAD},
    {"cls.seq_relationship.bias", 0, NAME_HEAD},
};

struct checkpoint_names checkpoint_names_of(const struct checkpoint *checkpoint, const struct skeleton *bare,
                                            const struct skeleton *headed)
{
    struct checkpoint_names names = {0};
    const struct checkpoint_entry *entry = checkpoint_entry(checkpoint, "general.architecture");
    if (checkpoint->format == CHECKPOINT_GGUF && entry != NULL && entry->text != NULL) {
        names.gguf = gguf_family_find(entry->text);
    }
    const char *path = bare->tensor_count > 0 ? bare->tensors[0].path : "";
    size_t length = strlen(path);
    for (int i = 0; i < headed->tensor_count; i++) {
        const char *other = headed->tensors[i].path;
        size_t other_length = strlen(other);
        if (other_length >= length && strcmp(other + other_length - length, path) == 0) {
            size_t prefix = other_length - length;
            if (prefix < sizeof names.prefix && (prefix == 0 || other[prefix - 1] == '.')) {
                memcpy(names.prefix, other, prefix);
                names.prefix[prefix] = '\0';
                break;
            }
        }
    }
    return names;
}

static int find_with_prefix(const struct checkpoint_names *names, const struct skeleton *skeleton, const char *name)
{
    char path[NAME_BYTES + CHECKPOINT_PREFIX_BYTES];
    size_t prefix = strlen(names->prefix);
    int index = skeleton_find(skeleton, name);
    if (index < 0 && prefix > 0 && strncmp(name, names->prefix, prefix) == 0) {
        index = skeleton_find(skeleton, name + prefix);
    }
    if (index < 0 && prefix > 0) {
        snprintf(path, sizeof path, "%s%s", names->prefix, name);
        index = skeleton_find(skeleton, path);
    }
    return index;
}

/* TensorFlow's names of a norm's two parameters, which the first files of BERT have, and the head of GPT-NeoX before
 * transformers 5. */
static int find_renamed(const struct checkpoint_names *names, const struct skeleton *skeleton, const char *name)
{
    static const char *const renamed[][2] = {
        {".gamma", ".weight"}, {".beta", ".bias"}, {"embed_out.weight", "lm_head.weight"}};
    char path[NAME_BYTES];
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++) {
        size_t ending = strlen(renamed[i][0]);
        if (length >= ending && length < NAME_BYTES - 8 && strcmp(name + length - ending, renamed[i][0]) == 0) {
            snprintf(path, sizeof path, "%.*s%s", (int)(length - ending), name, renamed[i][1]);
            return find_with_prefix(names, skeleton, path);
        }
    }
    return -1;
}

enum name_meaning checkpoint_name_meaning(const struct checkpoint_names *names, const struct skeleton *skeleton,
                                          const struct checkpoint_tensor *stored, int *index, bool *is_transposed)
{
    char path[NAME_BYTES];
    const char *name = stored->name;
    const struct gguf_name *row = NULL;
    size_t length = strlen(name);
    *is_transposed = false;
    if (length >= NAME_BYTES) {
        return NAME_UNKNOWN;
    }
    if (names->gguf != NULL && gguf_path(names->gguf, name, path, sizeof path, &row)) {
        if (row->path == NULL) {
            return NAME_BUFFER;
        }
        *is_transposed = row->is_transposed && stored->rank == 2;
        name = path;
    }
    *index = find_with_prefix(names, skeleton, name);
    if (*index < 0) {
        *index = find_renamed(names, skeleton, name);
    }
    if (*index >= 0) {
        return NAME_TENSOR;
    }
    for (size_t i = 0; i < sizeof passed_over / sizeof passed_over[0]; i++) {
        size_t ending = strlen(passed_over[i].ending);
        bool ends = length >= ending && strcmp(stored->name + length - ending, passed_over[i].ending) == 0;
        if (ends && (passed_over[i].rank == 0 || passed_over[i].rank == stored->rank)) {
            return passed_over[i].meaning;
        }
    }
    return NAME_UNKNOWN;
}
