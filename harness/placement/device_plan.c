/* Device plan: from a request to a plan and what is said of it: budgets in order, bytes on each device, the map,
 * warnings. */
#include "harness/placement/device_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/placement/balance.h"
#include "harness/placement/plan.h"

static enum status_code memory_refuse(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the placement of a model");
}

static int budget_compare(const void *a, const void *b)
{
    return placement_device_order(((const struct placement_budget *)a)->device,
                                  ((const struct placement_budget *)b)->device);
}

static enum status_code budgets_copy(const struct placement_request *request, struct device_plan *placement,
                                     struct status *error)
{
    int count = request->budget_count;
    char name[DEVICE_TEXT_BYTES];
    if (count > PLACEMENT_DEVICES_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "%d devices are more than the %d that are planned for", count,
                          PLACEMENT_DEVICES_MAXIMUM);
    }
    placement->budgets = arena_alloc(&placement->arena, (size_t)count * sizeof *placement->budgets);
    if (placement->budgets == NULL) {
        return memory_refuse(error);
    }
    for (int i = 0; i < count; i++) {
        placement->budgets[i] = request->budgets[i];
    }
    qsort(placement->budgets, (size_t)count, sizeof *placement->budgets, budget_compare);
    for (int i = 0; i < count; i++) {
        const struct placement_budget *budget = &placement->budgets[i];
        placement_device_name(budget->device, name);
        if (budget->bits < 0) {
            return status_set(error, STATUS_INVALID, "the budget of %s is negative; write 0 or more", name);
        }
        if (i > 0 && placement_device_equal(budget->device, budget[-1].device)) {
            return status_set(error, STATUS_INVALID, "%s has two budgets; keep one", name);
        }
    }
    placement->budget_count = count;
    return STATUS_OK;
}

/* The devices with budgets, and the disk behind them. The first GPU and the cpu keep room for the largest layer, or mps
 * alone if there is one; without a GPU the cpu alone. */
static enum status_code shares_make(struct device_plan *placement, struct status *error)
{
    int count = placement->budget_count, bounded = 0;
    bool has_mps = false;
    placement->shares = arena_alloc(&placement->arena, (size_t)(count + 1) * sizeof *placement->shares);
    if (placement->shares == NULL) {
        return memory_refuse(error);
    }
    for (int i = 0; i < count; i++) {
        has_mps = has_mps || placement->budgets[i].device.kind == PLACEMENT_MPS;
    }
    for (int i = 0; i < count; i++) {
        const struct placement_budget *budget = &placement->budgets[i];
        enum placement_device_kind kind = budget->device.kind;
        if (kind != PLACEMENT_DISK) {
            placement->shares[bounded++] = (struct placement_share){
                .device = budget->device,
                .budget_bits = budget->bits,
                .minimum_bits = -1,
                .is_main = has_mps ? kind == PLACEMENT_MPS : kind == PLACEMENT_CPU || i == 0,
            };
        }
    }
    placement->shares[bounded] =
        (struct placement_share){.device = {.kind = PLACEMENT_DISK}, .budget_bits = -1, .minimum_bits = -1};
    placement->share_count = bounded + 1;
    return STATUS_OK;
}

/* Whether a key is the path, or that of a module around it. */
static bool key_covers(const char *key, const char *path)
{
    size_t length = strlen(key);
    return length == 0 || (strncmp(key, path, length) == 0 && (path[length] == '\0' || path[length] == '.'));
}

/* The share that the map gives a buffer which was never treated: cleaning may have made a key of the module that was
 * split. */
static int covering_share(const struct device_plan *plan, const char *path)
{
    for (int i = 0; i < plan->map.count; i++) {
        for (int share = 0; share < plan->share_count && key_covers(plan->map.entries[i].path, path); share++) {
            if (placement_device_equal(plan->shares[share].device, plan->map.entries[i].device)) {
                return share;
            }
        }
    }
    return UNPLACED;
}

/* The share of a tensor: its own, or that of the module around it; UNPLACED: an own buffer of a module that was
 * split. */
static int tensor_share(const struct plan *plan, int node)
{
    int around = node;
    while (around >= 0 && plan->share_of[around] == UNPLACED) {
        around = plan->tree->nodes[around].parent;
    }
    return around < 0 ? covering_share(plan->placement, plan->tree->nodes[node].path) : plan->share_of[around];
}

/* Whether the storage of a tensor is on the share already, under an earlier name. */
static bool is_held(const struct plan *plan, int tensor, int share)
{
    const struct module_tree *tree = plan->tree;
    for (int i = tree->storage[tensor]; i < tensor; i++) {
        if (tree->storage[i] == tree->storage[tensor] && tensor_share(plan, tree->module_count + i) == share) {
            return true;
        }
    }
    return false;
}

static enum status_code shares_weigh(const struct plan *plan, struct status *error)
{
    const struct module_tree *tree = plan->tree;
    const struct skeleton *skeleton = tree->skeleton;
    struct device_plan *placement = plan->placement;
    placement->uncovered =
        arena_alloc(&placement->arena, (size_t)skeleton->tensor_count * sizeof *placement->uncovered);
    if (placement->uncovered == NULL) {
        return memory_refuse(error);
    }
    for (int t = 0; t < skeleton->tensor_count; t++) {
        const struct tree_node *node = &tree->nodes[tree->module_count + t];
        int share = tensor_share(plan, tree->module_count + t);
        if (share == UNPLACED) {
            const char *path = arena_copy(&placement->arena, skeleton->tensors[t].path);
            if (path == NULL) {
                return memory_refuse(error);
            }
            placement->uncovered[placement->uncovered_count] = path;
            placement->uncovered_count += skeleton->tensors[t].persistent ? 1 : 0;
            continue;
        }
        int64_t *sum = node->is_buffer ? &placement->shares[share].buffer_bits : &placement->shares[share].weight_bits;
        if ((tree->storage[t] == t || !is_held(plan, t, share)) && !size_add(*sum, node->storage_bits, sum)) {
            return status_set(error, STATUS_OVERFLOW, "%s: what is on one device does not fit 63 bits",
                              skeleton->config->name);
        }
    }
    return STATUS_OK;
}

