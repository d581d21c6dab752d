/* Module tree: the nodes, their sizes and their ties. Not the plan: nothing here knows a device. */
#include "harness/placement/module_tree.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"

static enum status_code memory_refuse(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the modules of a model");
}

/* dtype_byte_size of what a tensor is before it is cast. */
static int own_width(enum dtype dtype)
{
    return dtype == DTYPE_BOOL ? 1 : dtype_bytes(dtype) * BITS_PER_BYTE;
}

static bool is_cast(enum dtype dtype)
{
    return dtype_is_floating(dtype) || dtype == DTYPE_FLOAT8_E4M3FN;
}

/* The width that compute_module_sizes gives a tensor whose path it sees as `path`. */
static int width_of(const struct skeleton_tensor *tensor, const char *path, const struct placement_request *request)
{
    for (int i = 0; i < request->special_count; i++) {
        if (strcmp(request->specials[i].path, path) == 0) {
            return request->specials[i].width->bits;
        }
    }
    int own = own_width(tensor->dtype);
    return request->width != NULL && is_cast(tensor->dtype) && request->width->bits < own ? request->width->bits : own;
}

static bool class_is_whole(const struct module_info *module, const struct placement_request *request)
{
    if (request->no_split == NULL) {
        return module->no_split;
    }
    for (int i = 0; i < request->no_split_count; i++) {
        if (strcmp(request->no_split[i], module->class_name) == 0) {
            return true;
        }
    }
    return false;
}

static enum status_code modules_list(struct module_tree *tree, const struct placement_request *request,
                                     struct status *error)
{
    struct tree_node *nodes = tree->nodes;
    for (int i = 0; i < tree->module_count; i++) {
        const struct module_info *module = &tree->skeleton->modules[i];
        nodes[i] = (struct tree_node){.path = module->path,
                                      .parent = module->parent,
                                      .first_child = -1,
                                      .next_child = -1,
                                      .end = i + 1,
                                      .is_module = true,
                                      .is_whole = class_is_whole(module, request)};
        /* Depth first: the parent is the module before this one, or around it. */
        int around = i - 1;
        while (around >= 0 && around != module->parent) {
            around = nodes[around].parent;
        }
        if (around != module->parent || (i > 0) != (around >= 0)) {
            return status_set(error, STATUS_INTERNAL, "%s: module %s is not listed behind its parent",
                              tree->skeleton->config->name, module->path);
        }
    }
    for (int i = tree->module_count - 1; i > 0; i--) {
        struct tree_node *parent = &nodes[nodes[i].parent];
        nodes[i].next_child = parent->first_child;
        parent->first_child = i;
        parent->end = nodes[i].end > parent->end ? nodes[i].end : parent->end;
    }
    return STATUS_OK;
}

/* Whether the module has a tensor of this storage and kind before this one. */
static bool is_repeat(const struct module_tree *tree, int tensor)
{
    const struct skeleton_tensor *tensors = tree->skeleton->tensors;
    for (int i = tensor - 1; i >= 0 && tensors[i].module == tensors[tensor].module; i--) {
        if (tree->storage[i] == tree->storage[tensor] && tensors[i].is_buffer == tensors[tensor].is_buffer) {
            return true;
        }
    }
    return false;
}

static bool sizes_add(struct module_tree *tree, int node)
{
    const struct tree_node *tensor = &tree->nodes[node];
    for (int i = tensor->parent; i >= 0; i = tree->nodes[i].parent) {
        struct tree_node *module = &tree->nodes[i];
        module->is_sized = true;
        module->has_parameter = module->has_parameter || !tensor->is_buffer;
        module->is_float = module->is_float || tensor->is_float;
        if (!size_add(module->bits, tensor->bits, &module->bits)) {
            return false;
        }
    }
    return true;
}

