/* infer_auto_device_map: devices are filled one after the other, and none is returned to. An element of the work list
 * is placed whole, taken apart, or left for the next device; the first GPU and the cpu keep room for the largest layer
 * that is still to come, because a layer that lies further down is brought there to run.
 *
 * Not the sizes (module_tree.c), not the balance (balance.c). What surprises in accelerate is kept, and told where it
 * stands. */
#include "harness/placement/plan.h"

#include "harness/base/size.h"

/* The element that is being treated. */
struct treated {
    int node;
    int64_t bits, tied_bits; /* alone; with what is tied to it */
    bool tied_is_float;
    bool is_bounded;       /* the device is not the disk */
    int64_t limit_bits;    /* of the device, less what is kept free; may be negative */
    int64_t reserved_bits; /* what is kept free */
};

static enum status_code memory_refuse(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the plan of a model");
}

enum status_code plan_make(struct plan *plan, struct status *error)
{
    const struct module_tree *tree = plan->tree;
    struct arena *arena = &plan->placement->arena;
    size_t count = (size_t)tree->node_count, shares = (size_t)plan->placement->share_count;
    plan->largest.names = arena_alloc(arena, count * sizeof *plan->largest.names);
    plan->share_of = arena_alloc(arena, count * sizeof *plan->share_of);
    plan->order = arena_alloc(arena, count * sizeof *plan->order);
    plan->used_bits = arena_alloc(arena, shares * sizeof *plan->used_bits);
    plan->used_is_float = arena_alloc(arena, shares * sizeof *plan->used_is_float);
    plan->buffer_bits = arena_alloc(arena, shares * sizeof *plan->buffer_bits);
    if (plan->largest.names == NULL || plan->share_of == NULL || plan->order == NULL || plan->used_bits == NULL ||
        plan->used_is_float == NULL || plan->buffer_bits == NULL) {
        return memory_refuse(error);
    }
    for (size_t i = 0; i < count; i++) {
        plan->share_of[i] = UNPLACED;
    }
    enum status_code code = work_list_make(tree, arena, &plan->list, error);
    if (code == STATUS_OK) {
        code = work_list_make(tree, arena, &plan->search, error);
    }
    return code == STATUS_OK ? tied_cost_make(tree, arena, &plan->cost, error) : code;
}

/* Words of a step: "0", "cpu". */
static const char *share_name(const struct plan *plan, int share, char text[DEVICE_TEXT_BYTES])
{
    return placement_device_name(plan->placement->shares[share].device, text);
}

static const char *bits_format(int64_t bits, char text[SIZE_TEXT_BYTES])
{
    return size_format(bits < 0 ? -bits_to_bytes(-bits) : bits_to_bytes(bits), text);
}

static void free_words(const struct plan *plan, const struct treated *treated, struct text *steps)
{
    char size[SIZE_TEXT_BYTES];
    text_format(steps, "%s free", bits_format(treated->limit_bits - plan->used_bits[plan->current], size));
    if (treated->reserved_bits > 0) {
        text_format(steps, " beside %s for the largest layer", bits_format(treated->reserved_bits, size));
    }
}

static void put_step(struct plan *plan, const struct treated *treated)
{
    struct text *steps = &plan->placement->steps;
    char device[DEVICE_TEXT_BYTES], size[SIZE_TEXT_BYTES];
    if (!plan->request->wants_steps) {
        return;
    }
    text_format(steps, "put %s (%s) on %s", plan->tree->nodes[treated->node].path,
                bits_format(treated->tied_bits, size), share_name(plan, plan->current, device));
    for (int i = 0; i < plan->cost.count; i++) {
        text_format(steps, "%s%s", i == 0 ? " with what is tied to it: " : ", ",
                    plan->tree->nodes[plan->cost.owners[i]].path);
    }
    if (treated->is_bounded) {
        text_append(steps, "; before it ");
        free_words(plan, treated, steps);
    }
    text_append(steps, "\n");
}

static void split_step(struct plan *plan, const struct treated *treated, int split)
{
    struct text *steps = &plan->placement->steps;
    char device[DEVICE_TEXT_BYTES], size[SIZE_TEXT_BYTES];
    if (!plan->request->wants_steps) {
        return;
    }
    text_format(steps, "split %s (%s)", plan->tree->nodes[split].path,
                bits_format(plan->tree->nodes[split].bits, size));
    if (split != treated->node) {
        text_format(steps, ", which is tied to %s", plan->tree->nodes[treated->node].path);
    }
    text_format(steps, ": %s has ", share_name(plan, plan->current, device));
    free_words(plan, treated, steps);
    text_append(steps, "\n");
}

