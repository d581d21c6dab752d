/* Work list: a doubly linked list over nodes, the largest layer in it, ties across it, and the search for something
 * that fits. */
#include "harness/placement/work_list.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"

static enum status_code memory_refuse(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the plan of a model");
}

enum status_code work_list_make(const struct module_tree *tree, struct arena *arena, struct work_list *list,
                                struct status *error)
{
    size_t count = (size_t)tree->node_count + 1;
    *list = (struct work_list){.tree = tree,
                               .next = arena_alloc(arena, count * sizeof *list->next),
                               .previous = arena_alloc(arena, count * sizeof *list->previous),
                               .holds = arena_alloc(arena, count * sizeof *list->holds)};
    if (list->next == NULL || list->previous == NULL || list->holds == NULL) {
        return memory_refuse(error);
    }
    list->next[tree->node_count] = list->previous[tree->node_count] = tree->node_count;
    return STATUS_OK;
}

void work_list_copy(struct work_list *list, const struct work_list *from)
{
    size_t count = (size_t)from->tree->node_count + 1;
    memcpy(list->next, from->next, count * sizeof *list->next);
    memcpy(list->previous, from->previous, count * sizeof *list->previous);
    memcpy(list->holds, from->holds, count * sizeof *list->holds);
}

int work_list_next(const struct work_list *list, int node)
{
    int end = list->tree->node_count;
    return list->next[node] == end ? -1 : list->next[node];
}

int work_list_first(const struct work_list *list)
{
    return work_list_next(list, list->tree->node_count);
}

void work_list_insert(struct work_list *list, int node, int before)
{
    int after = before < 0 ? list->tree->node_count : before;
    list->next[node] = after;
    list->previous[node] = list->previous[after];
    list->next[list->previous[after]] = node;
    list->previous[after] = node;
    list->holds[node] = true;
}

void work_list_remove(struct work_list *list, int node)
{
    list->next[list->previous[node]] = list->next[node];
    list->previous[list->next[node]] = list->previous[node];
    list->holds[node] = false;
}

static void tensors_insert(struct work_list *list, int module, int before, bool buffers)
{
    const struct tree_node *nodes = list->tree->nodes;
    for (int i = nodes[module].first_tensor; i < nodes[module].tensor_end; i++) {
        if (nodes[i].is_buffer == buffers && !nodes[i].is_repeat) {
            work_list_insert(list, i, before);
        }
    }
}

void work_list_insert_parts(struct work_list *list, int module, int before, bool with_buffers)
{
    const struct tree_node *nodes = list->tree->nodes;
    tensors_insert(list, module, before, false);
    for (int i = nodes[module].first_child; i >= 0; i = nodes[i].next_child) {
        work_list_insert(list, i, before);
    }
    if (with_buffers) {
        tensors_insert(list, module, before, true);
    }
}

int work_list_around(const struct work_list *list, int node)
{
    int around = list->tree->nodes[node].parent;
    while (around >= 0 && !list->holds[around]) {
        around = list->tree->nodes[around].parent;
    }
    return around;
}

static void largest_layer_meet(const struct tree_node *nodes, int node, struct largest_layer *largest)
{
    if (nodes[node].bits > largest->bits) {
        largest->bits = nodes[node].bits;
        largest->is_float = nodes[node].is_float;
        largest->count = 0;
    }
    if (nodes[node].bits == largest->bits) {
        largest->names[largest->count++] = node;
    }
}

void largest_layer_find(const struct work_list *list, bool modules_only, struct largest_layer *largest)
{
    const struct tree_node *nodes = list->tree->nodes;
    *largest = (struct largest_layer){.names = largest->names};
    for (int item = work_list_first(list); item >= 0; item = work_list_next(list, item)) {
        if (!nodes[item].is_module) {
            if (!modules_only) {
                largest_layer_meet(nodes, item, largest);
            }
            continue;
        }
        for (int i = item; i < nodes[item].end;) {
            bool is_layer = node_is_leaf(&nodes[i]) || nodes[i].is_whole;
            if (is_layer) {
                largest_layer_meet(nodes, i, largest);
            }
            i = is_layer ? nodes[i].end : i + 1;
        }
    }
}

void largest_layer_drop(const struct module_tree *tree, int node, struct largest_layer *largest)
{
    int kept = 0;
    for (int i = 0; i < largest->count; i++) {
        if (!tree_is_within(tree, largest->names[i], node)) {
            largest->names[kept++] = largest->names[i];
        }
    }
    largest->count = kept;
}

