/* Placement: the map spread over modules and tensors. No decision about who goes where: a planner has made the map. */
#include "models/skeleton/placement.h"

#include <stdlib.h>
#include <string.h>

/* -- paths */

struct named {
    const char *path;
    int module;
};

static int named_compare(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->path, ((const struct named *)b)->path);
}

static enum status_code modules_sort(struct placement *placement, struct status *error)
{
    int count = placement->skeleton->module_count;
    struct named *named = malloc((size_t)count * sizeof *named);
    if (named == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a placement");
    }
    for (int i = 0; i < count; i++) {
        named[i] = (struct named){placement->skeleton->modules[i].path, i};
    }
    qsort(named, (size_t)count, sizeof *named, named_compare);
    for (int i = 0; i < count; i++) {
        placement->by_path[i] = named[i].module;
    }
    free(named);
    return STATUS_OK;
}

int placement_module(const struct placement *placement, const char *path)
{
    int low = 0, high = placement->skeleton->module_count - 1;
    while (low <= high) {
        int middle = low + (high - low) / 2, module = placement->by_path[middle];
        int order = strcmp(path, placement->skeleton->modules[module].path);
        if (order == 0) {
            return module;
        }
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle - 1 : high;
    }
    return -1;
}

/* A module's own tensors stand side by side in the skeleton, and modules in the order of their tensors. */
static void tensors_count(struct placement *placement)
{
    const struct skeleton *skeleton = placement->skeleton;
    int tensor = 0;
    for (int i = 0; i < skeleton->module_count; i++) {
        placement->first[i] = tensor;
        while (tensor < skeleton->tensor_count && skeleton->tensors[tensor].module == i) {
            tensor++;
        }
    }
    placement->first[skeleton->module_count] = tensor;
}

bool placement_offloads(const struct placement *placement, int tensor)
{
    int runs = placement->runs[placement->skeleton->tensors[tensor].module];
    return placement->hooks && runs >= 0 && placement->keeps[tensor] != runs;
}

int placement_twin(const struct placement *placement, int tensor)
{
    const struct skeleton *skeleton = placement->skeleton;
    int runs = placement->runs[skeleton->tensors[tensor].module];
    int owner = skeleton->tensors[tensor].tied_to >= 0 ? skeleton->tensors[tensor].tied_to : tensor;
    if (placement->places[placement->keeps[tensor]].kind != PLACE_HOST || !placement->shares_twins) {
        return tensor;
    }
    for (int i = owner; i < skeleton->tensor_count; i++) {
        if ((i == owner || skeleton->tensors[i].tied_to == owner) && placement->keeps[i] == runs) {
            return i;
        }
    }
    return tensor;
}

/* -- the map */

/* Entries by module and by tensor: the place, or -1. By module: whether the map has it as a key, whether it has a
 * state. */
struct assignment {
    int *of_module, *of_tensor;
    bool *named, *has_state;
};

static enum status_code entries_note(const struct placement_plan *plan, const struct placement *placement,
                                     const struct assignment *assigned, struct status *error)
{
    for (int i = 0; i < plan->entry_count; i++) {
        const struct placement_entry *entry = &plan->entries[i];
        int module = placement_module(placement, entry->path);
        int tensor = module < 0 ? skeleton_find(placement->skeleton, entry->path) : -1;
        if (entry->place < 0 || entry->place >= plan->place_count) {
            return status_set(error, STATUS_INTERNAL, "'%s' is given to place %d of %d", entry->path, entry->place,
                              plan->place_count);
        }
        if (module >= 0) {
            assigned->of_module[module] = entry->place;
            assigned->named[module] = true;
        } else if (tensor >= 0) {
            assigned->of_tensor[tensor] = entry->place;
        } else {
            return status_set(error, STATUS_INVALID, "the device map names '%s', and the model has no such module",
                              entry->path);
        }
    }
    return STATUS_OK;
}

