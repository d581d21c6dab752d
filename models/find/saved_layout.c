/* Saved layout: paths in order, and what each is stored as. Not their numbers, and not the files. */
#include "models/find/saved_layout.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "models/config/family.h"
#include "models/find/checkpoint_names.h"
#include "models/find/stored_experts.h"

enum { TENSORS_MAXIMUM = 10 * 1000 * 1000 };

/* A part of a path: a word and the digits at its end. */
struct path_part {
    const char *word, *digits;
    size_t word_length, digit_count;
};

static struct path_part path_part_at(const char *path)
{
    size_t length = strcspn(path, ".");
    size_t word = length;
    while (word > 0 && path[word - 1] >= '0' && path[word - 1] <= '9') {
        word--;
    }
    return (struct path_part){path, path + word, word, length - word};
}

static int digits_order(const struct path_part *a, const struct path_part *b)
{
    size_t a_zeros = strspn(a->digits, "0"), b_zeros = strspn(b->digits, "0");
    a_zeros = a_zeros < a->digit_count ? a_zeros : a->digit_count;
    b_zeros = b_zeros < b->digit_count ? b_zeros : b->digit_count;
    size_t a_count = a->digit_count - a_zeros, b_count = b->digit_count - b_zeros;
    if (a_count != b_count) {
        return a_count < b_count ? -1 : 1;
    }
    return memcmp(a->digits + a_zeros, b->digits + b_zeros, a_count);
}

static int part_order(const struct path_part *a, const struct path_part *b)
{
    bool a_is_number = a->word_length == 0 && a->digit_count > 0,
         b_is_number = b->word_length == 0 && b->digit_count > 0;
    if (a_is_number != b_is_number) {
        return a_is_number ? -1 : 1;
    }
    size_t both = a->word_length < b->word_length ? a->word_length : b->word_length;
    int order = memcmp(a->word, b->word, both);
    if (order != 0 || a->word_length != b->word_length) {
        return order != 0 ? order : a->word_length < b->word_length ? -1 : 1;
    }
    if ((a->digit_count > 0) != (b->digit_count > 0)) {
        return a->digit_count > 0 ? 1 : -1;
    }
    return digits_order(a, b);
}

int path_order(const char *a, const char *b)
{
    for (;;) {
        struct path_part left = path_part_at(a), right = path_part_at(b);
        int order = part_order(&left, &right);
        if (order != 0) {
            return order;
        }
        a = left.word + left.word_length + left.digit_count;
        b = right.word + right.word_length + right.digit_count;
        if (*a == '\0' || *b == '\0') {
            return (*a != '\0') - (*b != '\0');
        }
        a++;
        b++;
    }
}

static int tensors_compare(const void *a, const void *b, void *context)
{
    const struct skeleton *skeleton = context;
    int left = *(const int *)a, right = *(const int *)b;
    int order = path_order(skeleton->tensors[left].path, skeleton->tensors[right].path);
    return order != 0 ? order : left - right;
}

enum dtype saved_dtype(const struct skeleton_tensor *tensor, enum dtype precision)
{
    if (!tensor->rounds_with_model) {
        return tensor->dtype;
    }
    return tensor->stays_float32 && precision == DTYPE_FLOAT16 ? DTYPE_FLOAT32 : precision;
}

static bool is_saved(const struct skeleton_tensor *tensor)
{
    return tensor->tied_to < 0 && (!tensor->is_buffer || tensor->persistent);
}

/* Tensors that are stored of one of the skeleton: 1, or the parts of a joined one. */
static int64_t stored_count(const struct skeleton_tensor *tensor)
{
    int part_count = tensor->rank == 3 ? expert_part_count(tensor->path) : 0;
    return part_count == 0 ? 1 : expert_part_total(tensor, (struct expert_part){.part_count = part_count});
}

struct layout_builder {
    const struct skeleton *skeleton;
    enum dtype precision;
    struct saved_layout *layout;
};

/* The copy of name; false if the host has no memory. */
static struct planned_tensor *tensor_add(struct layout_builder *builder, int source, const char *name)
{
    struct saved_layout *layout = builder->layout;
    const struct skeleton_tensor *tensor = &builder->skeleton->tensors[source];
    struct planned_tensor *planned = &layout->tensors[layout->tensor_count];
    planned->name = arena_copy(&layout->arena, name);
    planned->type = safetensors_type_of(saved_dtype(tensor, builder->precision));
    planned->rank = tensor->rank;
    memcpy(planned->size, tensor->size, sizeof tensor->size);
    layout->sources[layout->tensor_count++] = source;
    return planned->name != NULL ? planned : NULL;
}

