/* Module tree: a skeleton as the planner walks it: modules and tensors as nodes, with accelerate's sizes
 * (compute_module_sizes) and ties (find_tied_parameters). Nodes 0 to module_count - 1 are the skeleton's modules, those
 * after them its tensors. */
#ifndef ASSAY_PLACEMENT_MODULE_TREE_H
#define ASSAY_PLACEMENT_MODULE_TREE_H

#include "harness/placement/device_plan.h"

struct tree_node {
    const char *path;
    int parent;      /* -1: the root */
    int first_child; /* a module; -1: it has none */
    int next_child;  /* of the same parent; -1: the last */
    int end;         /* of a module: modules from its own index to before this one are it and those below */
    int first_tensor, tensor_end; /* of a module: nodes of its own tensors */
    bool is_module, is_buffer;
    bool is_whole;        /* its class is never split */
    bool is_repeat;       /* a tensor whose storage has an earlier name in the same module: not listed again */
    bool is_sized;        /* module_sizes has a key for it */
    bool has_parameter;   /* module_sizes has that key because of a parameter: it comes before those of buffers */
    bool is_float;        /* its size is a float in Python */
    int64_t bits;         /* 0 for the second name of a tied tensor, and for a module without tensors */
    int64_t storage_bits; /* of a tensor: the same, not 0 for a second name */
    int64_t buffer_bits;  /* of a module: of the buffers below, as compute_module_total_buffer_size counts */
};

/* Parameters with one storage: member nodes sorted by path. */
struct tie_group {
    const int *members;
    int count;
};

struct module_tree {
    const struct skeleton *skeleton;
    struct tree_node *nodes;
    int module_count, node_count;
    const int *storage;        /* by tensor: the first tensor with that storage */
    const char **dotted;       /* by tensor: path and ".", for members of ties; else NULL */
    struct tie_group *ties;    /* by the first of their names, in registration order */
    int tie_count, tied_count; /* groups; members of all of them */
    size_t path_length_maximum;
};

/* Memory is the arena's; the tree borrows from skeleton. */
enum status_code module_tree_build(const struct skeleton *skeleton, const struct placement_request *request,
                                   struct arena *arena, struct module_tree *tree, struct status *error);

/* Whether node is ancestor or lies below it. */
bool tree_is_within(const struct module_tree *tree, int node, int ancestor);

static inline bool node_is_leaf(const struct tree_node *node)
{
    return !node->is_module || node->first_child < 0;
}

#endif
