/* Exact units: cutting and joining. */
#include "harness/question/exact_units.h"

#include "harness/placement/module_tree.h"

struct cutting {
    const struct module_tree *tree;
    struct exact_units *units;
    int *piece_of_tensor; /* by tensor of the skeleton: index of the path that covers it */
};

static void path_add(const struct cutting *cutting, const char *path)
{
    cutting->units->paths[cutting->units->path_count++] = path;
}

/* Everything below the module is covered by the last path. */
static void tensors_cover(const struct cutting *cutting, int module)
{
    const struct module_tree *tree = cutting->tree;
    for (int node = module; node < tree->nodes[module].end; node++) {
        for (int i = tree->nodes[node].first_tensor; i < tree->nodes[node].tensor_end; i++) {
            cutting->piece_of_tensor[i - tree->module_count] = cutting->units->path_count - 1;
        }
    }
}

/* A module between: its tensors are pieces, and its children follow in the list of modules. */
static void own_tensors_add(const struct cutting *cutting, int module)
{
    const struct tree_node *node = &cutting->tree->nodes[module];
    for (int i = node->first_tensor; i < node->tensor_end; i++) {
        path_add(cutting, cutting->tree->nodes[i].path);
        cutting->piece_of_tensor[i - cutting->tree->module_count] = cutting->units->path_count - 1;
    }
}

static void modules_cut(const struct cutting *cutting)
{
    const struct module_tree *tree = cutting->tree;
    for (int module = 0; module < tree->module_count;) {
        const struct tree_node *node = &tree->nodes[module];
        if (node_is_leaf(node) || node->is_whole) {
            path_add(cutting, node->path);
            tensors_cover(cutting, module);
            module = node->end;
        } else {
            own_tensors_add(cutting, module);
            module++; /* parents come before their children */
        }
    }
}

static int root_of(const int *joined, int piece)
{
    while (joined[piece] != piece) {
        piece = joined[piece];
    }
    return piece;
}

/* Of two pieces that share a tensor the later one joins the earlier. */
static void ties_join(const struct cutting *cutting, int *joined)
{
    const struct skeleton *skeleton = cutting->tree->skeleton;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        if (skeleton->tensors[i].tied_to >= 0) {
            int a = root_of(joined, cutting->piece_of_tensor[i]);
            int b = root_of(joined, cutting->piece_of_tensor[skeleton->tensors[i].tied_to]);
            joined[a > b ? a : b] = a > b ? b : a;
        }
    }
}

static void units_number(struct exact_units *units, const int *joined)
{
    for (int i = 0; i < units->path_count; i++) {
        int root = root_of(joined, i);
        units->unit_of[i] = root == i ? units->unit_count++ : units->unit_of[root]; /* a root comes first */
    }
}

enum status_code exact_units_make(const struct skeleton *skeleton, const struct placement_request *request,
                                  struct arena *arena, struct exact_units *units, struct status *error)
{
    struct module_tree tree;
    enum status_code code = module_tree_build(skeleton, request, arena, &tree, error);
    if (code != STATUS_OK) {
        return code;
    }
    size_t count = (size_t)tree.node_count + 1;
    *units = (struct exact_units){.paths = arena_alloc(arena, count * sizeof *units->paths),
                                  .unit_of = arena_alloc(arena, count * sizeof(int))};
    struct cutting cutting = {&tree, units, arena_alloc(arena, count * sizeof(int))};
    int *joined = arena_alloc(arena, count * sizeof(int));
    if (units->paths == NULL || units->unit_of == NULL || cutting.piece_of_tensor == NULL || joined == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a plan");
    }
    modules_cut(&cutting);
    for (int i = 0; i < units->path_count; i++) {
        joined[i] = i;
    }
    ties_join(&cutting, joined);
    units_number(units, joined);
    return STATUS_OK;
}