static enum status_code tensors_list(struct module_tree *tree, const struct placement_request *request,
                                     struct status *error)
{
    const struct skeleton *skeleton = tree->skeleton;
    for (int t = 0; t < skeleton->tensor_count; t++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[t];
        const struct skeleton_tensor *first = &skeleton->tensors[tree->storage[t]];
        struct tree_node *node = &tree->nodes[tree->module_count + t], *module = &tree->nodes[tensor->module];
        int width = width_of(first, first->path, request);
        *node = (struct tree_node){.path = tensor->path,
                                   .parent = tensor->module,
                                   .first_child = -1,
                                   .is_buffer = tensor->is_buffer,
                                   .is_repeat = is_repeat(tree, t),
                                   .is_sized = tree->storage[t] == t};
        module->first_tensor = module->tensor_end > 0 ? module->first_tensor : tree->module_count + t;
        module->tensor_end = tree->module_count + t + 1;
        bool fits = size_multiply(first->element_count, width, &node->storage_bits);
        if (fits && node->is_sized) {
            node->bits = node->storage_bits;
            node->is_float = width % BITS_PER_BYTE != 0;
            fits = sizes_add(tree, tree->module_count + t);
        }
        if (!fits) {
            return status_set(error, STATUS_OVERFLOW, "%s: %s: its size in bits does not fit 63 bits",
                              skeleton->config->name, tensor->path);
        }
    }
    return STATUS_OK;
}

/* Whether a module has the storage of a buffer under an earlier name. */
static bool is_below_already(const struct module_tree *tree, int module, int tensor)
{
    for (int i = tree->storage[tensor]; i < tensor; i++) {
        if (tree->storage[i] == tree->storage[tensor] && tree->skeleton->tensors[i].is_buffer &&
            tree_is_within(tree, tree->module_count + i, module)) {
            return true;
        }
    }
    return false;
}

/* compute_module_total_buffer_size: special types are looked for by the path below the module, and a buffer that two
 * modules share counts in each. */
static bool buffers_count(struct module_tree *tree, const struct placement_request *request)
{
    const struct skeleton *skeleton = tree->skeleton;
    for (int t = 0; t < skeleton->tensor_count; t++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[t];
        for (int i = tensor->is_buffer ? tensor->module : -1; i >= 0; i = tree->nodes[i].parent) {
            size_t above = strlen(tree->nodes[i].path);
            int64_t bits = 0;
            if (tree->storage[t] != t && is_below_already(tree, i, t)) {
                continue;
            }
            int width = width_of(tensor, tensor->path + above + (above > 0 ? 1 : 0), request);
            if (!size_multiply(tensor->element_count, width, &bits) ||
                !size_add(tree->nodes[i].buffer_bits, bits, &tree->nodes[i].buffer_bits)) {
                return false;
            }
        }
    }
    return true;
}

struct tied_member {
    const char *path;
    int storage, node;
};

static int member_compare(const void *a, const void *b)
{
    const struct tied_member *x = a, *y = b;
    return x->storage != y->storage ? (x->storage > y->storage) - (x->storage < y->storage) : strcmp(x->path, y->path);
}

/* Every parameter whose storage has two names or more, by storage and then by path. */
static int members_list(const struct module_tree *tree, struct tied_member *members, bool *is_tied)
{
    const struct skeleton *skeleton = tree->skeleton;
    int count = 0;
    for (int t = 0; t < skeleton->tensor_count; t++) {
        if (tree->storage[t] != t && !skeleton->tensors[t].is_buffer) {
            is_tied[t] = is_tied[tree->storage[t]] = true;
        }
    }
    for (int t = 0; t < skeleton->tensor_count; t++) {
        if (is_tied[t]) {
            members[count++] =
                (struct tied_member){skeleton->tensors[t].path, tree->storage[t], tree->module_count + t};
        }
    }
    qsort(members, (size_t)count, sizeof *members, member_compare);
    return count;
}

