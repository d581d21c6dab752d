/* Offload list: a skeleton and a header, joined. Reads no tensor. */
#include "models/find/offload_list.h"

#include <string.h>

#include "harness/base/size.h"
#include "models/config/head.h"
#include "models/find/checkpoint_names.h"

/* What the files have of a tensor of the skeleton. */
struct found {
    const struct checkpoint_tensor **parts;
    int64_t total; /* parts that make it up */
    const char *obstacle;
};

static enum status_code memory_missing(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for the tensors of a model");
}

void offload_list_release(struct offload_list *list)
{
    arena_release(&list->arena);
    *list = (struct offload_list){0};
}

/* -- as they are stored */

static bool stored_is_plain(const struct checkpoint_tensor *stored)
{
    return stored->rank <= OFFLOAD_RANK_MAXIMUM;
}

/* Sets what the parts say of a tensor that is copied as it is. */
static void item_of_stored(struct offload_item *item, const struct checkpoint_tensor *stored)
{
    item->tensor.type = offload_type_of_storage(stored->type);
    item->tensor.rank = stored->rank;
    item->tensor.shape = stored->shape;
    item->obstacle = item->tensor.type == NULL  ? "an offload folder has no dtype for what its file stores"
                     : !stored_is_plain(stored) ? "it has more dimensions than numpy has"
                                                : NULL;
}

enum status_code offload_list_stored(const struct checkpoint *checkpoint, struct offload_list *list,
                                     struct status *error)
{
    struct offload_list made = {0};
    size_t count = (size_t)checkpoint->tensor_count;
    made.items = arena_alloc(&made.arena, count * sizeof *made.items);
    const struct checkpoint_tensor **parts = arena_alloc(&made.arena, count * sizeof(struct checkpoint_tensor *));
    if (made.items == NULL || parts == NULL) {
        offload_list_release(&made);
        return memory_missing(error);
    }
    made.count = checkpoint->tensor_count;
    for (int i = 0; i < made.count; i++) {
        parts[i] = &checkpoint->tensors[i];
        made.items[i] = (struct offload_item){
            .tensor = {.name = parts[i]->name}, .parts = &parts[i], .part_count = 1, .is_wanted = true};
        item_of_stored(&made.items[i], parts[i]);
    }
    *list = made;
    return STATUS_OK;
}

/* -- as the model names them */

/* One stored tensor, noted where it belongs. False: no memory. */
static bool stored_note(const struct checkpoint_names *names, const struct skeleton *skeleton,
                        const struct checkpoint_tensor *stored, struct found *found, struct offload_list *list)
{
    struct stored_place place = checkpoint_name_place(names, skeleton, stored);
    if (place.meaning != NAME_TENSOR && place.meaning != NAME_PART) {
        list->unused[list->unused_count++] = stored->name;
        return true;
    }
    struct found *of = &found[place.index];
    if (place.is_transposed || place.part.expert == EXPERTS_ALL) {
        of->obstacle = "its file stores it in another order of elements; give a safetensors file";
        return true;
    }
    bool is_part = place.meaning == NAME_PART;
    int64_t total = is_part ? expert_part_total(&skeleton->tensors[place.index], place.part) : 1;
    int64_t at = is_part ? place.part.expert * place.part.part_count + place.part.part : 0;
    if (total < 1 || total > INT32_MAX || at < 0 || at >= total || (of->parts != NULL && of->total != total)) {
        of->obstacle = "its parts in the files do not fit together";
        return true;
    }
    if (of->parts == NULL) {
        of->parts = arena_alloc(&list->arena, (size_t)total * sizeof(struct checkpoint_tensor *));
        of->total = total;
    }
    if (of->parts != NULL && of->parts[at] == NULL) {
        of->parts[at] = stored;
    }
    return of->parts != NULL;
}

static bool is_whole(const struct found *found)
{
    for (int64_t i = 0; i < found->total; i++) {
        if (found->parts[i] == NULL) {
            return false;
        }
    }
    return found->total > 0;
}

/* Whichever of tied tensors is stored gives its bytes to the others. */
static void ties_share(const struct skeleton *skeleton, struct found *found)
{
    for (int pass = 0; pass < 2; pass++) { /* up to the one that owns the storage, and down again */
        for (int i = 0; i < skeleton->tensor_count; i++) {
            int owner = skeleton->tensors[i].tied_to;
            if (owner >= 0 && !is_whole(&found[owner]) && is_whole(&found[i])) {
                found[owner] = found[i];
            } else if (owner >= 0 && !is_whole(&found[i])) {
                found[i] = found[owner];
            }
        }
    }
}