enum status_code tied_cost_make(const struct module_tree *tree, struct arena *arena, struct tied_cost *cost,
                                struct status *error)
{
    size_t count = (size_t)tree->tied_count;
    *cost = (struct tied_cost){.parameters = arena_alloc(arena, count * sizeof *cost->parameters),
                               .owners = arena_alloc(arena, count * sizeof *cost->owners),
                               .dotted = arena_alloc(arena, tree->path_length_maximum + 2)};
    return cost->parameters != NULL && cost->owners != NULL && cost->dotted != NULL ? STATUS_OK : memory_refuse(error);
}

/* Whether accelerate takes a parameter for one inside the node: `name + "." in parameter + "."`, anywhere in it, so
 * that "1." is in "11.weight." too. */
static bool seems_inside(const struct module_tree *tree, const char *dotted, int parameter)
{
    return strstr(tree->dotted[parameter - tree->module_count], dotted) != NULL;
}

static void outside_append(const struct module_tree *tree, const struct tie_group *group, struct tied_cost *cost)
{
    int before = cost->count;
    for (int i = 0; i < group->count; i++) {
        if (!seems_inside(tree, cost->dotted, group->members[i])) {
            cost->parameters[cost->count++] = group->members[i];
        }
    }
    if (cost->count - before == group->count) { /* none inside */
        cost->count = before;
    }
}

static enum status_code owners_find(const struct work_list *list, int node, struct tied_cost *cost,
                                    struct status *error)
{
    const struct tree_node *nodes = list->tree->nodes;
    for (int i = 0; i < cost->count; i++) {
        const struct tree_node *parameter = &nodes[cost->parameters[i]];
        int owner = work_list_around(list, cost->parameters[i]);
        if (owner < 0) {
            return status_set(error, STATUS_INVALID,
                              "%s: %s is tied to %s, which is in no module that is still to be placed: accelerate 1.15 "
                              "raises IndexError: list index out of range here; other budgets "
                              "may avoid it",
                              list->tree->skeleton->config->name, nodes[node].path, parameter->path);
        }
        cost->owners[i] = owner;
        cost->is_float = cost->is_float || nodes[owner].is_float || parameter->is_float;
        if (!size_add(cost->bits, nodes[owner].bits - parameter->bits, &cost->bits)) {
            return status_set(error, STATUS_OVERFLOW, "%s: what is tied to %s does not fit 63 bits",
                              list->tree->skeleton->config->name, nodes[node].path);
        }
    }
    return STATUS_OK;
}

enum status_code tied_cost_find(const struct work_list *list, int node, struct tied_cost *cost, struct status *error)
{
    const struct module_tree *tree = list->tree;
    cost->count = 0;
    cost->bits = tree->nodes[node].bits;
    cost->is_float = tree->nodes[node].is_float;
    if (tree->tie_count > 0) {
        snprintf(cost->dotted, tree->path_length_maximum + 2, "%s.", tree->nodes[node].path);
        for (int i = 0; i < tree->tie_count; i++) {
            outside_append(tree, &tree->ties[i], cost);
        }
    }
    return owners_find(list, node, cost, error);
}

/* The modules around a node that stand in the list are replaced by their parts, outermost first. */
static void parents_open(struct work_list *list, int node)
{
    for (int around = work_list_around(list, node); around >= 0; around = work_list_around(list, node)) {
        int after = work_list_next(list, around);
        work_list_remove(list, around);
        work_list_insert_parts(list, around, after, false);
    }
}

enum status_code fallback_find(const struct fallback_search *fallback, struct work_list *list, int *found,
                               struct status *error)
{
    const struct tree_node *nodes = list->tree->nodes;
    struct work_list *search = fallback->search;
    work_list_copy(search, list);
    *found = -1;
    for (int node = work_list_first(search); node >= 0 && *found < 0; node = work_list_first(search)) {
        work_list_remove(search, node);
        enum status_code code = tied_cost_find(search, node, fallback->cost, error);
        if (code != STATUS_OK) {
            return code;
        }
        if (fallback->cost->bits <= fallback->limit_bits) {
            *found = node;
        } else if (!node_is_leaf(&nodes[node]) && !nodes[node].is_whole) {
            work_list_insert_parts(search, node, work_list_first(search), false);
        }
    }
    if (*found >= 0) {
        parents_open(list, *found);
        work_list_remove(list, *found);
    }
    return STATUS_OK;
}