static void leave_step(struct plan *plan, const struct treated *treated)
{
    struct text *steps = &plan->placement->steps;
    char device[DEVICE_TEXT_BYTES], next[DEVICE_TEXT_BYTES], size[SIZE_TEXT_BYTES];
    if (!plan->request->wants_steps) {
        return;
    }
    text_format(steps, "leave %s for %s: %s (%s) stays whole, and there is ", share_name(plan, plan->current, device),
                share_name(plan, plan->current + 1, next), plan->tree->nodes[treated->node].path,
                bits_format(treated->tied_bits, size));
    free_words(plan, treated, steps);
    text_append(steps, "\n");
}

static void fallback_step(struct plan *plan, const struct treated *treated, int found)
{
    char device[DEVICE_TEXT_BYTES], size[SIZE_TEXT_BYTES];
    if (plan->request->wants_steps) {
        text_format(&plan->placement->steps, "take %s (%s) before %s, as a fallback: %s is empty still\n",
                    plan->tree->nodes[found].path, bits_format(plan->tree->nodes[found].bits, size),
                    plan->tree->nodes[treated->node].path, share_name(plan, plan->current, device));
    }
}

static void node_place(struct plan *plan, int node)
{
    plan->share_of[node] = plan->current;
    plan->order[plan->order_count++] = node;
    if (plan->list.holds[node]) {
        work_list_remove(&plan->list, node);
    }
}

/* The element, and the elements around what is tied to it, go to the current device. Of their buffers only its own
 * count: accelerate leaves those of the tied ones out. */
static enum status_code treated_place(struct plan *plan, const struct treated *treated, struct status *error)
{
    const struct tree_node *node = &plan->tree->nodes[treated->node];
    int current = plan->current;
    struct placement_share *share = &plan->placement->shares[current];
    put_step(plan, treated);
    if (!size_add(plan->used_bits[current], treated->tied_bits, &plan->used_bits[current]) ||
        !size_add(share->placed_bits, treated->tied_bits, &share->placed_bits)) {
        return status_set(error, STATUS_OVERFLOW, "%s: what is placed on one device does not fit 63 bits",
                          plan->tree->skeleton->config->name);
    }
    plan->used_is_float[current] = plan->used_is_float[current] || treated->tied_is_float;
    node_place(plan, treated->node);
    for (int i = 0; i < plan->cost.count; i++) {
        if (plan->share_of[plan->cost.owners[i]] == UNPLACED) {
            node_place(plan, plan->cost.owners[i]);
        }
    }
    if (node->is_module && !plan->request->offload_buffers &&
        !size_add(plan->buffer_bits[current], node->buffer_bits, &plan->buffer_bits[current])) {
        return status_set(error, STATUS_OVERFLOW, "%s: its buffers do not fit 63 bits",
                          plan->tree->skeleton->config->name);
    }
    plan->fallback_count = 0;
    return STATUS_OK;
}

/* Takes apart the first tied element that can be, so that less comes along; the treated one is tried again. */
static bool tied_split(struct plan *plan, const struct treated *treated)
{
    const struct tree_node *nodes = plan->tree->nodes;
    for (int i = 0; i < plan->cost.count; i++) {
        int owner = plan->cost.owners[i];
        if (node_is_leaf(&nodes[owner]) || nodes[owner].is_whole) {
            continue;
        }
        split_step(plan, treated, owner);
        int after = work_list_next(&plan->list, owner);
        work_list_remove(&plan->list, owner);
        work_list_insert_parts(&plan->list, owner, after, false);
        work_list_insert(&plan->list, treated->node, work_list_first(&plan->list));
        largest_layer_find(&plan->list, true, &plan->largest);
        return true;
    }
    return false;
}

static bool treated_split(struct plan *plan, const struct treated *treated)
{
    const struct tree_node *node = &plan->tree->nodes[treated->node];
    if (node_is_leaf(node) || node->is_whole) {
        return false;
    }
    split_step(plan, treated, treated->node);
    work_list_insert_parts(&plan->list, treated->node, work_list_first(&plan->list), false);
    largest_layer_find(&plan->list, true, &plan->largest);
    return true;
}