static enum status_code map_make(const struct plan *plan, struct status *error)
{
    struct device_plan *placement = plan->placement;
    struct device_map *map = &placement->map;
    map->entries = arena_alloc(&placement->arena, (size_t)plan->order_count * sizeof *map->entries);
    bool made = map->entries != NULL;
    for (int i = 0; i < plan->order_count && made; i++) {
        const char *path = arena_copy(&placement->arena, plan->tree->nodes[plan->order[i]].path);
        int share = plan->share_of[plan->order[i]];
        map->entries[map->count++] = (struct device_map_entry){path, placement->shares[share].device};
        made = path != NULL;
    }
    if (!made) {
        return memory_refuse(error);
    }
    return plan->request->keeps_keys ? STATUS_OK : device_map_clean(map, &placement->arena, error);
}

/* The warning about buffers: without offload_buffers those of the cpu and the disk lie on the first GPU. What was kept
 * free counts as used. */
static void buffers_warn(const struct plan *plan)
{
    struct device_plan *placement = plan->placement;
    int64_t bits = 0;
    bool has_gpu = false, fits = false;
    for (int i = 0; i < placement->share_count; i++) {
        enum placement_device_kind kind = placement->shares[i].device.kind;
        if (kind == PLACEMENT_CPU || kind == PLACEMENT_DISK) {
            bits = size_add(bits, plan->buffer_bits[i], &bits) ? bits : INT64_MAX;
        } else {
            has_gpu = true;
        }
    }
    for (int i = 0; i < placement->share_count; i++) {
        enum placement_device_kind kind = placement->shares[i].device.kind;
        fits = fits || (kind != PLACEMENT_CPU && kind != PLACEMENT_DISK &&
                        placement->shares[i].budget_bits - plan->used_bits[i] >= bits);
    }
    if (bits > 0 && !plan->request->offload_buffers && has_gpu && !fits) {
        text_format(&placement->warnings,
                    "modules on cpu and disk have %" PRId64
                    " bytes of buffers, which lie on a GPU unless buffers are offloaded too, and no GPU has so much "
                    "left: offload_buffers puts them where their modules are\n",
                    bits_to_bytes(bits));
    }
}

static void uncovered_warn(struct device_plan *placement)
{
    if (placement->uncovered_count > 0) {
        text_format(&placement->warnings,
                    "%d %s of modules that were split %s in no key, for accelerate leaves out their own buffers: %s%s; "
                    "dispatch_model refuses such a map\n",
                    placement->uncovered_count, placement->uncovered_count == 1 ? "tensor" : "tensors",
                    placement->uncovered_count == 1 ? "is" : "are", placement->uncovered[0],
                    placement->uncovered_count > 1 ? ", ..." : "");
    }
}

static enum status_code plan_report(const struct plan *plan, struct status *error)
{
    enum status_code code = map_make(plan, error);
    if (code == STATUS_OK) {
        code = shares_weigh(plan, error);
    }
    if (code == STATUS_OK) {
        buffers_warn(plan);
        uncovered_warn(plan->placement);
        code = text_status(&plan->placement->warnings, "warnings", error);
    }
    return code == STATUS_OK ? text_status(&plan->placement->steps, "the steps of a plan", error) : code;
}

/* Budgets in order, balanced where that is asked for. */
static enum status_code placement_begin(const struct skeleton *skeleton, const struct placement_request *request,
                                        struct module_tree *tree, struct device_plan *placement, struct status *error)
{
    enum status_code code = budgets_copy(request, placement, error);
    if (code == STATUS_OK) {
        code = module_tree_build(skeleton, request, &placement->arena, tree, error);
    }
    if (code == STATUS_OK && request->strategy != PLACEMENT_SEQUENTIAL) {
        code = budgets_balance(tree, request, placement->budgets, &placement->arena, error);
    }
    return code;
}

enum status_code device_plan_balance(const struct skeleton *skeleton, const struct placement_request *request,
                                     struct device_plan *placement, struct status *error)
{
    struct device_plan result = {0};
    struct module_tree tree;
    enum status_code code = placement_begin(skeleton, request, &tree, &result, error);
    if (code != STATUS_OK) {
        device_plan_release(&result);
        return code;
    }
    *placement = result;
    return STATUS_OK;
}

enum status_code device_plan_make(const struct skeleton *skeleton, const struct placement_request *request,
                                  struct device_plan *placement, struct status *error)
{
    struct device_plan result = {0};
    struct module_tree tree;
    struct plan plan = {.request = request, .tree = &tree, .placement = &result};
    enum status_code code = placement_begin(skeleton, request, &tree, &result, error);
    if (code == STATUS_OK) {
        code = shares_make(&result, error);
    }
    if (code == STATUS_OK) {
        code = plan_make(&plan, error);
    }
    if (code == STATUS_OK) {
        code = plan_run(&plan, error);
    }
    if (code == STATUS_OK) {
        code = plan_report(&plan, error);
    }
    if (code != STATUS_OK) {
        device_plan_release(&result);
        return code;
    }
    *placement = result;
    return STATUS_OK;
}

void device_plan_release(struct device_plan *placement)
{
    text_release(&placement->warnings);
    text_release(&placement->steps);
    arena_release(&placement->arena);
    *placement = (struct device_plan){0};
}
