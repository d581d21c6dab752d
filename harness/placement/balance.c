/* get_balanced_memory: what each GPU may hold so that all of them get about as much. Not the plan itself. */
#include "harness/placement/balance.h"

#include <math.h>
#include <string.h>

#include "harness/base/size.h"

/* Classes of which the first module was met. */
struct class_list {
    const char **names;
    int count;
};

static bool class_is_new(struct class_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], name) == 0) {
            return false;
        }
    }
    list->names[list->count++] = name;
    return true;
}

/* The largest of the first modules of each class that is never split. First is meant in the order of module_sizes:
 * modules with parameters, then those that have buffers alone. */
static int64_t whole_bits_largest(const struct module_tree *tree, struct class_list *seen)
{
    int64_t largest = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 1; i < tree->module_count; i++) {
            const struct tree_node *node = &tree->nodes[i];
            if (node->is_whole && node->is_sized && node->has_parameter == (pass == 0) &&
                class_is_new(seen, tree->skeleton->modules[i].class_name)) {
                largest = node->bits > largest ? node->bits : largest;
            }
        }
    }
    return largest;
}

/* The mean size of the modules that have no module with tensors below them, in whole bytes. */
static int64_t leaf_bytes_mean(const struct module_tree *tree)
{
    double sum_bits = 0.0;
    int64_t count = 0;
    for (int i = 1; i < tree->module_count; i++) {
        bool is_leaf = tree->nodes[i].is_sized;
        for (int child = tree->nodes[i].first_child; child >= 0 && is_leaf; child = tree->nodes[child].next_child) {
            is_leaf = !tree->nodes[child].is_sized;
        }
        sum_bits += is_leaf ? (double)tree->nodes[i].bits : 0.0;
        count += is_leaf ? 1 : 0;
    }
    return (int64_t)(sum_bits / BITS_PER_BYTE / (double)(count > 0 ? count : 1));
}

static struct placement_budget *gpu_find_by_index(struct placement_budget *budgets, int count, int index)
{
    for (int i = 0; i < count; i++) {
        if (budgets[i].device.kind == PLACEMENT_GPU && budgets[i].device.index == index) {
            return &budgets[i];
        }
    }
    return NULL;
}

/* min(a, b) as Python has it: a where they are equal. */
static void budget_lower(struct placement_budget *budget, int64_t bits, bool is_float)
{
    if (bits <= budget->bits) {
        budget->bits = bits;
        budget->is_float = is_float;
    }
}

/* GPU 0 gets what the others leave. The others are looked for as 1, 2, ..., whatever their numbers are. */
static enum status_code zero_lower(const struct module_tree *tree, struct placement_budget *budgets, int budget_count,
                                   int gpu_count, struct status *error)
{
    int64_t rest = tree->nodes[0].bits;
    bool is_float = tree->nodes[0].is_float;
    for (int i = 1; i <= gpu_count; i++) {
        int index = i % gpu_count; /* 0 is asked for last */
        struct placement_budget *budget = gpu_find_by_index(budgets, budget_count, index);
        if (budget == NULL) {
            return status_set(
                error, STATUS_INVALID,
                "balanced_low_0 takes %d GPUs for the numbers 0 to %d, and there is no GPU %d: accelerate "
                "1.15 raises KeyError: %d here; number them from 0 on",
                gpu_count, gpu_count - 1, index, index);
        }
        if (index > 0) {
            /* rest stays above -2^63: at most 256 budgets, and below 0 it is 0 whatever is taken off. */
            rest = rest > budget->bits ? rest - budget->bits : 0;
            is_float = is_float || budget->is_float;
        } else {
            budget_lower(budget, rest, rest > 0 && is_float);
        }
    }
    return STATUS_OK;
}

static enum status_code disk_refuse(struct status *error)
{
    return status_set(
        error, STATUS_INVALID,
        "the disk has a budget, and accelerate 1.15 raises RuntimeError (Expected one of cpu, cuda, ... "
        "device type at start of device string: disk) when it balances; leave it out, for the disk has no "
        "limit anyway, or place sequentially");
}

/* What each GPU but the last gets: its part, and room for what does not divide. */
static enum status_code part_find(const struct module_tree *tree, const struct placement_request *request, int parts,
                                  struct arena *arena, int64_t *bits, struct status *error)
{
    struct class_list seen = {.names = arena_alloc(arena, (size_t)tree->module_count * sizeof *seen.names)};
    if (seen.names == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the classes of a model");
    }
    bool has_classes = request->no_split == NULL || request->no_split_count > 0;
    double whole = has_classes ? (double)whole_bits_largest(tree, &seen) / BITS_PER_BYTE : 0.0;
    double mean = (double)leaf_bytes_mean(tree);
    double buffer = trunc(1.25 * (whole > mean ? whole : mean));
    int64_t bytes = tree->nodes[0].bits / BITS_PER_BYTE / parts;
    if (buffer >= 0x1p59 || !size_add(bytes, (int64_t)buffer, &bytes) || !size_multiply(bytes, BITS_PER_BYTE, bits)) {
        return status_set(error, STATUS_OVERFLOW, "%s: the part of a GPU does not fit 63 bits",
                          tree->skeleton->config->name);
    }
    return STATUS_OK;
}

enum status_code budgets_balance(const struct module_tree *tree, const struct placement_request *request,
                                 struct placement_budget *budgets, struct arena *arena, struct status *error)
{
    int count = request->budget_count, gpu_count = 0, last = -1;
    for (int i = 0; i < count; i++) {
        if (budgets[i].device.kind == PLACEMENT_DISK) {
            return disk_refuse(error);
        }
        if (budgets[i].device.kind == PLACEMENT_GPU && budgets[i].bits > 0) {
            gpu_count++;
            last = i;
        }
    }
    if (gpu_count == 0) {
        return STATUS_OK;
    }
    bool low_zero = request->strategy == PLACEMENT_BALANCED_LOW_0 && gpu_count > 1;
    if (gpu_count == 1 && request->budgets_are_detected) {
        budgets[0].bits = (int64_t)((double)(budgets[0].bits / BITS_PER_BYTE) * 0.9) * BITS_PER_BYTE;
        budgets[0].is_float = true;
    }
    int64_t part_bits = 0;
    enum status_code code = part_find(tree, request, low_zero ? gpu_count - 1 : gpu_count, arena, &part_bits, error);
    for (int i = 0; i < last && code == STATUS_OK; i++) {
        if (budgets[i].bits > 0 && !(low_zero && budgets[i].device.index == 0)) {
            budget_lower(&budgets[i], part_bits, tree->nodes[0].is_float);
        }
    }
    return code == STATUS_OK && low_zero ? zero_lower(tree, budgets, count, gpu_count, error) : code;
}