/* fallback_allocate for a device that is empty: something smaller is put before the treated element. */
static enum status_code fallback_try(struct plan *plan, const struct treated *treated, bool *taken,
                                     struct status *error)
{
    int current = plan->current, found = -1;
    const struct placement_budget *budget = &plan->placement->budgets[current];
    int64_t kept = treated->tied_bits > plan->largest.bits ? treated->tied_bits : plan->largest.bits;
    bool kept_is_float = treated->tied_bits > plan->largest.bits ? treated->tied_is_float : plan->largest.is_float;
    *taken = false;
    if (budget->is_float || kept_is_float || plan->used_is_float[current]) {
        return status_set(
            error, STATUS_INVALID,
            "%s: the fallback takes whole numbers of bytes alone, and int4, int2 and boolean tensors count "
            "in parts of bytes: accelerate 1.15 raises AttributeError: 'float' object has no attribute "
            "'upper' here; leave out the fallback, or take another precision",
            plan->tree->skeleton->config->name);
    }
    struct fallback_search search = {&plan->search, &plan->cost, budget->bits - kept};
    if (search.limit_bits < 0) {
        return STATUS_OK;
    }
    enum status_code code = fallback_find(&search, &plan->list, &found, error);
    if (code != STATUS_OK || found < 0) {
        return code;
    }
    if (plan->fallback_count++ > plan->tree->node_count) {
        return status_set(error, STATUS_INVALID,
                          "%s: the fallback finds %s again and again and never places it: accelerate 1.15 does not end "
                          "here; leave out the fallback",
                          plan->tree->skeleton->config->name, plan->tree->nodes[found].path);
    }
    fallback_step(plan, treated, found);
    work_list_insert(&plan->list, treated->node, work_list_first(&plan->list));
    work_list_insert(&plan->list, found, treated->node);
    *taken = true;
    return STATUS_OK;
}

static enum status_code device_leave(struct plan *plan, const struct treated *treated, struct status *error)
{
    int current = plan->current;
    struct placement_share *share = &plan->placement->shares[current];
    leave_step(plan, treated);
    if (plan->used_bits[current] == 0 && !size_add(treated->tied_bits, treated->reserved_bits, &share->minimum_bits)) {
        return status_set(error, STATUS_OVERFLOW, "%s: what a device would need does not fit 63 bits",
                          plan->tree->skeleton->config->name);
    }
    if (!size_add(plan->used_bits[current], treated->reserved_bits, &plan->used_bits[current])) {
        return status_set(error, STATUS_OVERFLOW, "%s: what a device keeps free does not fit 63 bits",
                          plan->tree->skeleton->config->name);
    }
    plan->current++;
    plan->fallback_count = 0;
    work_list_insert(&plan->list, treated->node, work_list_first(&plan->list));
    return STATUS_OK;
}

/* Takes the first element and what it costs here. */
static enum status_code treated_take(struct plan *plan, struct treated *treated, struct status *error)
{
    struct placement_share *share = &plan->placement->shares[plan->current];
    int node = work_list_first(&plan->list);
    work_list_remove(&plan->list, node);
    largest_layer_drop(plan->tree, node, &plan->largest);
    if (plan->largest.count == 0) {
        largest_layer_find(&plan->list, true, &plan->largest);
    }
    enum status_code code = tied_cost_find(&plan->list, node, &plan->cost, error);
    *treated = (struct treated){.node = node,
                                .bits = plan->tree->nodes[node].bits,
                                .tied_bits = plan->cost.bits,
                                .tied_is_float = plan->cost.is_float,
                                .is_bounded = share->device.kind != PLACEMENT_DISK,
                                .reserved_bits = share->is_main ? plan->largest.bits : 0};
    treated->limit_bits = treated->is_bounded ? share->budget_bits - treated->reserved_bits : 0;
    share->reserved_bits = treated->reserved_bits;
    return code;
}

/* Whether so much more is at most, or at least, what the device may hold. */
static int64_t room_after(const struct plan *plan, const struct treated *treated, int64_t bits)
{
    return treated->limit_bits - plan->used_bits[plan->current] - bits;
}

static enum status_code element_treat(struct plan *plan, struct status *error)
{
    struct treated treated;
    bool taken = false;
    enum status_code code = treated_take(plan, &treated, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (!treated.is_bounded || room_after(plan, &treated, treated.tied_bits) >= 0) {
        return treated_place(plan, &treated, error);
    }
    if (plan->cost.count > 0 && room_after(plan, &treated, treated.bits) >= 0 && tied_split(plan, &treated)) {
        return STATUS_OK;
    }
    /* An element that fits exactly, were it not for its ties, is taken apart as well. */
    if (room_after(plan, &treated, treated.bits) <= 0 && treated_split(plan, &treated)) {
        return STATUS_OK;
    }
    if (plan->used_bits[plan->current] == 0 && plan->request->fallback) {
        code = fallback_try(plan, &treated, &taken, error);
    }
    return code != STATUS_OK || taken ? code : device_leave(plan, &treated, error);
}

enum status_code plan_run(struct plan *plan, struct status *error)
{
    enum status_code code = STATUS_OK;
    work_list_insert_parts(&plan->list, 0, -1, true);
    largest_layer_find(&plan->list, false, &plan->largest);
    while (code == STATUS_OK && work_list_first(&plan->list) >= 0) {
        code = element_treat(plan, error);
    }
    return code;
}
