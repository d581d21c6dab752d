/* Checkpoint names: candidates, tried one after another. Not a comparison of what was found. */
#include "models/find/checkpoint_names.h"

#include <stdio.h>
#include <string.h>

#include "models/config/family.h"

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
    if (checkpoint->format == CHECKPOINT_GGUF) {
        names.gguf = gguf_family_of(checkpoint);
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
    char path[CHECKPOINT_NAME_BYTES + CHECKPOINT_PREFIX_BYTES];
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
static const struct renaming {
    const char *stored, *own;
    const char *family; /* whose files are written so to this day; NULL: nobody's */
} renamed_endings[] = {{".gamma", ".weight", NULL},
                       {".beta", ".bias", NULL},
                       {"embed_out.weight", "lm_head.weight", "gpt_neox"},
                       {NULL, NULL, NULL}};

/* Names that transformers 5 changed in its classes and keeps in files: the router of Mixtral, and all of ViT's blocks.
 * One after the other: each makes way for the next. */
static const struct renaming renamed_parts[] = {{".block_sparse_moe.gate.", ".mlp.gate.", "mixtral"},
                                                {"encoder.layer.", "layers.", "vit"},
                                                {".attention.attention.query.", ".attention.q_proj.", "vit"},
                                                {".attention.attention.key.", ".attention.k_proj.", "vit"},
                                                {".attention.attention.value.", ".attention.v_proj.", "vit"},
                                                {".attention.output.dense.", ".attention.o_proj.", "vit"},
                                                {".intermediate.dense.", ".mlp.fc1.", "vit"},
                                                {".output.dense.", ".mlp.fc2.", "vit"},
                                                {NULL, NULL, NULL}};

/* Puts by in the place of the count bytes at `at` in path. False if it does not fit. */
static bool part_exchange(char path[CHECKPOINT_NAME_BYTES], size_t at, size_t count, const char *by)
{
    size_t length = strlen(path), by_length = strlen(by);
    if (length - count + by_length >= CHECKPOINT_NAME_BYTES) {
        return false;
    }
    memmove(path + at + by_length, path + at + count, length - at - count + 1);
    memcpy(path + at, by, by_length);
    return true;
}

static int find_renamed(const struct checkpoint_names *names, const struct skeleton *skeleton, const char *name)
{
    char path[CHECKPOINT_NAME_BYTES];
    bool changed = false;
    snprintf(path, sizeof path, "%s", name);
    for (size_t i = 0; renamed_endings[i].stored != NULL && !changed; i++) {
        size_t length = strlen(path), ending = strlen(renamed_endings[i].stored);
        changed = length >= ending && strcmp(path + length - ending, renamed_endings[i].stored) == 0 &&
                  part_exchange(path, length - ending, ending, renamed_endings[i].own);
    }
    for (size_t i = 0; renamed_parts[i].stored != NULL; i++) {
        const char *found = strstr(path, renamed_parts[i].stored);
        if (found != NULL) {
            changed =
                part_exchange(path, (size_t)(found - path), strlen(renamed_parts[i].stored), renamed_parts[i].own) ||
                changed;
        }
    }
    return changed ? find_with_prefix(names, skeleton, path) : -1;
}

/* The part of a joined tensor that an expert's name is, if the skeleton has that tensor and as many experts. */
static bool find_part(const struct checkpoint_names *names, const struct skeleton *skeleton, const char *name,
                      struct stored_place *place)
{
    char path[CHECKPOINT_NAME_BYTES];
    struct expert_part part;
    int index = expert_part_read(name, path, sizeof path, &part) ? find_with_prefix(names, skeleton, path) : -1;
    if (index < 0 || skeleton->tensors[index].rank != 3 || part.expert >= skeleton->tensors[index].size[0]) {
        return false;
    }
    *place = (struct stored_place){.meaning = NAME_PART, .index = index, .part = part};
    return true;
}

static enum name_meaning passed_over_meaning(const struct checkpoint_tensor *stored)
{
    size_t length = strlen(stored->name);
    for (size_t i = 0; i < sizeof passed_over / sizeof passed_over[0]; i++) {
        size_t ending = strlen(passed_over[i].ending);
        bool ends = length >= ending && strcmp(stored->name + length - ending, passed_over[i].ending) == 0;
        if (ends && (passed_over[i].rank == 0 || passed_over[i].rank == stored->rank)) {
            return passed_over[i].meaning;
        }
    }
    return NAME_UNKNOWN;
}

/* By a row of the table of GGUF's names; path: what the row makes of the stored name. */
static struct stored_place gguf_place(const struct checkpoint_names *names, const struct skeleton *skeleton,
                                      const struct checkpoint_tensor *stored, const char *path,
                                      const struct gguf_name *row)
{
    bool is_half = row->form == GGUF_EXPERTS_FIRST_HALF || row->form == GGUF_EXPERTS_SECOND_HALF;
    if (row->path == NULL) {
        return (struct stored_place){.meaning = NAME_BUFFER};
    }
    int index = find_with_prefix(names, skeleton, path);
    if (index < 0 || (is_half && skeleton->tensors[index].rank != 3)) {
        return (struct stored_place){.meaning = NAME_UNKNOWN};
    }
    struct stored_place place = {.meaning = is_half ? NAME_PART : NAME_TENSOR, .index = index};
    place.is_transposed = row->form == GGUF_TRANSPOSED && stored->rank == 2;
    if (is_half) {
        place.part = (struct expert_part){EXPERTS_ALL, row->form == GGUF_EXPERTS_SECOND_HALF ? 1 : 0, 2};
    }
    return place;
}

struct stored_place checkpoint_name_place(const struct checkpoint_names *names, const struct skeleton *skeleton,
                                          const struct checkpoint_tensor *stored)
{
    char path[CHECKPOINT_NAME_BYTES];
    const char *name = stored->name;
    const struct gguf_name *row = NULL;
    struct stored_place place = {.meaning = NAME_UNKNOWN};
    if (strlen(name) >= CHECKPOINT_NAME_BYTES) {
        return place;
    }
    if (names->gguf != NULL && gguf_path(names->gguf, name, path, sizeof path, &row)) {
        return gguf_place(names, skeleton, stored, path, row);
    }
    place.index = find_with_prefix(names, skeleton, name);
    if (place.index < 0) {
        place.index = find_renamed(names, skeleton, name);
    }
    if (place.index >= 0) {
        place.meaning = NAME_TENSOR;
        return place;
    }
    if (!find_part(names, skeleton, name, &place)) {
        place = (struct stored_place){.meaning = passed_over_meaning(stored)};
    }
    return place;
}

static bool is_written_so(const struct renaming *renaming, const struct family *family)
{
    return renaming->family != NULL && strcmp(renaming->family, family->name) == 0;
}

bool checkpoint_saved_name(const struct skeleton *skeleton, const char *path, char name[CHECKPOINT_NAME_BYTES])
{
    const struct family *family = skeleton->config->family;
    bool fits = snprintf(name, CHECKPOINT_NAME_BYTES, "%s", path) < CHECKPOINT_NAME_BYTES;
    for (const struct renaming *row = renamed_endings; row->stored != NULL && fits; row++) {
        size_t length = strlen(name), ending = strlen(row->own);
        if (is_written_so(row, family) && length >= ending && strcmp(name + length - ending, row->own) == 0) {
            fits = part_exchange(name, length - ending, ending, row->stored);
        }
    }
    for (const struct renaming *row = renamed_parts; row->stored != NULL && fits; row++) {
        const char *found = is_written_so(row, family) ? strstr(name, row->own) : NULL;
        if (found != NULL) {
            fits = part_exchange(name, (size_t)(found - name), strlen(row->own), row->stored);
        }
    }
    return fits;
}