/* Of a tensor that is put together from parts: all of one type, and together as large as it is. */
static void item_of_parts(struct offload_item *item, const struct skeleton_tensor *tensor)
{
    int64_t bytes = 0, wanted = 0;
    bool same = true;
    item->tensor.type = offload_type_of_storage(item->parts[0]->type);
    for (int i = 0; i < item->part_count; i++) {
        same = same && item->parts[i]->type == item->parts[0]->type && size_add(bytes, item->parts[i]->bytes, &bytes);
    }
    if (item->tensor.type == NULL) {
        item->obstacle = "an offload folder has no dtype for what its file stores";
    } else if (!same || !size_multiply(tensor->element_count, item->tensor.type->bytes, &wanted) || wanted != bytes) {
        item->obstacle = "its parts in the files do not fit together";
    }
}

static bool item_fill(struct offload_item *item, const struct skeleton_tensor *tensor, const struct found *found,
                      struct arena *arena)
{
    int64_t *shape = arena_alloc(arena, sizeof tensor->size);
    const char *name = arena_copy(arena, tensor->path);
    if (shape == NULL || name == NULL) {
        return false;
    }
    memcpy(shape, tensor->size, sizeof tensor->size);
    *item = (struct offload_item){
        .tensor = {.name = name, .rank = tensor->rank, .shape = shape}, .obstacle = found->obstacle, .is_wanted = true};
    if (!tensor->rounds_with_model) {
        item->tensor.type = offload_type_of_dtype(tensor->dtype);
    }
    if (is_whole(found)) {
        item->parts = found->parts;
        item->part_count = (int)found->total;
        if (item->part_count == 1) {
            item_of_stored(item, item->parts[0]);
        } else {
            item_of_parts(item, tensor);
        }
    }
    return true;
}

static bool list_fill(const struct model *model, const struct skeleton *skeleton, const struct checkpoint_names *names,
                      struct offload_list *list)
{
    const struct checkpoint *checkpoint = model->checkpoint;
    size_t count = (size_t)skeleton->tensor_count, stored = checkpoint != NULL ? (size_t)checkpoint->tensor_count : 0;
    struct found *found = arena_alloc(&list->arena, count * sizeof *found);
    list->items = arena_alloc(&list->arena, count * sizeof *list->items);
    list->unused = arena_alloc(&list->arena, stored * sizeof *list->unused);
    bool made = found != NULL && list->items != NULL && list->unused != NULL;
    for (size_t i = 0; i < stored && made; i++) {
        made = stored_note(names, skeleton, &checkpoint->tensors[i], found, list);
    }
    if (made) {
        ties_share(skeleton, found);
    }
    for (int i = 0; i < skeleton->tensor_count && made; i++) {
        if (skeleton->tensors[i].persistent) {
            made = item_fill(&list->items[list->count++], &skeleton->tensors[i], &found[i], &list->arena);
        }
    }
    return made;
}

enum status_code offload_list_make(const struct model *model, enum head head, struct offload_list *list,
                                   struct status *error)
{
    struct offload_list made = {0};
    struct skeleton bare = {0}, headed = {0};
    struct workload workload = workload_default(MODE_LOAD);
    bool is_bare =
        head == HEAD_BARE || (head == HEAD_DEFAULT && model->checkpoint != NULL && model->check.head == HEAD_BARE);
    workload.head = HEAD_BARE;
    enum status_code code = model_skeleton(model, &workload, &bare, error);
    workload.head = head == HEAD_DEFAULT || head == HEAD_BARE ? head_stored(&model->config.model_heads) : head;
    if (code == STATUS_OK) {
        code = model_skeleton(model, &workload, &headed, error);
    }
    if (code == STATUS_OK) {
        struct checkpoint_names names = {0};
        if (model->checkpoint != NULL) {
            names = checkpoint_names_of(model->checkpoint, &bare, &headed);
        }
        code = list_fill(model, is_bare ? &bare : &headed, &names, &made) ? STATUS_OK : memory_missing(error);
    }
    skeleton_release(&bare);
    skeleton_release(&headed);
    if (code != STATUS_OK) {
        offload_list_release(&made);
        return code;
    }
    *list = made;
    return STATUS_OK;
}