static enum status_code name_refuse(const char *path, struct status *error)
{
    return status_set(error, STATUS_OVERFLOW, "the stored name of %.200s is longer than a file's may be", path);
}

static enum status_code memory_refuse(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the list of tensors");
}

static enum status_code experts_add(struct layout_builder *builder, int source, int part_count, struct status *error)
{
    char name[CHECKPOINT_NAME_BYTES];
    const struct skeleton_tensor *joined = &builder->skeleton->tensors[source];
    const char *family = builder->skeleton->config->family->name;
    struct expert_part part = {.part_count = part_count};
    for (part.part = 0; part.part < part_count; part.part++) {
        for (part.expert = 0; part.expert < joined->size[0]; part.expert++) {
            if (!expert_part_saved_name(family, joined->path, part, name, sizeof name)) {
                return name_refuse(joined->path, error);
            }
            struct planned_tensor *planned = tensor_add(builder, source, name);
            if (planned == NULL) {
                return memory_refuse(error);
            }
            planned->rank = expert_part_shape(joined, part, planned->size);
            planned->stays_with_previous = part.expert > 0;
        }
    }
    return STATUS_OK;
}

static enum status_code source_add(struct layout_builder *builder, int source, struct status *error)
{
    char name[CHECKPOINT_NAME_BYTES];
    const struct skeleton_tensor *tensor = &builder->skeleton->tensors[source];
    int part_count = tensor->rank == 3 ? expert_part_count(tensor->path) : 0;
    if (part_count > 0) {
        return experts_add(builder, source, part_count, error);
    }
    if (!checkpoint_saved_name(builder->skeleton, tensor->path, name)) {
        return name_refuse(tensor->path, error);
    }
    return tensor_add(builder, source, name) != NULL ? STATUS_OK : memory_refuse(error);
}

/* The skeleton's tensors that are saved, in order; *total: how many are stored for them. */
static enum status_code sources_list(const struct skeleton *skeleton, int *order, int *count, int64_t *total,
                                     struct status *error)
{
    for (int i = 0; i < skeleton->tensor_count; i++) {
        if (is_saved(&skeleton->tensors[i])) {
            int64_t stored = stored_count(&skeleton->tensors[i]);
            if (stored > TENSORS_MAXIMUM - *total) {
                return status_set(error, STATUS_OVERFLOW, "%s: more than %d tensors would be stored",
                                  skeleton->config->name, TENSORS_MAXIMUM);
            }
            order[(*count)++] = i;
            *total += stored;
        }
    }
    qsort_r(order, (size_t)*count, sizeof *order, tensors_compare, (void *)(uintptr_t)skeleton);
    return STATUS_OK;
}

enum status_code saved_layout_make(const struct skeleton *skeleton, enum dtype precision, struct saved_layout *layout,
                                   struct status *error)
{
    struct saved_layout result = {0};
    struct layout_builder builder = {.skeleton = skeleton, .precision = precision, .layout = &result};
    int count = 0;
    int64_t total = 0;
    int *order = arena_alloc(&result.arena, ((size_t)skeleton->tensor_count + 1) * sizeof *order);
    enum status_code code = order != NULL ? sources_list(skeleton, order, &count, &total, error) : memory_refuse(error);
    if (code == STATUS_OK) {
        result.tensors = arena_alloc(&result.arena, ((size_t)total + 1) * sizeof *result.tensors);
        result.sources = arena_alloc(&result.arena, ((size_t)total + 1) * sizeof *result.sources);
        code = result.tensors != NULL && result.sources != NULL ? STATUS_OK : memory_refuse(error);
    }
    for (int i = 0; i < count && code == STATUS_OK; i++) {
        code = source_add(&builder, order[i], error);
    }
    if (code == STATUS_OK) {
        *layout = result;
    } else {
        saved_layout_release(&result);
    }
    return code;
}

void saved_layout_release(struct saved_layout *layout)
{
    arena_release(&layout->arena);
    *layout = (struct saved_layout){0};
}
