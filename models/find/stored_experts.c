/* Stored experts: names taken apart and put together. Which of them a file has is the check's affair. */
#include "models/find/stored_experts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"

static const char folder[] = ".experts.";

static const struct spelling {
    const char *family;   /* whose files are spelled so; NULL: all others' */
    const char *parent;   /* what holds the experts in the file; the model calls it "mlp" */
    const char *names[3]; /* first half, second half, the other tensor */
} spellings[] = {
    {"mixtral", "block_sparse_moe", {"w1.weight", "w3.weight", "w2.weight"}},
    {NULL, "mlp", {"gate_proj.weight", "up_proj.weight", "down_proj.weight"}},
};

/* The parts of a name around the number of its expert. */
struct expert_name {
    const char *parent; /* "block_sparse_moe" in the name */
    const struct spelling *spelling;
    int64_t expert;
    int which; /* of spelling->names */
};

/* The joined tensors of a layer, by how many parts each expert has in them. */
static const char *const joined_endings[] = {NULL, "mlp.experts.down_proj", "mlp.experts.gate_up_proj"};

static bool name_split(const char *name, struct expert_name *split)
{
    const char *experts = strstr(name, folder);
    const char *digits = experts != NULL ? experts + strlen(folder) : "";
    size_t digit_count = strspn(digits, "0123456789");
    if (digit_count == 0 || digit_count > 9 || digits[digit_count] != '.' || (digits[0] == '0' && digit_count > 1)) {
        return false;
    }
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        size_t length = strlen(spellings[i].parent);
        const char *parent = (size_t)(experts - name) > length ? experts - length : name;
        if (parent == name || parent[-1] != '.' || strncmp(parent, spellings[i].parent, length) != 0) {
            continue;
        }
        for (int which = 0; which < 3; which++) {
            if (strcmp(digits + digit_count + 1, spellings[i].names[which]) == 0) {
                *split = (struct expert_name){parent, &spellings[i], strtoll(digits, NULL, 10), which};
                return true;
            }
        }
    }
    return false;
}

bool expert_part_read(const char *name, char *path, size_t path_bytes, struct expert_part *part)
{
    struct expert_name split;
    if (!name_split(name, &split)) {
        return false;
    }
    bool joined = split.which < 2;
    int length = snprintf(path, path_bytes, "%.*s%s", (int)(split.parent - name), name, joined_endings[joined ? 2 : 1]);
    if (length < 0 || (size_t)length >= path_bytes) {
        return false;
    }
    *part =
        (struct expert_part){.expert = split.expert, .part = joined ? split.which : 0, .part_count = joined ? 2 : 1};
    return true;
}

bool expert_part_name(const char *name, struct expert_part part, char *other, size_t other_bytes)
{
    struct expert_name split;
    if (!name_split(name, &split)) {
        return false;
    }
    int length =
        snprintf(other, other_bytes, "%.*s%s%s%" PRId64 ".%s", (int)(split.parent - name), name, split.spelling->parent,
                 folder, part.expert, split.spelling->names[split.which < 2 ? part.part : 2]);
    return length >= 0 && (size_t)length < other_bytes;
}

/* Bytes of path before its ending; part_count receives the number of parts. */
static size_t joined_front(const char *path, int *part_count)
{
    size_t length = strlen(path);
    for (int parts = 1; parts <= 2; parts++) {
        size_t ending = strlen(joined_endings[parts]);
        if (length >= ending && strcmp(path + length - ending, joined_endings[parts]) == 0) {
            *part_count = parts;
            return length - ending;
        }
    }
    *part_count = 0;
    return 0;
}

int expert_part_count(const char *path)
{
    int part_count;
    joined_front(path, &part_count);
    return part_count;
}

bool expert_part_saved_name(const char *family, const char *path, struct expert_part part, char *name,
                            size_t name_bytes)
{
    const struct spelling *spelling = spellings;
    int part_count;
    size_t front = joined_front(path, &part_count);
    while (spelling->family != NULL && strcmp(spelling->family, family) != 0) {
        spelling++; /* the last one is for all */
    }
    int length = snprintf(name, name_bytes, "%.*s%s%s%" PRId64 ".%s", (int)front, path, spelling->parent, folder,
                          part.expert, spelling->names[part_count == 2 ? part.part : 2]);
    return part_count > 0 && length >= 0 && (size_t)length < name_bytes;
}

int64_t expert_part_total(const struct skeleton_tensor *joined, struct expert_part part)
{
    int64_t count = 0, experts = part.expert == EXPERTS_ALL ? 1 : joined->size[0];
    return size_multiply(experts, part.part_count, &count) ? count : INT64_MAX;
}

int expert_part_shape(const struct skeleton_tensor *joined, struct expert_part part, int64_t shape[3])
{
    int rank = 0;
    if (part.expert == EXPERTS_ALL) {
        shape[rank++] = joined->size[0];
    }
    shape[rank++] = joined->size[1] / part.part_count;
    shape[rank++] = joined->size[2];
    return rank;
}
