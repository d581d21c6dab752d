/* Load plan: one pass over the stored tensors, each of which gets a place in the model or a list that it is told in.
 * The rules themselves are load_rule.c's. */
#include "harness/load/load_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/load/load_draft.h"

static enum status_code no_memory(const struct load_draft *draft)
{
    return status_set(draft->error, STATUS_OUT_OF_MEMORY, "%s: no host memory to plan its loading",
                      draft->request->checkpoint->name);
}

int storage_owner(const struct skeleton *skeleton, int tensor)
{
    while (skeleton->tensors[tensor].tied_to >= 0) {
        tensor = skeleton->tensors[tensor].tied_to;
    }
    return tensor;
}

/* -- the draft */

static int place_order(const void *a, const void *b)
{
    return placement_device_order(((const struct load_place *)a)->device, ((const struct load_place *)b)->device);
}

static int place_find(const struct load_plan *plan, struct placement_device device)
{
    for (int i = 0; i < plan->place_count; i++) {
        if (placement_device_equal(plan->places[i].device, device)) {
            return i;
        }
    }
    return -1;
}

static enum status_code places_list(struct load_draft *draft)
{
    struct load_plan *plan = draft->plan;
    const struct device_map *map = draft->request->map;
    plan->places = arena_alloc(&plan->arena, ((size_t)map->count + 1) * sizeof *plan->places);
    if (plan->places == NULL) {
        return no_memory(draft);
    }
    for (int i = 0; i < map->count; i++) {
        if (place_find(plan, map->entries[i].device) < 0) {
            plan->places[plan->place_count++] = (struct load_place){.device = map->entries[i].device};
        }
    }
    qsort(plan->places, (size_t)plan->place_count, sizeof *plan->places, place_order);
    return STATUS_OK;
}

static bool list_make(struct arena *arena, int capacity, struct name_list *list)
{
    list->names = arena_alloc(arena, ((size_t)capacity + 1) * sizeof *list->names);
    return list->names != NULL;
}

static enum status_code draft_make(struct load_draft *draft)
{
    struct load_plan *plan = draft->plan;
    size_t tensors = (size_t)draft->request->skeleton->tensor_count,
           stored = (size_t)draft->request->checkpoint->tensor_count;
    draft->target_of = arena_alloc(&plan->arena, (tensors + 1) * sizeof *draft->target_of);
    draft->parts_seen = arena_alloc(&plan->arena, (tensors + 1) * sizeof *draft->parts_seen);
    plan->targets = arena_alloc(&plan->arena, (tensors + 1) * sizeof *plan->targets);
    plan->pieces = arena_alloc(&plan->arena, (stored + 1) * sizeof *plan->pieces);
    bool made = draft->target_of != NULL && draft->parts_seen != NULL && plan->targets != NULL &&
                plan->pieces != NULL && list_make(&plan->arena, (int)tensors, &plan->missing) &&
                list_make(&plan->arena, (int)stored, &plan->unexpected) &&
                list_make(&plan->arena, (int)stored, &plan->unloaded);
    if (!made) {
        return no_memory(draft);
    }
    for (size_t i = 0; i < tensors; i++) {
        draft->target_of[i] = NO_TARGET;
    }
    return places_list(draft);
}

static void list_add(struct name_list *list, const char *name)
{
    list->names[list->count++] = name;
}

/* -- one stored tensor */

struct arrival {
    const struct checkpoint_tensor *stored;
    struct stored_place place;
    int owner; /* the tensor whose storage it fills */
    const char *path;
    struct placement_device device;
};

static enum status_code target_add(struct load_draft *draft, const struct arrival *arrival, int *target)
{
    struct load_plan *plan = draft->plan;
    const struct skeleton_tensor *row = &draft->request->skeleton->tensors[arrival->owner];
    struct load_target made = {.tensor = arrival->owner, .element_count = row->element_count, .path = arrival->path};
    enum status_code code = target_type_find(draft, arrival->stored, arrival->place.index, arrival->device, &made.type);
    made.place = place_find(plan, arrival->device);
    if (code == STATUS_OK && !storage_bytes(made.type, made.element_count, &made.bytes)) {
        code = status_set(draft->error, STATUS_OVERFLOW, "%s: tensor '%s': its size does not fit 63 bits",
                          draft->request->checkpoint->name, arrival->stored->name);
    }
    if (code == STATUS_OK) {
        *target = plan->target_count++;
        plan->targets[*target] = made;
        draft->target_of[arrival->owner] = *target;
    }
    return code;
}

static void piece_add(struct load_draft *draft, const struct arrival *arrival, int target, int64_t first, int64_t count)
{
    struct load_plan *plan = draft->plan;
    plan->pieces[plan->piece_count++] = (struct load_piece){arrival->stored, target, first, count};
    plan->targets[target].piece_count++;
    plan->renamed_count += strcmp(arrival->stored->name, arrival->path) != 0 ? 1 : 0;
}