static bool groups_make(const struct tied_member *members, int count, struct arena *arena, struct module_tree *tree)
{
    int *nodes = arena_alloc(arena, (size_t)count * sizeof *nodes);
    tree->ties = arena_alloc(arena, (size_t)count * sizeof *tree->ties);
    bool made = nodes != NULL && tree->ties != NULL;
    for (int i = 0; i < count && made; i++) {
        nodes[i] = members[i].node;
        if (i == 0 || members[i].storage != members[i - 1].storage) {
            tree->ties[tree->tie_count++] = (struct tie_group){.members = &nodes[i]};
        }
        tree->ties[tree->tie_count - 1].count++;
        const char **dotted = &tree->dotted[members[i].node - tree->module_count];
        *dotted = arena_format(arena, "%s.", members[i].path);
        made = *dotted != NULL;
    }
    tree->tied_count = count;
    return made;
}

static enum status_code ties_list(struct arena *arena, struct module_tree *tree, struct status *error)
{
    size_t count = (size_t)tree->skeleton->tensor_count;
    struct tied_member *members = calloc(count + 1, sizeof *members);
    bool *is_tied = calloc(count + 1, sizeof *is_tied);
    bool made =
        members != NULL && is_tied != NULL && groups_make(members, members_list(tree, members, is_tied), arena, tree);
    free(members);
    free(is_tied);
    return made ? STATUS_OK : memory_refuse(error);
}

bool tree_is_within(const struct module_tree *tree, int node, int ancestor)
{
    if (ancestor >= tree->module_count) {
        return node == ancestor;
    }
    int module = node < tree->module_count ? node : tree->nodes[node].parent;
    return module >= ancestor && module < tree->nodes[ancestor].end;
}

static bool arrays_make(struct arena *arena, struct module_tree *tree)
{
    const struct skeleton *skeleton = tree->skeleton;
    size_t tensor_count = (size_t)skeleton->tensor_count;
    int *storage = arena_alloc(arena, tensor_count * sizeof *storage);
    tree->nodes = arena_alloc(arena, (size_t)tree->node_count * sizeof *tree->nodes);
    tree->dotted = arena_alloc(arena, tensor_count * sizeof *tree->dotted);
    tree->storage = storage;
    if (storage == NULL || tree->nodes == NULL || tree->dotted == NULL) {
        return false;
    }
    for (int t = 0; t < skeleton->tensor_count; t++) {
        int owner = skeleton->tensors[t].tied_to;
        storage[t] = owner >= 0 ? storage[owner] : t;
        size_t length = strlen(skeleton->tensors[t].path);
        tree->path_length_maximum = length > tree->path_length_maximum ? length : tree->path_length_maximum;
    }
    for (int i = 0; i < skeleton->module_count; i++) {
        size_t length = strlen(skeleton->modules[i].path);
        tree->path_length_maximum = length > tree->path_length_maximum ? length : tree->path_length_maximum;
    }
    return true;
}

enum status_code module_tree_build(const struct skeleton *skeleton, const struct placement_request *request,
                                   struct arena *arena, struct module_tree *tree, struct status *error)
{
    struct module_tree result = {.skeleton = skeleton,
                                 .module_count = skeleton->module_count,
                                 .node_count = skeleton->module_count + skeleton->tensor_count};
    enum status_code code = arrays_make(arena, &result) ? STATUS_OK : memory_refuse(error);
    if (code == STATUS_OK) {
        code = modules_list(&result, request, error);
    }
    if (code == STATUS_OK) {
        code = tensors_list(&result, request, error);
    }
    if (code == STATUS_OK && !buffers_count(&result, request)) {
        code = status_set(error, STATUS_OVERFLOW, "%s: its buffers do not fit 63 bits", skeleton->config->name);
    }
    if (code == STATUS_OK) {
        code = ties_list(arena, &result, error);
    }
    if (code == STATUS_OK) {
        *tree = result;
    }
    return code;
}