/* What covers a module: its own entry, or that of the next module above it. Parents have lower indices. */
static void modules_inherit(const struct placement *placement, const struct assignment *assigned)
{
    const struct skeleton *skeleton = placement->skeleton;
    for (int i = 1; i < skeleton->module_count; i++) {
        if (assigned->of_module[i] < 0) {
            assigned->of_module[i] = assigned->of_module[skeleton->modules[i].parent];
        }
    }
}

static int main_find(const struct placement_plan *plan, int host)
{
    int found = -1;
    for (int i = 0; i < plan->entry_count; i++) {
        int place = plan->entries[i].place;
        if (plan->places[place].kind == PLACE_DEVICE && (found < 0 || place < found)) {
            found = place;
        }
    }
    return found >= 0 ? found : host;
}

static bool place_is_offloaded(const struct placement *placement, int place)
{
    return placement->places[place].kind == PLACE_DISK ||
           (placement->places[place].kind == PLACE_HOST && place != placement->main);
}

/* The first tensor before this one that is the same and is not offloaded, or -1. */
static int resident_twin(const struct placement *placement, int tensor)
{
    const struct skeleton *skeleton = placement->skeleton;
    int owner = skeleton->tensors[tensor].tied_to;
    for (int i = owner; i < tensor; i++) {
        bool same = i == owner || skeleton->tensors[i].tied_to == owner;
        if (same && !place_is_offloaded(placement, placement->keeps[i])) {
            return i;
        }
    }
    return -1;
}

static enum status_code tensors_place(const struct placement_plan *plan, struct placement *placement,
                                      const struct assignment *assigned, struct status *error)
{
    const struct skeleton *skeleton = placement->skeleton;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        int own = assigned->of_tensor[i];
        int place = own >= 0 ? own : assigned->of_module[tensor->module];
        if (place < 0) {
            return status_set(error, STATUS_INVALID,
                              "the device map gives '%s' no device; add it, or a module above it", tensor->path);
        }
        bool stays = tensor->is_buffer && (!plan->offload_buffers || !tensor->persistent);
        bool moves = stays && place_is_offloaded(placement, place);
        placement->keeps[i] = moves ? placement->main : place;
        placement->copies[i] = moves && tensor->persistent ? place : -1;
        int twin = tensor->tied_to >= 0 ? resident_twin(placement, i) : -1;
        if (twin >= 0 && !place_is_offloaded(placement, place) && placement->keeps[twin] != place) {
            return status_set(error, STATUS_INVALID,
                              "'%s' and '%s' are one tensor and lie on two devices; give both to one", tensor->path,
                              skeleton->tensors[twin].path);
        }
    }
    return STATUS_OK;
}

/* Whether the module or one in it has a tensor in the state dict: *below, by module. */
static void states_find(const struct skeleton *skeleton, bool *below)
{
    for (int i = 0; i < skeleton->tensor_count; i++) {
        int module = skeleton->tensors[i].persistent ? skeleton->tensors[i].module : -1;
        while (module >= 0 && !below[module]) {
            below[module] = true;
            module = skeleton->modules[module].parent;
        }
    }
}

/* A module has a hook if the map names it, or if one above it is named and it has a state:
 * attach_execution_device_hook. Where the one above is offloaded, a module with any tensor of its own has one, too:
 * attach_align_device_hook. */
static void modules_place(const struct placement_plan *plan, struct placement *placement,
                          const struct assignment *assigned)
{
    const struct skeleton *skeleton = placement->skeleton;
    for (int i = 0; i < skeleton->module_count; i++) {
        int place = assigned->of_module[i];
        bool offloaded = place >= 0 && place_is_offloaded(placement, place);
        bool owns = placement->first[i + 1] > placement->first[i];
        bool hooked = plan->form == PLACEMENT_OFFLOAD
                          ? owns
                          : assigned->named[i] || assigned->has_state[i] || (offloaded && owns);
        placement->runs[i] = !hooked ? -1 : offloaded ? placement->main : place;
    }
    placement->runs[0] = placement->main; /* the root's hook */
}