/* A matrix of one expert, a slice of the tensor that joins them. */
static enum status_code part_take(struct load_draft *draft, const struct arrival *arrival)
{
    struct load_plan *plan = draft->plan;
    const struct skeleton_tensor *row = &draft->request->skeleton->tensors[arrival->owner];
    struct expert_part part = arrival->place.part;
    int64_t total = expert_part_total(row, part), slice = total > 0 ? row->element_count / total : 0;
    int64_t number = part.expert * part.part_count + part.part;
    int target = draft->target_of[arrival->owner];
    enum status_code code = STATUS_OK;
    if (target < 0) {
        code = target_add(draft, arrival, &target);
        if (code != STATUS_OK) {
            return code;
        }
        draft->parts_seen[target] = arena_alloc(&plan->arena, (size_t)total);
        if (draft->parts_seen[target] == NULL) {
            return no_memory(draft);
        }
    }
    if (draft->parts_seen[target] == NULL || draft->parts_seen[target][number]) {
        list_add(&plan->unexpected, arrival->stored->name);
        return STATUS_OK;
    }
    const struct storage_type *type = NULL;
    code = target_type_find(draft, arrival->stored, arrival->place.index, arrival->device, &type);
    if (code == STATUS_OK && type != plan->targets[target].type) {
        return status_set(
            draft->error, STATUS_INVALID,
            "%s: tensor '%s': it is stored as %s, and other experts of its layer as %s; fetch the files again",
            draft->request->checkpoint->files[arrival->stored->file].name, arrival->stored->name, type->name,
            plan->targets[target].type->name);
    }
    if (code == STATUS_OK) {
        draft->parts_seen[target][number] = true;
        piece_add(draft, arrival, target, number * slice, slice);
    }
    return code;
}

/* Of two names of one storage accelerate keeps the one that comes first by the alphabet and is not on the disk. */
static bool arrival_is_preferred(const struct load_plan *plan, const struct load_target *target,
                                 const struct arrival *arrival)
{
    bool was_disk = plan->places[target->place].device.kind == PLACEMENT_DISK;
    bool is_disk = arrival->device.kind == PLACEMENT_DISK;
    return was_disk != is_disk ? was_disk : strcmp(arrival->path, target->path) < 0;
}

/* The second stored name of a storage that a piece fills already. */
static enum status_code tied_take(struct load_draft *draft, const struct arrival *arrival, int target)
{
    struct load_plan *plan = draft->plan;
    plan->tied_count++;
    if (!arrival_is_preferred(plan, &plan->targets[target], arrival)) {
        return STATUS_OK;
    }
    struct load_target *row = &plan->targets[target];
    const struct storage_type *type = NULL;
    enum status_code code = target_type_find(draft, arrival->stored, arrival->place.index, arrival->device, &type);
    if (code != STATUS_OK) {
        return code;
    }
    row->type = type;
    row->path = arrival->path;
    row->place = place_find(plan, arrival->device);
    storage_bytes(type, row->element_count, &row->bytes);
    for (int i = 0; i < plan->piece_count; i++) {
        if (plan->pieces[i].target == target) {
            plan->pieces[i].stored = arrival->stored;
        }
    }
    return STATUS_OK;
}

static enum status_code whole_take(struct load_draft *draft, const struct arrival *arrival)
{
    struct load_plan *plan = draft->plan;
    const struct skeleton_tensor *row = &draft->request->skeleton->tensors[arrival->place.index];
    int target = draft->target_of[arrival->owner];
    if (target >= 0 && draft->parts_seen[target] == NULL && plan->targets[target].path != arrival->path) {
        return tied_take(draft, arrival, target);
    }
    if (target >= 0 || target == NOT_LOADED) {
        list_add(&plan->unexpected, arrival->stored->name);
        return STATUS_OK;
    }
    if (arrival->device.kind == PLACEMENT_DISK && row->is_buffer && !draft->request->offload_buffers) {
        draft->target_of[arrival->owner] = NOT_LOADED;
        list_add(&plan->unloaded, arrival->stored->name);
        return STATUS_OK;
    }
    enum status_code code = target_add(draft, arrival, &target);
    if (code == STATUS_OK) {
        piece_add(draft, arrival, target, 0, row->element_count);
    }
    return code;
}

static enum status_code stored_take(struct load_draft *draft, const struct checkpoint_tensor *stored)
{
    const struct load_request *request = draft->request;
    struct arrival arrival = {.stored = stored};
    if (strstr(stored->name, "SCB") != NULL) {
        return STATUS_OK; /* statistics of bitsandbytes: no tensors of the model */
    }
    arrival.place = checkpoint_name_place(request->names, request->skeleton, stored);
    bool is_whole = arrival.place.meaning == NAME_TENSOR, is_part = arrival.place.meaning == NAME_PART;
    if ((!is_whole && !is_part) || !request->skeleton->tensors[arrival.place.index].persistent) {
        list_add(&draft->plan->unexpected, stored->name);
        return STATUS_OK;
    }
    arrival.path = request->skeleton->tensors[arrival.place.index].path;
    arrival.owner = storage_owner(request->skeleton, arrival.place.index);
    if (!device_map_find(request->map, arrival.path, &arrival.device)) {
        return status_set(draft->error, STATUS_INVALID,
                          "%s: tensor '%s': no key of the device map covers it (\"%s doesn't have any device set.\", "
                          "ValueError in accelerate); add its module to the map, or \"\" for all",
                          request->checkpoint->files[stored->file].name, stored->name, arrival.path);
    }
    enum status_code code = stored_shape_check(draft, stored, arrival.place);
    if (code != STATUS_OK) {
        return code;
    }
    return is_part ? part_take(draft, &arrival) : whole_take(draft, &arrival);
}

