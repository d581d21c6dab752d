/* Checkpoint groups: every tensor becomes a group of its own, and equal names that lie together after sorting are
 * added. */
#include "harness/checkpoint/checkpoint_groups.h"

#include <stdlib.h>
#include <string.h>

static bool is_number(const char *part, size_t length)
{
    return length > 0 && strspn(part, "0123456789") >= length;
}

/* "model.layers.3.mlp.up_proj.weight" -> "model.layers.*.mlp.up_proj"; a name without a dot is "". */
static char *module_of(struct arena *arena, const char *name)
{
    char *module = arena_copy(arena, name);
    if (module == NULL) {
        return NULL;
    }
    char *last = strrchr(module, '.');
    *(last != NULL ? last : module) = '\0';
    char *write = module;
    for (const char *part = module; *part != '\0';) {
        size_t length = strcspn(part, ".");
        if (is_number(part, length)) {
            *write++ = '*';
        } else {
            memmove(write, part, length);
            write += length;
        }
        part += length;
        if (*part == '.') {
            *write++ = *part++;
        }
    }
    *write = '\0';
    return module;
}

static int name_compare(const void *a, const void *b)
{
    return strcmp(((const struct checkpoint_group *)a)->name, ((const struct checkpoint_group *)b)->name);
}

static int size_compare(const void *a, const void *b)
{
    const struct checkpoint_group *one = a;
    const struct checkpoint_group *other = b;
    return one->bytes != other->bytes ? (one->bytes > other->bytes ? -1 : 1) : strcmp(one->name, other->name);
}

/* Sums lie inside the checkpoint's own, which fit. */
static void equal_join(struct checkpoint_groups *groups, int count)
{
    qsort(groups->groups, (size_t)count, sizeof *groups->groups, name_compare);
    for (int i = 0; i < count; i++) {
        struct checkpoint_group *last = groups->count > 0 ? &groups->groups[groups->count - 1] : NULL;
        if (last == NULL || strcmp(last->name, groups->groups[i].name) != 0) {
            groups->groups[groups->count++] = groups->groups[i];
        } else {
            last->tensor_count++;
            last->element_count += groups->groups[i].element_count;
            last->bytes += groups->groups[i].bytes;
        }
    }
    qsort(groups->groups, (size_t)groups->count, sizeof *groups->groups, size_compare);
}

enum status_code checkpoint_group(const struct checkpoint *checkpoint, enum checkpoint_grouping grouping,
                                  struct checkpoint_groups *groups, struct status *error)
{
    struct checkpoint_groups result = {0};
    result.groups = arena_alloc(&result.arena, (size_t)checkpoint->tensor_count * sizeof *result.groups);
    bool made = result.groups != NULL;
    for (int i = 0; i < checkpoint->tensor_count && made; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        struct checkpoint_group *group = &result.groups[i];
        group->name = grouping == CHECKPOINT_BY_TYPE ? tensor->type->name : module_of(&result.arena, tensor->name);
        group->tensor_count = 1;
        group->element_count = tensor->bytes / tensor->type->block_bytes * tensor->type->block_elements;
        group->bytes = tensor->bytes;
        made = group->name != NULL;
    }
    if (!made) {
        arena_release(&result.arena);
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no host memory for its sums", checkpoint->name);
    }
    if (checkpoint->tensor_count > 0) {
        equal_join(&result, checkpoint->tensor_count);
    }
    *groups = result;
    return STATUS_OK;
}

void checkpoint_groups_release(struct checkpoint_groups *groups)
{
    arena_release(&groups->arena);
    *groups = (struct checkpoint_groups){0};
}