static bool places_differ(const struct placement_plan *plan)
{
    bool differ = false;
    for (int i = 0; i < plan->entry_count; i++) {
        int place = plan->entries[i].place;
        differ = differ || place != plan->entries[0].place || plan->places[place].kind == PLACE_DISK;
    }
    return differ;
}

static enum status_code map_spread(const struct placement_plan *plan, struct placement *placement,
                                   const struct assignment *assigned, struct status *error)
{
    enum status_code code = modules_sort(placement, error);
    if (code == STATUS_OK) {
        code = entries_note(plan, placement, assigned, error);
    }
    if (code == STATUS_OK) {
        modules_inherit(placement, assigned);
        placement->main = plan->main >= 0 ? plan->main : main_find(plan, placement->host);
        placement->hooks = plan->form != PLACEMENT_DISPATCH || places_differ(plan);
        placement->shares_twins = plan->form != PLACEMENT_OFFLOAD;
        code = tensors_place(plan, placement, assigned, error);
    }
    if (code == STATUS_OK) {
        states_find(placement->skeleton, assigned->has_state);
        tensors_count(placement);
        modules_place(plan, placement, assigned);
    }
    return code;
}

static enum status_code host_find(const struct placement_plan *plan, struct placement *placement, struct status *error)
{
    placement->host = -1;
    for (int i = 0; i < plan->place_count; i++) {
        placement->places[i] = plan->places[i];
        placement->host = plan->places[i].kind == PLACE_HOST ? i : placement->host;
    }
    placement->place_count = plan->place_count;
    if (placement->host >= 0) {
        return STATUS_OK;
    }
    if (plan->place_count == PLACE_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "a model is placed on at most %d devices and the host",
                          PLACE_MAXIMUM - 1);
    }
    placement->host = placement->place_count++;
    placement->places[placement->host] = (struct place){.kind = PLACE_HOST, .name = "cpu"};
    return STATUS_OK;
}

enum status_code placement_build(const struct skeleton *skeleton, const struct placement_plan *plan,
                                 struct placement *placement, struct status *error)
{
    struct placement made = {.skeleton = skeleton};
    size_t modules = (size_t)skeleton->module_count, tensors = (size_t)skeleton->tensor_count;
    enum status_code code = host_find(plan, &made, error);
    made.keeps = arena_alloc(&made.arena, tensors * sizeof(int));
    made.copies = arena_alloc(&made.arena, tensors * sizeof(int));
    made.runs = arena_alloc(&made.arena, modules * sizeof(int));
    made.first = arena_alloc(&made.arena, (modules + 1) * sizeof(int));
    made.by_path = arena_alloc(&made.arena, modules * sizeof(int));
    struct assignment assigned = {.of_module = malloc(modules * sizeof(int) + 1),
                                  .of_tensor = malloc(tensors * sizeof(int) + 1),
                                  .named = calloc(modules + 1, sizeof(bool)),
                                  .has_state = calloc(modules + 1, sizeof(bool))};
    if (code == STATUS_OK && (made.keeps == NULL || made.copies == NULL || made.runs == NULL || made.first == NULL ||
                              made.by_path == NULL || assigned.of_module == NULL || assigned.of_tensor == NULL ||
                              assigned.named == NULL || assigned.has_state == NULL)) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a placement");
    }
    if (code == STATUS_OK) {
        memset(assigned.of_module, 0xff, modules * sizeof(int)); /* -1 */
        memset(assigned.of_tensor, 0xff, tensors * sizeof(int));
        code = map_spread(plan, &made, &assigned, error);
    }
    free(assigned.of_module);
    free(assigned.of_tensor);
    free(assigned.named);
    free(assigned.has_state);
    if (code != STATUS_OK) {
        placement_release(&made);
        return code;
    }
    *placement = made;
    return STATUS_OK;
}

void placement_release(struct placement *placement)
{
    arena_release(&placement->arena);
    *placement = (struct placement){0};
}