/* -- after the draft */

static int piece_order(const void *a, const void *b)
{
    const struct checkpoint_tensor *left = ((const struct load_piece *)a)->stored;
    const struct checkpoint_tensor *right = ((const struct load_piece *)b)->stored;
    if (left->file != right->file) {
        return left->file < right->file ? -1 : 1;
    }
    return left->offset < right->offset ? -1 : left->offset > right->offset ? 1 : 0;
}

static enum status_code missing_list(struct load_draft *draft)
{
    struct load_plan *plan = draft->plan;
    const struct skeleton *skeleton = draft->request->skeleton;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        int target = draft->target_of[i];
        const char *name = skeleton->tensors[i].path;
        if (skeleton->tensors[i].tied_to >= 0 || !skeleton->tensors[i].persistent || target == NOT_LOADED) {
            continue;
        }
        int64_t filled = 0;
        for (int piece = 0; target >= 0 && draft->parts_seen[target] != NULL && piece < plan->piece_count; piece++) {
            filled += plan->pieces[piece].target == target ? plan->pieces[piece].element_count : 0;
        }
        if (target >= 0 && (draft->parts_seen[target] == NULL || filled == plan->targets[target].element_count)) {
            continue;
        }
        if (target >= 0) {
            int64_t slice = filled / plan->targets[target].piece_count;
            name = arena_format(&plan->arena, "%s (%d of %" PRId64 " parts are stored)", name,
                                plan->targets[target].piece_count,
                                slice > 0 ? plan->targets[target].element_count / slice : 0);
        }
        if (name == NULL) {
            return no_memory(draft);
        }
        list_add(&plan->missing, name);
    }
    return STATUS_OK;
}

static enum status_code plan_sum(struct load_draft *draft)
{
    struct load_plan *plan = draft->plan;
    bool fits = true;
    qsort(plan->pieces, (size_t)plan->piece_count, sizeof *plan->pieces, piece_order);
    for (int i = 0; i < plan->target_count; i++) {
        struct load_place *place = &plan->places[plan->targets[i].place];
        place->target_count++;
        fits = size_add(place->bytes, plan->targets[i].bytes, &place->bytes) && fits;
    }
    for (int i = 0; i < plan->piece_count; i++) {
        const struct load_piece *piece = &plan->pieces[i];
        plan->cast_count += piece->stored->type != plan->targets[piece->target].type ? 1 : 0;
        fits = size_add(plan->stored_bytes, piece->stored->bytes, &plan->stored_bytes) && fits;
    }
    return fits ? STATUS_OK
                : status_set(draft->error, STATUS_OVERFLOW, "%s: its sizes do not fit 63 bits",
                             draft->request->checkpoint->name);
}

static enum status_code plan_draw_up(struct load_draft *draft)
{
    const struct checkpoint *checkpoint = draft->request->checkpoint;
    if (checkpoint->format == CHECKPOINT_GGUF) {
        return status_set(draft->error, STATUS_INVALID,
                          "%s: accelerate does not load GGUF; name a checkpoint of safetensors", checkpoint->name);
    }
    enum status_code code = draft_make(draft);
    if (code == STATUS_OK && !draft->request->has_folder &&
        place_find(draft->plan, (struct placement_device){.kind = PLACEMENT_DISK}) >= 0) {
        return status_set(draft->error, STATUS_INVALID,
                          "%s: the device map puts modules on the disk, and there is no folder for them (\"please pass "
                          "along an `offload_folder`\", ValueError in accelerate); add --offload-folder DIR",
                          checkpoint->name);
    }
    code = code == STATUS_OK ? formats_check(draft) : code;
    for (int i = 0; i < checkpoint->tensor_count && code == STATUS_OK; i++) {
        code = stored_take(draft, &checkpoint->tensors[i]);
    }
    code = code == STATUS_OK ? missing_list(draft) : code;
    code = code == STATUS_OK ? plan_sum(draft) : code;
    code = code == STATUS_OK ? strict_check(draft) : code;
    if (code == STATUS_OK) {
        plan_warn(draft);
        code = draft->plan->warnings.failed ? no_memory(draft) : STATUS_OK;
    }
    return code;
}

enum status_code load_plan_make(const struct load_request *request, struct load_plan *plan, struct status *error)
{
    struct load_plan made = {.skeleton = request->skeleton};
    struct load_draft draft = {.request = request, .plan = &made, .error = error};
    enum status_code code = plan_draw_up(&draft);
    if (code != STATUS_OK) {
        load_plan_release(&made);
        return code;
    }
    *plan = made;
    return STATUS_OK;
}

void load_plan_release(struct load_plan *plan)
{
    text_release(&plan->warnings);
    arena_release(&plan->arena);
    *plan = (struct load_plan){0};
}
